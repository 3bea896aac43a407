package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/printable"
)

// best searches for continuations and prints the best count of them.
func (w *writer) best(
	ctx context.Context, g *generate.Generator, prompt []int32, count int, b generate.BeamSearch, s generate.Sampling,
) error {
	start := time.Now()
	list, err := g.Beams(ctx, prompt, b, s)
	if err != nil {
		return err
	}
	tokens := 0
	for i, beam := range list[:min(count, len(list))] {
		tokens += len(beam.IDs)
		text := w.textOf(prompt, beam.IDs)
		if !w.json {
			to := w.stdout
			if !terminal(to) {
				to = asIs(to)
			}
			if _, err := io.WriteString(to, text+"\n"); err != nil {
				return err
			}
			continue
		}
		c := continuation{Index: i, Tokens: beam.IDs, Reason: beam.Reason.String(), LogProb: &beam.LogProb}
		if w.text != nil {
			c.Text = &text
		}
		if err := json.NewEncoder(&printable.Writer{W: w.stdout, JSON: true}).Encode(c); err != nil {
			return err
		}
	}
	for i, beam := range list[:min(count, len(list))] {
		printable.Fprintf(w.stderr, "continuation %d: log probability %.4g, ended by %v\n", i, beam.LogProb, beam.Reason)
	}
	printable.Fprintf(w.stderr, "searched: %s\n", speed(tokens, time.Since(start)))
	return nil
}

// textOf returns the text of tokens after a prompt; without a tokenizer their numbers.
func (w *writer) textOf(prompt, ids []int32) string {
	if w.text == nil {
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")
	}
	before, all := w.text.Decode(prompt), w.text.Decode(append(prompt[:len(prompt):len(prompt)], ids...))
	same := 0
	for same < min(len(before), len(all)) && before[same] == all[same] {
		same++
	}
	for same < len(all) && same > 0 && !utf8.RuneStart(all[same]) {
		same--
	}
	return all[same:]
}

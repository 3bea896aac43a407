package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/generate"
)

// ggufModel measures the prompt and the tokens of a GGUF model beside llama.cpp's on the same device:
// with rows of float32, and with rows that may be rounded, as llama.cpp's are.
func (b *bench) ggufModel() (rows []row, err error) {
	prompt, tokens, rounds := 512, 256, 5
	if b.quick {
		prompt, tokens, rounds = 32, 8, 2
	}
	for _, a := range []nacre.Accuracy{nacre.AccuracyModel, nacre.AccuracyFast} {
		best, err := b.bestRates(a, prompt, tokens, rounds)
		if err != nil {
			return rows, err
		}
		name := filepath.Base(b.gguf)
		if a == nacre.AccuracyFast {
			name += ", --accuracy fast"
		}
		rows = append(rows, row{what: fmt.Sprintf("prompt of %d tokens, %s", prompt, name), rate: best[0], unit: "1/s"},
			row{what: "tokens, " + name, rate: best[1], unit: "1/s"})
	}
	if b.llama == "" {
		return rows, nil
	}
	peer, err := b.llamaRates(prompt, tokens, rounds)
	if err != nil {
		return rows, fmt.Errorf("llama.cpp: %w", err)
	}
	for i := range rows {
		rows[i].ceiling, rows[i].of, rows[i].goal = peer[i%len(peer)], "llama.cpp", 1
	}
	return rows, nil
}

// bestRates returns the best rates of some rounds. The model has computed the same before each, so that
// clocks are up.
func (b *bench) bestRates(a nacre.Accuracy, prompt, tokens, rounds int) (best [2]float64, err error) {
	ctx := context.Background()
	d, err := generate.Open(ctx, b.gguf, generate.OpenOptions{Session: nacre.Options{Device: b.device, Accuracy: a}})
	if err != nil {
		return best, err
	}
	defer d.Close()
	if err := d.Warm(ctx, prompt, generate.Sampling{MaxTokens: tokens + 1}); err != nil {
		return best, err
	}
	for range rounds {
		if err := b.device.Warm(b.warm); err != nil {
			return best, err
		}
		rates, err := ratesOf(ctx, d, prompt, tokens)
		if err != nil {
			return best, err
		}
		best[0], best[1] = max(best[0], rates[0]), max(best[1], rates[1])
	}
	return best, nil
}

// ratesOf returns the tokens a second of a prompt and of the tokens after its first.
func ratesOf(ctx context.Context, d *generate.Decoder, prompt, tokens int) (rates [2]float64, err error) {
	begin := time.Now()
	q, err := d.Start(ctx, side.Ascending(prompt), generate.Sampling{MaxTokens: tokens + 1})
	if err != nil {
		return rates, err
	}
	defer q.Close()
	rates[0] = float64(prompt) / time.Since(begin).Seconds()
	begin = time.Now()
	for i := range tokens + 1 {
		if i == 1 {
			begin = time.Now()
		}
		if _, ok, err := q.Next(ctx); err != nil || !ok {
			return rates, errors.Join(fmt.Errorf("token %d is missing: %v", i, q.Reason()), err)
		}
	}
	rates[1] = float64(tokens) / time.Since(begin).Seconds()
	return rates, nil
}

// llamaRates returns the same rates of llama.cpp.
func (b *bench) llamaRates(prompt, tokens, rounds int) (rates [2]float64, err error) {
	cmd := exec.Command("python3", "bench/peers/llama.py", "--libs", b.llama,
		"--device", strconv.Itoa(b.device.Info().Index), "--prompt", strconv.Itoa(prompt),
		"--generate", strconv.Itoa(tokens), "--rounds", strconv.Itoa(rounds), b.gguf)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return rates, err
	}
	return rates, json.Unmarshal(text, &rates)
}

package gptrs_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/internal/converted"
)

// TestConverted converts every network to ONNX. Decoders run on tokens without a past, and then
// with the past of that run.
func TestConverted(t *testing.T) {
	dir, g := readGolden(t)
	for _, want := range g.Forward {
		t.Run(want.Model, func(t *testing.T) {
			path := filepath.Join(dir, want.Model)
			if want.Input != "" {
				name, key, _ := strings.Cut(want.Input, ":")
				converted.Check(t, "gptrs/"+want.Model, path, converted.Inputs{"image": stored(t, filepath.Join(dir, name), key)})
				return
			}
			s := session(t, open(t, path), nacre.Options{})
			first := whole(t, s, want.Tokens[:len(want.Tokens)-2])
			out, err := s.Run(t.Context(), first)
			if err != nil {
				t.Fatal(err)
			}
			next := converted.Inputs{"input_ids": ids(t, want.Tokens[len(want.Tokens)-2:]...)}
			for name := range first {
				if rest, ok := strings.CutPrefix(name, "past_key_values."); ok {
					next[name] = out["present."+rest]
				}
			}
			converted.Check(t, "gptrs/"+want.Model, path, first, next)
		})
	}
}

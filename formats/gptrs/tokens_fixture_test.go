package gptrs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/generate/tokenizer"
)

// TestTokenizerFiles reads the tokenizers of both schemas and compares ids and texts.
func TestTokenizerFiles(t *testing.T) {
	dir := fixtures.Dir(t, "gptrs")
	data, err := os.ReadFile(filepath.Join(dir, "tokenizer_golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			Text, Decoded string
			IDs           []int32
		}
	}
	if err := json.Unmarshal(data, &golden); err != nil || len(golden.Cases) == 0 {
		t.Fatalf("%d cases: %v", len(golden.Cases), err)
	}
	for _, name := range []string{"tokenizer_flat.json", "tokenizer_hf.json"} {
		for _, load := range []func(string) (*tokenizer.Tokenizer, error){tokenizer.Load, tokenizer.LoadGPTRS} {
			tok, err := load(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range golden.Cases {
				if got := tok.Encode(c.Text, true); !slices.Equal(got, c.IDs) {
					t.Errorf("%s: the ids of %q are %d, not %d", name, c.Text, got, c.IDs)
				}
				if got := tok.Decode(c.IDs); got != c.Decoded {
					t.Errorf("%s: the text of %d is %q, not %q", name, c.IDs, got, c.Decoded)
				}
			}
		}
	}
}

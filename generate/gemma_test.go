package generate_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestGemma continues prompts with a trained decoder of 268 million packed weights. Its tokens
// equal llama.cpp's, which oracles/gguf/greedy.py stored.
func TestGemma(t *testing.T) {
	testenv.Need(t, bindings.Available())
	file := filepath.Join(testenv.Root(t), ".cache", "gguf", "gemma-3-270m-q4_k_m.gguf")
	if _, err := os.Stat(file); err != nil {
		testenv.SkipSamples(t, "no ", file, ": scripts/fetch-networks.sh gguf fetches it")
	}
	data, err := os.ReadFile(filepath.Join("testdata", "gemma3.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Prompt, Text string
		IDs, Tokens  []int32
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) < 5 {
		t.Fatalf("%d prompts, %v", len(cases), err)
	}
	m, err := nacre.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	o, sampling, err := generate.SettingsOf(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := tokenizer.FromGGUF(t.Context(), m.Source().Meta, tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Tokenizer = text
	g := generator(t, s, o)
	for _, c := range cases {
		t.Run(c.Prompt, func(t *testing.T) {
			ids, err := text.EncodeContext(t.Context(), c.Prompt, true)
			if err != nil || !slices.Equal(ids, c.IDs) {
				t.Fatalf("tokens of the prompt %v, %v, want %v", ids, err, c.IDs)
			}
			sampling.MaxTokens = len(c.Tokens)
			q, err := g.Start(t.Context(), ids, sampling)
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			var got strings.Builder
			for piece, err := range q.Text(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString(piece.Text)
			}
			if tokens := q.IDs()[len(ids):]; !slices.Equal(tokens, c.Tokens) || got.String() != c.Text {
				t.Errorf("tokens %v, %q, want %v, %q", tokens, &got, c.Tokens, c.Text)
			}
		})
	}
}

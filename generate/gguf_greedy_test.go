package generate_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestGGUFGreedy compares greedy tokens of the samples with llama.cpp's.
func TestGGUFGreedy(t *testing.T) {
	dir := testenv.Samples(t, "fixtures", "gguf")
	data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Files map[string]struct {
			Tokens, Greedy []int32
		}
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	testenv.Need(t, bindings.Available())
	n := 0
	for _, name := range slices.Sorted(maps.Keys(manifest.Files)) {
		want := manifest.Files[name]
		if len(want.Greedy) == 0 {
			continue
		}
		n++
		t.Run(name, func(t *testing.T) {
			m, err := nacre.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			s, err := m.NewSession(nacre.Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			o, sampling, err := generate.SettingsOf(m, nil)
			if err != nil {
				t.Fatal(err)
			}
			sampling.MaxTokens = len(want.Greedy)
			for _, noCache := range []bool{false, true} {
				free := generate.Options{Window: o.Window, Original: o.Original, NoCache: noCache}
				got := one(t, generator(t, s, free).Tokens(t.Context(), want.Tokens, sampling))
				if !slices.Equal(got, want.Greedy) {
					t.Errorf("NoCache %v: tokens %v, want %v", noCache, got, want.Greedy)
				}
			}
			text, err := tokenizer.FromGGUF(t.Context(), m.Source().Meta, tokenizer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			o.Tokenizer = text
			end := slices.IndexFunc(want.Greedy, func(id int32) bool { return slices.Contains(text.EndIDs(), id) })
			if end < 0 {
				end = len(want.Greedy)
			}
			if got := one(t, generator(t, s, o).Tokens(t.Context(), want.Tokens, sampling)); !slices.Equal(got, want.Greedy[:end]) {
				t.Errorf("with settings: tokens %v, want %v", got, want.Greedy[:end])
			}
		})
	}
	if n == 0 {
		t.Error("no samples of decoders")
	}
}

package generate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// samples returns the folder of samples of a format, as formats/internal/fixtures does.
func samples(t *testing.T, format string) string {
	t.Helper()
	root := os.Getenv("NACRE_FIXTURES")
	if root == "" {
		root = testenv.Beside(t, "fixtures")
	}
	dir := filepath.Join(root, format)
	if _, err := os.Stat(dir); err != nil {
		testenv.SkipSamples(t, "no samples of ", format)
	}
	return dir
}

// TestGPTRS compares greedy tokens of checkpoints of gpt.rs with gpt.rs's own, across the window,
// with a cache and without.
func TestGPTRS(t *testing.T) {
	testenv.Need(t, bindings.Available())
	dir := samples(t, "gptrs")
	data, err := os.ReadFile(filepath.Join(dir, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Greedy []struct {
			Model  string  `json:"model"`
			Prompt []int32 `json:"prompt"`
			Tokens int     `json:"max_new_tokens"`
			Whole  string  `json:"tokens_no_cache"`
			Cached string  `json:"tokens_kv_cache"`
		} `json:"greedy_generation"`
	}
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Greedy) == 0 {
		t.Fatal("no generations")
	}
	for _, want := range golden.Greedy {
		m, err := nacre.Open(filepath.Join(dir, want.Model))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		for _, so := range []nacre.Options{{Threads: 1}, {Threads: 2}, {NoOptimize: true}} {
			s, err := m.NewSession(so)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, noCache := range []bool{false, true} {
				o, sampling, err := generate.SettingsOf(m, nil)
				if err != nil || o.Window == 0 || !o.Slide {
					t.Fatalf("%s: %+v, %v", want.Model, o, err)
				}
				o.NoCache, sampling.MaxTokens = noCache, want.Tokens
				got := append(want.Prompt[:len(want.Prompt):len(want.Prompt)], one(t, generator(t, s, o).Tokens(context.Background(), want.Prompt, sampling))...)
				expected := want.Cached
				if noCache {
					expected = want.Whole
				}
				if text := strings.ReplaceAll(strings.Trim(fmt.Sprint(got), "[]"), " ", ","); text != expected {
					t.Errorf("%s, %+v, no cache %v: %s, want %s", want.Model, so, noCache, text, expected)
				}
			}
		}
	}
}

package generate_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestDevice compares greedy tokens of a device with the CPU's.
func TestDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of runs of a device in software: not in short runs")
	}
	d, err := vulkan.Open("0", vulkan.Options{Everything: true, Validate: func(message string) { t.Error(message) }})
	testenv.Need(t, err)
	defer d.Close()
	prompt := []int32{7, 200, 31, 7, 7, 90, 255, 0, 13}
	for name, build := range map[string]func() *graph.Model{"llama": llama, "sums": sums} {
		want := one(t, generator(t, session(t, build(), nacre.Options{Threads: 1}), generate.Options{}).Tokens(context.Background(), prompt, generate.Sampling{MaxTokens: 24}))
		for _, way := range []generate.Options{{}, {Chunk: 3}, {NoCache: true}} {
			t.Run(fmt.Sprintf("%s/%+v", name, way), func(t *testing.T) {
				s := session(t, build(), nacre.Options{Device: d})
				got := one(t, generator(t, s, way).Tokens(context.Background(), prompt, generate.Sampling{MaxTokens: 24}))
				if !slices.Equal(got, want) {
					t.Errorf("tokens %v, want %v", got, want)
				}
			})
		}
	}
	for _, file := range []string{"gpt_a.chk", "ministral_a.chk"} {
		t.Run(file, func(t *testing.T) {
			m, err := nacre.Open(filepath.Join(samples(t, "gptrs"), file))
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			var lists [2][]int32
			for i, o := range []nacre.Options{{}, {Device: d}} {
				s, err := m.NewSession(o)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				settings, sampling, err := generate.SettingsOf(m, nil)
				if err != nil {
					t.Fatal(err)
				}
				sampling.MaxTokens = 20
				lists[i] = one(t, generator(t, s, settings).Tokens(context.Background(), []int32{1, 5, 2}, sampling))
			}
			if !slices.Equal(lists[0], lists[1]) {
				t.Errorf("tokens %v, want %v", lists[1], lists[0])
			}
		})
	}
}

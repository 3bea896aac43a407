package generate_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
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
	t.Run("int8 caches", func(t *testing.T) { checkCodesOnDevice(t, d, prompt) })
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

// checkCodesOnDevice compares greedy tokens of a device with the CPU's, with caches of int8 that
// attention extends, and that a Concat does. The device computes all nodes that have them.
func checkCodesOnDevice(t *testing.T, d *vulkan.Device, prompt []int32) {
	for name, build := range map[string]func() *graph.Model{
		"GroupQueryAttention": llama,
		"products":            joinedDecoder{axis: 2, shared: true}.model,
		"Attention":           joinedDecoder{attention: "Attention", axis: 2}.model,
		"MultiHeadAttention":  joinedDecoder{attention: "MultiHeadAttention", axis: 2}.model,
		"rows before heads":   joinedDecoder{axis: 1}.model,
	} {
		t.Run(name, func(t *testing.T) {
			list := slices.Clone(prompt)
			for i := range list {
				list[i] %= 100
			}
			sampling := generate.Sampling{MaxTokens: 24}
			var tokens [2][]int32
			for i, o := range []nacre.Options{{Threads: 1}, {Device: d}} {
				o.CacheType = nacre.Int8
				s := session(t, build(), o)
				tokens[i] = one(t, generator(t, s, generate.Options{Chunk: 5 * i}).Tokens(t.Context(), list, sampling))
				if o.Device != nil {
					checkCodesPlaced(t, s)
				}
			}
			if !slices.Equal(tokens[1], tokens[0]) {
				t.Errorf("tokens %v, want %v", tokens[1], tokens[0])
			}
		})
	}
}

// stepPlan returns the plan of a step of one token.
func stepPlan(t *testing.T, s *nacre.Session) *nacre.Plan {
	t.Helper()
	st, err := s.NewStream(t.Context(), nacre.StreamOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ids, err := nacre.NewTensor([]int64{1}, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := st.Plan(t.Context(), map[string]*nacre.Tensor{"input_ids": ids})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// checkCodesPlaced checks that the device computes all nodes with caches of int8.
func checkCodesPlaced(t *testing.T, s *nacre.Session) {
	t.Helper()
	plan := stepPlan(t, s)
	found := false
	for line := range strings.Lines(plan.String()) {
		for _, op := range []string{"nacre.AppendCodes", "nacre.WidenCodes", "nacre.ComposedAttention", "nacre.Narrow"} {
			if strings.Contains(line, op) {
				found = true
				if !strings.Contains(line, "vulkan") {
					t.Errorf("the device does not compute %s of\n%v", line, plan)
				}
			}
		}
	}
	if !found {
		t.Errorf("no node has a cache of int8:\n%v", plan)
	}
}

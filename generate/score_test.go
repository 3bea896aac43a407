package generate_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// TestLogProbsOfContinuation compares the log probabilities of a continuation with the logits of runs on all tokens
// before each of its tokens.
func TestLogProbsOfContinuation(t *testing.T) {
	prompt, continuation := []int32{7, 200, 31, 7, 90}, []int32{255, 0, 13, 7, 7, 101, 4}
	for name, build := range map[string]func() *graph.Model{"llama": llama, "sums": sums} {
		s := session(t, build(), nacre.Options{Threads: 1})
		var want []float64
		all := append(append([]int32{}, prompt...), continuation...)
		for i := len(prompt); i < len(all); i++ {
			logits, sum := logitsAfter(t, s, all[:i]), 0.0
			for _, x := range logits {
				sum += math.Exp(float64(x - logits[all[i]]))
			}
			want = append(want, -math.Log(sum))
		}
		for _, o := range []generate.Options{{}, {Chunk: 3}, {Chunk: 1}, {NoCache: true}, {Window: len(all) - 1}, {Original: 3}, {Original: 8}} {
			t.Run(fmt.Sprintf("%s/%+v", name, o), func(t *testing.T) {
				for _, n := range []int{1, 4, len(prompt)} {
					tail := append(append([]int32{}, prompt[n:]...), continuation...)
					got, err := generator(t, s, o).LogProbs(t.Context(), prompt[:n], tail)
					if err != nil {
						t.Fatal(err)
					}
					if len(got) != len(tail) {
						t.Fatalf("%d numbers for %d tokens", len(got), len(tail))
					}
					for i, p := range got[len(tail)-len(want):] {
						if math.Abs(p-want[i]) > 1e-4 {
							t.Errorf("token %d of the continuation: %v, want %v", i, p, want[i])
						}
					}
				}
			})
		}
	}
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{Window: 8})
	if list, err := g.LogProbs(t.Context(), prompt, nil); err != nil || len(list) != 0 {
		t.Errorf("without a continuation: %v, %v", list, err)
	}
	if list, err := g.LogProbs(t.Context(), prompt, continuation[:4]); err != nil || len(list) != 4 {
		t.Errorf("a full window: %v, %v", list, err)
	}
	for _, tt := range []struct {
		prompt, continuation []int32
		want                 error
	}{
		{nil, continuation, generate.ErrPrompt},
		{prompt, continuation[:5], generate.ErrWindow},
		{prompt, []int32{256}, generate.ErrPrompt},
		{[]int32{-1}, continuation[:1], generate.ErrPrompt},
	} {
		if _, err := g.LogProbs(t.Context(), tt.prompt, tt.continuation); !errors.Is(err, tt.want) {
			t.Errorf("%v after %v: %v, want %v", tt.continuation, tt.prompt, err, tt.want)
		}
	}
	if _, err := (*generate.Generator)(nil).LogProbs(t.Context(), prompt, continuation); !errors.Is(err, nacre.ErrClosed) {
		t.Errorf("without a generator: %v", err)
	}
}

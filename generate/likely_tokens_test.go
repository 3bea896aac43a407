package generate_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// logProbs returns the logarithms of the probabilities that logits say, in plain order.
func logProbs(logits []float32) []float64 {
	most, sum := float64(slices.Max(logits)), 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - most)
	}
	list := make([]float64, len(logits))
	for i, x := range logits {
		list[i] = float64(x) - most - math.Log(sum)
	}
	return list
}

// alike reports whether tokens are the same and their log probabilities close.
func alike(a, b []generate.Token) bool {
	return slices.EqualFunc(a, b, func(a, b generate.Token) bool {
		off := a.LogProb - b.LogProb
		return a.ID == b.ID && a.Reason == b.Reason && -1e-4 < off && off < 1e-4 &&
			len(a.Alternatives) == len(b.Alternatives)
	})
}

// TestLogProbs compares the log probabilities of generated tokens with runs on all tokens. Sampling
// does not change them, and all methods give the same ones.
func TestLogProbs(t *testing.T) {
	ctx := context.Background()
	prompt := []int32{7, 200, 31}
	for name, build := range map[string]func() *graph.Model{"llama": llama, "sums": sums} {
		s := session(t, build(), nacre.Options{Threads: 1})
		g := generator(t, s, generate.Options{Tokenizer: bytewise{}, SuppressIDs: []int32{5}})
		for _, sampling := range []generate.Sampling{
			{MaxTokens: 12, Alternatives: 3},
			{MaxTokens: 12, Alternatives: 1, Temperature: 2, TopK: 50, Seed: 3, RepetitionPenalty: 1.3, Bias: map[int32]float32{9: 2}},
		} {
			var want []generate.Token
			tokens := slices.Clone(prompt)
			for token, err := range g.Tokens(ctx, prompt, sampling) {
				testenv.Need(t, err)
				want = append(want, token)
				list := logProbs(logitsAfter(t, s, tokens))
				tokens = append(tokens, token.ID)
				if math.Abs(token.LogProb-list[token.ID]) > 1e-4 || len(token.Alternatives) != sampling.Alternatives {
					t.Errorf("%s: token %v, want a log probability of %g", name, token, list[token.ID])
				}
				slices.Sort(list)
				for i, a := range token.Alternatives {
					if math.Abs(a.LogProb-list[len(list)-1-i]) > 1e-4 {
						t.Errorf("%s: alternative %d is %v, want a log probability of %g", name, i, a, list[len(list)-1-i])
					}
				}
			}
			check := func(method string, got []generate.Token) {
				if !alike(got, want) {
					t.Errorf("%s: %s gives %v, want %v", name, method, got, want)
				}
			}
			var first []generate.Token
			for token, err := range g.Continuations(ctx, prompt, 2, sampling) {
				if testenv.Need(t, err); token.Index == 0 {
					first = append(first, token)
				}
			}
			check("Continuations", first)
			first = nil
			for token, err := range g.Batch(ctx, [][]int32{prompt, {1}}, sampling) {
				if testenv.Need(t, err); token.Index == 0 {
					first = append(first, token)
				}
			}
			check("Batch", first)
			first = nil
			for piece, err := range g.Text(ctx, string([]byte{7, 200, 31}), sampling) {
				testenv.Need(t, err)
				first = append(first, piece.Tokens...)
			}
			check("Text", first)
			q, err := g.Start(ctx, prompt, sampling)
			testenv.Need(t, err)
			first = nil
			for range want {
				_, _, err := q.Next(ctx)
				testenv.Need(t, err)
				first = append(first, q.Last())
			}
			q.Close()
			check("Next", first)
		}
	}
}

// TestReasons checks that the last token and the last piece say why a text ended, and no other.
func TestReasons(t *testing.T) {
	ctx := context.Background()
	s := session(t, llama(), nacre.Options{Threads: 1})
	prompts := []string{"a", "xyz", "Hello"}
	free := make([][]int32, len(prompts))
	for i, p := range prompts {
		free[i] = naive(t, s, []int32(p), 12, 0)
	}
	// Each stop is for one prompt: the other texts do not have it before.
	stop := []int32{free[0][4], free[1][7]}
	for _, tt := range []struct {
		name    string
		options generate.Options
		s       generate.Sampling
		reason  generate.Reason
	}{
		{"tokens", generate.Options{}, generate.Sampling{MaxTokens: 5}, generate.MaxTokens},
		{"one token", generate.Options{}, generate.Sampling{MaxTokens: 1}, generate.MaxTokens},
		{"window", generate.Options{Window: 9}, generate.Sampling{}, generate.Window},
		{"stop token", generate.Options{StopIDs: stop[:1]}, generate.Sampling{StopIDs: stop[1:], MaxTokens: 200}, generate.StopID},
		{"stop text", generate.Options{}, generate.Sampling{MaxTokens: 400, Stop: []string{"a", "e", "\uFFFD"}}, generate.StopText},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Tokenizer = bytewise{}
			g := generator(t, s, tt.options)
			ended := make([]generate.Reason, len(prompts))
			tokens := make([][]int32, len(prompts))
			for p, err := range g.BatchText(ctx, prompts, tt.s) {
				testenv.Need(t, err)
				if ended[p.Index] != generate.NotEnded || p.Text == "" && p.Reason == generate.NotEnded || len(p.Tokens) == 0 {
					t.Errorf("piece %+v after %v", p, ended[p.Index])
				}
				for i, token := range p.Tokens {
					tokens[p.Index] = append(tokens[p.Index], token.ID)
					if last := i == len(p.Tokens)-1; token.Index != p.Index || last && token.Reason != p.Reason || !last && token.Reason != generate.NotEnded {
						t.Errorf("piece %+v has token %+v", p, token)
					}
				}
				ended[p.Index] = p.Reason
			}
			for i, r := range ended {
				if r != tt.reason && !(tt.s.MaxTokens >= 200 && r == generate.MaxTokens) {
					t.Errorf("prompt %d ended by %v", i, r)
				}
			}
			if !slices.Contains(ended, tt.reason) {
				t.Error("no text ended so")
			}
			if tt.reason == generate.StopText {
				return
			}
			var ids [][]int32
			for _, p := range prompts {
				ids = append(ids, []int32(p))
			}
			got, by := make([][]int32, len(prompts)), make([]generate.Reason, len(prompts))
			for token, err := range g.Batch(ctx, ids, tt.s) {
				testenv.Need(t, err)
				got[token.Index], by[token.Index] = append(got[token.Index], token.ID), token.Reason
			}
			if fmt.Sprint(got) != fmt.Sprint(tokens) || !slices.Equal(by, ended) {
				t.Errorf("tokens %v by %v, text of %v by %v", got, by, tokens, ended)
			}
		})
	}
}

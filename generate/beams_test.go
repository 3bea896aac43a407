package generate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// few returns a small decoder with a vocabulary of five tokens.
func few() *graph.Model {
	return topologies.Llama(topologies.LlamaSize{Layers: 1, Width: 16, Heads: 2, KVHeads: 1, Hidden: 16, Words: 5})
}

// stopToken ends the texts of tests of beams.
const stopToken = 4

// found is a text of a plain search.
type found struct {
	ids     []int32 // with the stop token
	logProb float64
	score   float64
}

// searcher searches plainly: by runs on all tokens and by sorting.
type searcher struct {
	t      *testing.T
	s      *nacre.Session
	prompt []int32
	most   int
	power  float64
	seen   map[string][]float64
}

// follow returns the log probabilities of the tokens that follow.
func (x *searcher) follow(ids []int32) []float64 {
	key := fmt.Sprint(ids)
	if x.seen[key] == nil {
		x.seen[key] = logProbs(logitsAfter(x.t, x.s, append(slices.Clone(x.prompt), ids...)))
	}
	return x.seen[key]
}

func (x *searcher) scored(ids []int32, logProb float64) found {
	return found{ids, logProb, logProb / math.Pow(float64(len(ids)), x.power)}
}

func ended(ids []int32) bool { return len(ids) > 0 && ids[len(ids)-1] == stopToken }

// every returns all texts, the best first.
func (x *searcher) every() (list []found) {
	var visit func(ids []int32, logProb float64)
	visit = func(ids []int32, logProb float64) {
		if ended(ids) || len(ids) == x.most {
			list = append(list, x.scored(slices.Clone(ids), logProb))
			return
		}
		for id, p := range x.follow(ids) {
			visit(append(slices.Clone(ids), int32(id)), logProb+p)
		}
	}
	visit(nil, 0)
	slices.SortStableFunc(list, better)
	return list
}

// better orders texts by their score, the best first.
func better(a, b found) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	}
	return 0
}

// beams returns the texts of a search that keeps width texts in each step. It goes on to the last
// step, unless early.
func (x *searcher) beams(width int, early bool) (list []found) {
	live := []found{{}}
	for step := 0; step < x.most && len(live) > 0 && !(early && len(list) >= width); step++ {
		var all []found
		for _, l := range live {
			for id, p := range x.follow(l.ids) {
				all = append(all, found{ids: append(slices.Clone(l.ids), int32(id)), logProb: l.logProb + p, score: l.logProb + p})
			}
		}
		slices.SortStableFunc(all, better)
		live = nil
		for rank, a := range all {
			switch {
			case ended(a.ids) && rank < width:
				list = append(list, x.scored(a.ids, a.logProb))
			case !ended(a.ids) && len(live) < width:
				live = append(live, a)
			}
		}
		slices.SortStableFunc(list, better)
		list = list[:min(len(list), width)]
	}
	if len(live) > 0 && len(live[0].ids) == x.most {
		for _, l := range live {
			list = append(list, x.scored(l.ids, l.logProb))
		}
		slices.SortStableFunc(list, better)
	}
	return list[:min(len(list), width)]
}

// TestBeams compares beams with a plain search, and a search that keeps all texts with all texts.
func TestBeams(t *testing.T) {
	ctx := context.Background()
	s := session(t, few(), nacre.Options{Threads: 1})
	same := func(t *testing.T, got []generate.Beam, want []found) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%d texts, want %d", len(got), len(want))
		}
		for i, b := range got {
			ids := b.IDs
			if b.Reason == generate.StopID {
				ids = append(slices.Clone(ids), stopToken)
			}
			if w := want[i]; !slices.Equal(ids, w.ids) || math.Abs(b.LogProb-w.logProb) > 1e-4 || math.Abs(b.Score-w.score) > 1e-4 {
				t.Fatalf("text %d: %+v, want %+v", i, b, w)
			}
			if b.Reason != generate.StopID && b.Reason != generate.MaxTokens || (b.Reason == generate.StopID) != ended(ids) {
				t.Errorf("text %d, %v, ended by %v", i, b.IDs, b.Reason)
			}
		}
	}
	cut := 0
	for _, way := range []generate.Options{{StopIDs: []int32{stopToken}}, {StopIDs: []int32{stopToken}, NoCache: true}} {
		g := generator(t, s, way)
		for _, prompt := range [][]int32{{1}, {0, 2, 3, 3, 1}, {4, 4, 0}} {
			for _, power := range []float64{0, 0.6, 1, 2, -0.5} {
				x := &searcher{t: t, s: s, prompt: prompt, most: 4, power: power, seen: map[string][]float64{}}
				all := x.every()
				sampling := generate.Sampling{MaxTokens: x.most, Temperature: 2, TopK: 1}
				got, err := g.Beams(ctx, prompt, generate.BeamSearch{Width: len(all), LengthPenalty: power}, sampling)
				testenv.Need(t, err)
				same(t, got, all)
				for _, width := range []int{1, 2, 3, 7} {
					for _, early := range []bool{false, true} {
						got, err := g.Beams(ctx, prompt, generate.BeamSearch{Width: width, LengthPenalty: power, Early: early}, sampling)
						testenv.Need(t, err)
						want := x.beams(width, early)
						same(t, got, want)
						if !slices.Equal(want[0].ids, all[0].ids) {
							cut++
						}
					}
				}
			}
		}
	}
	if cut == 0 {
		t.Error("every search finds the best text: the test has no force")
	}
}

// TestBeamsGreedy compares a search of width 1 with greedy tokens, on a decoder of many tokens, and
// ends at the window.
func TestBeamsGreedy(t *testing.T) {
	ctx := context.Background()
	prompt := []int32{7, 200, 31}
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{Window: 10})
	got, err := g.Beams(ctx, prompt, generate.BeamSearch{Width: 1}, generate.Sampling{})
	testenv.Need(t, err)
	if want := one(t, g.Tokens(ctx, prompt, generate.Sampling{})); len(got) != 1 || !slices.Equal(got[0].IDs, want) || got[0].Reason != generate.Window {
		t.Errorf("%+v, want %v", got, want)
	}
	longer, err := g.Beams(ctx, prompt, generate.BeamSearch{Width: 1, LengthPenalty: 1}, generate.Sampling{MaxTokens: 100})
	testenv.Need(t, err)
	if len(longer) != 1 || !slices.Equal(longer[0].IDs, got[0].IDs) || longer[0].Reason != generate.Window {
		t.Errorf("of 100 tokens %+v, want %+v", longer, got)
	}
	wide, err := g.Beams(ctx, prompt, generate.BeamSearch{Width: 4}, generate.Sampling{MaxTokens: 8})
	testenv.Need(t, err)
	if len(wide) != 4 || wide[0].LogProb < got[0].LogProb || slices.Equal(wide[0].IDs, wide[1].IDs) {
		t.Errorf("%+v", wide)
	}
}

// TestBeamsRefused searches wrongly.
func TestBeamsRefused(t *testing.T) {
	ctx := context.Background()
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{Window: 8})
	ten, none := generate.Sampling{MaxTokens: 10}, generate.Sampling{MaxTokens: 10, Adjust: func(_, _ []int32, logits []float32) error {
		for i := range logits {
			logits[i] = float32(math.Inf(-1))
		}
		return nil
	}}
	for _, tt := range []struct {
		b    generate.BeamSearch
		s    generate.Sampling
		ids  []int32
		kind error
	}{
		{generate.BeamSearch{}, ten, []int32{1}, nacre.ErrOption},
		{generate.BeamSearch{Width: 2, LengthPenalty: math.NaN()}, ten, []int32{1}, nacre.ErrOption},
		{generate.BeamSearch{Width: 2}, generate.Sampling{MaxTokens: 1, Stop: []string{"x"}}, []int32{1}, nacre.ErrOption},
		{generate.BeamSearch{Width: 2}, ten, nil, generate.ErrPrompt},
		{generate.BeamSearch{Width: 2}, ten, make([]int32, 9), generate.ErrWindow},
		{generate.BeamSearch{Width: 2}, none, []int32{1}, nil},
	} {
		list, err := g.Beams(ctx, tt.ids, tt.b, tt.s)
		if err == nil || tt.kind != nil && !errors.Is(err, tt.kind) || list != nil {
			t.Errorf("%+v: %v, %v", tt.b, list, err)
		}
	}
}

package generate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// recurrent returns a decoder with a state of fixed extents, the sum of the rows of all tokens.
func recurrent() *graph.Model {
	const width = 8
	b := graph.NewBuilder("recurrent")
	open := graph.Dims{graph.Known(1), graph.Symbol("sequence")}
	ids := b.Input("input_ids", graph.TensorOf(tensor.I64, open))
	h := b.Input("h", graph.TensorOf(tensor.F32, graph.Dims{graph.Known(1), graph.Known(1), graph.Known(width)}))
	fill := func(t *tensor.Tensor) *tensor.Tensor {
		for i := range tensor.View[float32](t) {
			tensor.View[float32](t)[i] = float32((i*i*7+i*31)%1009)/1009 - 0.5
		}
		return t
	}
	rows := b.Op("Gather", []string{b.Constant(fill(tensor.New(tensor.F32, words, width))), ids})
	sums := b.Op("Add", []string{b.Op("CumSum", []string{rows, b.Int(1)}), h})
	logits := b.Op("MatMul", []string{sums, b.Constant(fill(tensor.New(tensor.F32, width, words)))})
	b.Output(logits, "logits", graph.TensorOf(tensor.F32, append(slices.Clone(open), graph.Known(words))))
	all := b.Op("ReduceSum", []string{rows, b.Ints(1)}, graph.IntAttr("keepdims", 1))
	b.Output(b.Op("Add", []string{h, all}), "hn",
		graph.TensorOf(tensor.F32, graph.Dims{graph.Known(1), graph.Known(1), graph.Known(width)}))
	return b.Model(&graph.Model{Producer: "test", IR: 10})
}

// rest returns the tokens that follow a sequence, which it closes.
func rest(t testing.TB, q *generate.Sequence) (list []generate.Token) {
	t.Helper()
	defer q.Close()
	return more(t, q)
}

// more returns the tokens that follow a sequence.
func more(t testing.TB, q *generate.Sequence) (list []generate.Token) {
	t.Helper()
	for token, err := range q.Tokens(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, token)
	}
	return list
}

// TestAppend holds chats of several turns, and compares each turn with a sequence that starts with
// the whole text. Turns end by the number of tokens, by stop tokens and in the middle.
func TestAppend(t *testing.T) {
	ctx := context.Background()
	turns := [][]int32{{7, 200, 31}, {9, 9, 1, 4, 250}, nil, {13}, {3, 3, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99}}
	for name, build := range map[string]func() *graph.Model{"llama": llama, "sums": sums, "recurrent": recurrent} {
		s := session(t, build(), nacre.Options{Threads: 1})
		for _, way := range []generate.Options{{}, {Chunk: 1}, {Chunk: 3}, {NoCache: name != "recurrent"}, {Window: 70}} {
			for _, sampling := range []generate.Sampling{
				{MaxTokens: 6, Alternatives: 2},
				{MaxTokens: 9, Alternatives: 1, Temperature: 1.5, Seed: 4, RepetitionPenalty: 1.2, PresencePenalty: 0.4, FrequencyPenalty: 0.2},
				{MaxTokens: 6, Temperature: 3, Seed: 1, StopIDs: []int32{1, 5, 9, 60, 61, 62, 63, 64, 65, 66, 67, 200, 210, 220, 250}},
			} {
				t.Run(fmt.Sprintf("%s/%+v/%+v", name, way, sampling), func(t *testing.T) {
					g := generator(t, s, way)
					q, err := g.Start(ctx, turns[0], sampling)
					testenv.Need(t, err)
					defer q.Close()
					for i, ids := range turns {
						if i > 0 {
							testenv.Need(t, q.Append(ctx, ids))
						}
						if q.Generated() != 0 || q.Reason() != generate.NotEnded {
							t.Fatalf("turn %d begins with %d tokens and %v", i, q.Generated(), q.Reason())
						}
						fresh, err := g.Start(ctx, q.IDs(), sampling)
						testenv.Need(t, err)
						want := rest(t, fresh)
						if i == 3 { // the next turn begins before this one ends
							_, _, err := q.Next(ctx)
							testenv.Need(t, err)
							continue
						}
						if got := more(t, q); !alike(got, want) || len(got) == 0 {
							t.Fatalf("turn %d: %v, want %v", i, got, want)
						}
					}
				})
			}
		}
	}
}

// TestAppendSlides goes on past a window that slides.
func TestAppendSlides(t *testing.T) {
	ctx := context.Background()
	s := session(t, llama(), nacre.Options{Threads: 1})
	g := generator(t, s, generate.Options{Window: 8, Slide: true})
	q, err := g.Start(ctx, []int32{1, 2, 3}, generate.Sampling{MaxTokens: 4})
	testenv.Need(t, err)
	defer q.Close()
	for _, ids := range [][]int32{nil, {5, 6}, {4, 5, 6, 7, 8, 9, 10, 11, 12, 13}} {
		testenv.Need(t, q.Append(ctx, ids))
		want := naive(t, s, q.IDs(), 4, 8)
		if more(t, q); !slices.Equal(q.IDs()[len(q.IDs())-4:], want) {
			t.Errorf("%v, want the end %v", q.IDs(), want)
		}
	}
	testenv.Need(t, q.Truncate(5))
	want := naive(t, s, q.IDs(), 4, 8)
	if more(t, q); !slices.Equal(q.IDs()[5:], want) {
		t.Errorf("cut to %v, want the end %v", q.IDs(), want)
	}
}

// TestAppendRefused appends tokens that do not fit, and goes on as if nothing had been.
func TestAppendRefused(t *testing.T) {
	ctx := context.Background()
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{Window: 8})
	q, err := g.Start(ctx, []int32{1, 2, 3}, generate.Sampling{MaxTokens: 3})
	testenv.Need(t, err)
	defer q.Close()
	more(t, q)
	for _, tt := range []struct {
		err  error
		kind error
		text string
	}{
		{q.Append(ctx, []int32{5, words}), generate.ErrPrompt, "token 1 of the prompt is 256"},
		{q.Append(ctx, []int32{5, 6, 7}), generate.ErrWindow, "the sequence has 6 tokens, and 3 more do not fit in the window of 8"},
		{q.Truncate(0), nacre.ErrOption, "cannot be cut to 0"},
		{q.Truncate(7), nacre.ErrOption, "cannot be cut to 7"},
	} {
		if !errors.Is(tt.err, tt.kind) || !strings.Contains(tt.err.Error(), tt.text) {
			t.Errorf("error %v, want %q", tt.err, tt.text)
		}
	}
	if q.Reason() != generate.MaxTokens || len(q.IDs()) != 6 {
		t.Errorf("after errors %v, ended by %v", q.IDs(), q.Reason())
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if err := q.Append(stopped, []int32{5, 6}); !errors.Is(err, context.Canceled) || len(q.IDs()) != 8 {
		t.Errorf("under a context that has ended: %v, %v", err, q.IDs())
	}
	fresh, err := g.Start(ctx, q.IDs(), generate.Sampling{MaxTokens: 1})
	testenv.Need(t, err)
	want := rest(t, fresh)[0].ID
	if got, ok, err := q.Next(ctx); got != want || !ok || err != nil {
		t.Errorf("then token %d, want %d; %v", got, want, err)
	}
	if err := q.Truncate(9); !errors.Is(err, generate.ErrWindow) || !strings.Contains(err.Error(), "9 tokens do not fit in the window of 8") {
		t.Errorf("cut to more than the window: %v", err)
	}
}

// TestTruncate cuts sequences at every place and goes on from there.
func TestTruncate(t *testing.T) {
	ctx := context.Background()
	sampling := generate.Sampling{MaxTokens: 5, Alternatives: 1}
	for name, build := range map[string]func() *graph.Model{"llama": llama, "sums": sums, "recurrent": recurrent} {
		g := generator(t, session(t, build(), nacre.Options{Threads: 1}), generate.Options{})
		for n := 1; n <= 9; n++ {
			for _, ids := range [][]int32{nil, {77, 78}} {
				q, err := g.Start(ctx, []int32{5, 6, 7, 8}, sampling)
				testenv.Need(t, err)
				more(t, q)
				testenv.Need(t, q.Truncate(n))
				if len(q.IDs()) != n || q.Reason() != generate.NotEnded {
					t.Fatalf("cut to %v, ended by %v", q.IDs(), q.Reason())
				}
				testenv.Need(t, q.Append(ctx, ids))
				fresh, err := g.Start(ctx, q.IDs(), sampling)
				testenv.Need(t, err)
				if got, want := rest(t, q), rest(t, fresh); !alike(got, want) {
					t.Errorf("%s cut to %d, with %v: %v, want %v", name, n, ids, got, want)
				}
			}
		}
	}
}

// TestAppendLongrope crosses the original window of a decoder in both directions.
func TestAppendLongrope(t *testing.T) {
	ctx := context.Background()
	dir := longrope(t, 9)
	m, err := nacre.Open(dir)
	testenv.Need(t, err)
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Threads: 1})
	testenv.Need(t, err)
	defer s.Close()
	o, _, err := generate.SettingsOf(m, os.DirFS(dir))
	testenv.Need(t, err)
	g := generator(t, s, o)
	sampling := generate.Sampling{MaxTokens: 3, Alternatives: 1}
	for _, sizes := range [][3]int{{4, 4, 2}, {4, 8, 2}, {4, 12, 5}, {12, 10, 3}, {12, 12, 1}, {7, 3, 8}} {
		prompt := make([]int32, sizes[0])
		for i := range prompt {
			prompt[i] = int32(i*7) % 29
		}
		q, err := g.Start(ctx, prompt, sampling)
		testenv.Need(t, err)
		more(t, q)
		testenv.Need(t, q.Truncate(min(sizes[1], len(q.IDs()))))
		testenv.Need(t, q.Append(ctx, []int32{1, 2, 3, 4, 5, 6, 7, 8}[:sizes[2]]))
		fresh, err := g.Start(ctx, q.IDs(), sampling)
		testenv.Need(t, err)
		if got, want := rest(t, q), rest(t, fresh); !alike(got, want) {
			t.Errorf("sizes %v: %v, want %v", sizes, got, want)
		}
	}
}

// TestAppendText goes on with text within a character, and after a stop.
func TestAppendText(t *testing.T) {
	ctx := context.Background()
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{Tokenizer: bytewise{}})
	text := func(q *generate.Sequence) (all string, last generate.Reason) {
		for piece, err := range q.Text(ctx) {
			testenv.Need(t, err)
			all, last = all+piece.Text, piece.Reason
		}
		return all, last
	}
	for _, stop := range []string{"none", "e", "t", "\uFFFD"} {
		sampling := generate.Sampling{MaxTokens: 40, Temperature: 2, Stop: []string{stop}}
		q, err := g.Start(ctx, []int32("Hi"), sampling)
		testenv.Need(t, err)
		for _, ids := range [][]int32{nil, {0xe6, 0x97}, {0xa5, 'x'}} {
			text(q)
			testenv.Need(t, q.Append(ctx, ids))
			fresh, err := g.Start(ctx, q.IDs(), sampling)
			testenv.Need(t, err)
			want, why := text(fresh)
			fresh.Close()
			if got, end := text(q); got != want || end != why || end == generate.NotEnded {
				t.Errorf("stop %q: %q by %v, want %q by %v", stop, got, end, want, why)
			}
			testenv.Need(t, q.Append(ctx, nil))
		}
		q.Close()
	}
}

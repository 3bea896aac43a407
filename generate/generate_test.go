package generate_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// collect returns the tokens of each index, without stop tokens. The last token of each must say why
// it ended, and no other.
func collect(t testing.TB, n int, seq iter.Seq2[generate.Token, error]) [][]int32 {
	t.Helper()
	out, ended := make([][]int32, n), make([]generate.Reason, n)
	for token, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		if ended[token.Index] != generate.NotEnded {
			t.Errorf("a token follows %v", ended[token.Index])
		}
		if ended[token.Index] = token.Reason; token.Reason != generate.StopID {
			out[token.Index] = append(out[token.Index], token.ID)
		}
	}
	if i := slices.Index(ended, generate.NotEnded); i >= 0 {
		t.Errorf("the last token of %d does not say why it ended", i)
	}
	return out
}

func one(t testing.TB, seq iter.Seq2[generate.Token, error]) []int32 { return collect(t, 1, seq)[0] }

// logitsAfter returns the logits that follow tokens, by a run of the session on all of them.
func logitsAfter(t testing.TB, s *nacre.Session, tokens []int32) []float32 {
	t.Helper()
	ids := make([]int64, len(tokens))
	ones, places := make([]int64, len(tokens)), make([]int64, len(tokens))
	for i, id := range tokens {
		ids[i], ones[i], places[i] = int64(id), 1, int64(i)
	}
	inputs := map[string]*nacre.Tensor{}
	for _, in := range s.Inputs() {
		data := map[string][]int64{"input_ids": ids, "attention_mask": ones, "position_ids": places}[in.Name]
		x, err := nacre.NewTensor(data, 1, len(data))
		if strings.HasPrefix(in.Name, "past") {
			x, err = nacre.Zeros(in.DType, 1, in.Shape[1].Size, 0, in.Shape[3].Size)
		}
		if err != nil {
			t.Fatal(err)
		}
		inputs[in.Name] = x
	}
	out, err := s.Run(context.Background(), inputs)
	if err != nil {
		t.Fatal(err)
	}
	logits, err := nacre.Float32s(out[s.Outputs()[0].Name])
	if err != nil {
		t.Fatal(err)
	}
	return logits[len(logits)-out[s.Outputs()[0].Name].Shape()[2]:]
}

// naive continues a prompt greedily by runs of the session on all tokens, or on the last window
// ones.
func naive(t testing.TB, s *nacre.Session, prompt []int32, n, window int) []int32 {
	t.Helper()
	list := slices.Clone(prompt)
	for range n {
		seen := list
		if window > 0 && len(list) > window {
			seen = list[len(list)-window:]
		}
		best := 0
		logits := logitsAfter(t, s, seen)
		for i, x := range logits {
			if x > logits[best] {
				best = i
			}
		}
		list = append(list, int32(best))
	}
	return list[len(prompt):]
}

// ways are ways to compute the same tokens.
var ways = []generate.Options{
	{}, {Chunk: 1}, {Chunk: 3}, {NoCache: true}, {Window: 100}, {Window: 11, Slide: true}, {Window: 11, Slide: true, NoCache: true},
}

// TestGreedy compares greedy tokens with runs on all tokens.
func TestGreedy(t *testing.T) {
	prompt := []int32{7, 200, 31, 7, 7, 90, 255, 0, 13}
	for name, build := range map[string]func() *graph.Model{"llama": llama, "sums": sums} {
		for _, o := range []nacre.Options{{Threads: 1}, {Threads: 2}, {NoOptimize: true}} {
			s := session(t, build(), o)
			want := naive(t, s, prompt, 20, 0)
			slid := naive(t, s, prompt, 20, 11)
			if slices.Equal(want, slid) {
				t.Fatal("the window makes no difference, so the test shows nothing")
			}
			for _, way := range ways {
				t.Run(fmt.Sprintf("%s/%+v/%+v", name, o, way), func(t *testing.T) {
					expected := want
					if way.Slide {
						expected = slid
					}
					got := one(t, generator(t, s, way).Tokens(context.Background(), prompt, generate.Sampling{MaxTokens: 20}))
					if !slices.Equal(got, expected) {
						t.Errorf("tokens %v, want %v", got, expected)
					}
				})
			}
		}
	}
}

// TestSeed checks that a seed gives the same tokens on any number of threads, and another seed
// gives others.
func TestSeed(t *testing.T) {
	sampling := generate.Sampling{MaxTokens: 40, Temperature: 1.5, TopK: 50, TopP: 0.95, RepetitionPenalty: 1.1, Seed: 5}
	var first []int32
	for _, threads := range []int{1, 2, 3} {
		g := generator(t, session(t, llama(), nacre.Options{Threads: threads}), generate.Options{})
		got := one(t, g.Tokens(context.Background(), []int32{1, 2, 3}, sampling))
		if first == nil {
			first = got
		}
		if !slices.Equal(got, first) {
			t.Errorf("%d threads: %v, want %v", threads, got, first)
		}
		other := sampling
		other.Seed++
		if slices.Equal(one(t, g.Tokens(context.Background(), []int32{1, 2, 3}, other)), first) {
			t.Error("another seed gives the same tokens")
		}
	}
}

// TestBatch compares prompts together with the same prompts alone.
func TestBatch(t *testing.T) {
	ctx := context.Background()
	g := generator(t, session(t, llama(), nacre.Options{}), generate.Options{StopIDs: []int32{44, 97, 150, 201}})
	prompts := [][]int32{{1}, {5, 6, 7, 8, 9, 10, 11}, {255, 254}, {1, 1, 1}, {80}}
	greedy := generate.Sampling{MaxTokens: 15}
	got := collect(t, len(prompts), g.Batch(ctx, prompts, greedy))
	for i, p := range prompts {
		if want := one(t, g.Tokens(ctx, p, greedy)); !slices.Equal(got[i], want) {
			t.Errorf("prompt %v: %v, want %v", p, got[i], want)
		}
	}
	var order []int
	for token, err := range g.Batch(ctx, prompts, generate.Sampling{MaxTokens: 2, StopIDs: nil}) {
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, token.Index)
	}
	if !slices.Equal(order[:5], []int{0, 1, 2, 3, 4}) {
		t.Errorf("tokens came of prompts %v", order)
	}
}

// TestContinuations compares forks with sequences that each compute the prompt.
func TestContinuations(t *testing.T) {
	ctx := context.Background()
	prompt := []int32{9, 8, 7, 6, 5}
	sampling := generate.Sampling{MaxTokens: 12, Temperature: 1, Seed: 3, FrequencyPenalty: 0.3}
	for _, m := range []*graph.Model{llama(), sums()} {
		g := generator(t, session(t, m, nacre.Options{}), generate.Options{})
		got := collect(t, 4, g.Continuations(ctx, prompt, 4, sampling))
		want := collect(t, 4, g.Batch(ctx, [][]int32{prompt, prompt, prompt, prompt}, sampling))
		for i := range got {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("continuation %d: %v, want %v", i, got[i], want[i])
			}
			if i > 0 && slices.Equal(got[i], got[0]) {
				t.Errorf("continuation %d is the first again: %v", i, got[0])
			}
		}
	}
}

// TestForkMiddle forks a sequence in the middle of its generation.
func TestForkMiddle(t *testing.T) {
	ctx := context.Background()
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{})
	q, err := g.Start(ctx, []int32{3}, generate.Sampling{MaxTokens: 30})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for range 10 {
		if _, ok, err := q.Next(ctx); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	f, err := q.Fork(1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rest := func(q *generate.Sequence) []int32 {
		for _, err := range q.Tokens(ctx) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if q.Reason() != generate.MaxTokens || q.Generated() != 30 {
			t.Errorf("ended by %v after %d tokens", q.Reason(), q.Generated())
		}
		return q.IDs()
	}
	if a, b := rest(f), rest(q); !slices.Equal(a, b) {
		t.Errorf("the fork goes on with %v, the other with %v", a, b)
	}
}

// TestConcurrent uses one generator from several goroutines.
func TestConcurrent(t *testing.T) {
	ctx := context.Background()
	g := generator(t, session(t, llama(), nacre.Options{Threads: 2}), generate.Options{})
	sampling := generate.Sampling{MaxTokens: 10, Temperature: 1}
	var want [6][]int32
	for i := range want {
		want[i] = one(t, g.Tokens(ctx, []int32{int32(i), 5}, sampling))
	}
	var done sync.WaitGroup
	for i := range want {
		done.Go(func() {
			var got []int32
			for token, err := range g.Tokens(ctx, []int32{int32(i), 5}, sampling) {
				if err != nil {
					t.Error(err)
					return
				}
				got = append(got, token.ID)
			}
			if !slices.Equal(got, want[i]) {
				t.Errorf("goroutine %d: %v, want %v", i, got, want[i])
			}
		})
	}
	done.Wait()
}

// TestCancel ends generation by its context, and goes on with another.
func TestCancel(t *testing.T) {
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for _, err := range g.Tokens(ctx, []int32{1}, generate.Sampling{MaxTokens: 1000}) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			break
		}
		if n++; n == 5 {
			cancel()
		}
	}
	if n != 5 {
		t.Errorf("%d tokens, want 5", n)
	}
	if _, err := g.Start(ctx, []int32{1}, generate.Sampling{MaxTokens: 1}); !errors.Is(err, context.Canceled) {
		t.Error("a prompt under a context that has ended:", err)
	}
	want := one(t, g.Tokens(context.Background(), []int32{1, 2, 3}, generate.Sampling{MaxTokens: 8}))
	q, err := g.Start(context.Background(), []int32{1, 2, 3}, generate.Sampling{MaxTokens: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var got []int32
	for len(got) < len(want) {
		if len(got) == 4 {
			if _, _, err := q.Next(ctx); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		id, ok, err := q.Next(context.Background())
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		got = append(got, id)
	}
	if !slices.Equal(got, want) {
		t.Errorf("after a context that ended %v, want %v", got, want)
	}
}

// TestWindow fills the window.
func TestWindow(t *testing.T) {
	ctx := context.Background()
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{Window: 8})
	q, err := g.Start(ctx, []int32{1, 2, 3}, generate.Sampling{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if got := one(t, q.Tokens(ctx)); len(got) != 6 || q.Reason() != generate.Window {
		t.Errorf("%d tokens, ended by %v; want those of positions 3 to 8 and the window", len(got), q.Reason())
	}
	for most, want := range map[int]generate.Reason{5: generate.MaxTokens, 6: generate.MaxTokens, 7: generate.Window, 10: generate.Window} {
		n := 0
		var last generate.Token
		for token, err := range g.Tokens(ctx, []int32{1, 2, 3}, generate.Sampling{MaxTokens: most}) {
			if err != nil {
				t.Fatal(err)
			}
			n, last = n+1, token
		}
		if n != min(most, 6) || last.Reason != want {
			t.Errorf("%d tokens of %d, ended by %v, want %v", n, most, last.Reason, want)
		}
	}
}

// TestRefused checks errors that come before any computation.
func TestRefused(t *testing.T) {
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{Window: 8})
	ten := generate.Sampling{MaxTokens: 10}
	for _, tt := range []struct {
		name   string
		prompt []int32
		s      generate.Sampling
		kind   error
		text   string
	}{
		{"no tokens", nil, ten, generate.ErrPrompt, "no tokens"},
		{"a long prompt", make([]int32, 9), ten, generate.ErrWindow, "the prompt has 9 tokens, and the window 8; shorten the prompt"},
		{"a token beyond the vocabulary", []int32{1, words}, ten, generate.ErrPrompt, "token 1 of the prompt is 256; the vocabulary has tokens 0 to 255"},
		{"a token below 0", []int32{-1}, ten, generate.ErrPrompt, "token 0 of the prompt is -1"},
		{"temperature", []int32{1}, generate.Sampling{Temperature: -1}, nacre.ErrOption, "Temperature is -1"},
		{"stop text of tokens", []int32{1}, generate.Sampling{MaxTokens: 1, Stop: []string{"x"}}, nacre.ErrOption, "StopIDs are for tokens"},
		{"an empty stop", []int32{1}, generate.Sampling{MaxTokens: 1, Stop: []string{""}}, nacre.ErrOption, "Stop"},
		{"top-p and min-p", []int32{1}, generate.Sampling{TopP: 1.5, MinP: -1, TopK: -1}, nacre.ErrOption, "TopK is -1; it must be positive, or 0 for all\nTopP is 1.5; it must be from 0 to 1\nMinP is -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			for _, err := range g.Tokens(context.Background(), tt.prompt, tt.s) {
				if n++; !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.text) {
					t.Errorf("error %v", err)
				}
			}
			if n != 1 {
				t.Errorf("%d results", n)
			}
		})
	}
	unbounded := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{})
	if _, err := unbounded.Start(context.Background(), []int32{1}, generate.Sampling{}); !errors.Is(err, nacre.ErrOption) {
		t.Error("without an end:", err)
	}
	for _, err := range g.Text(context.Background(), "x", ten) {
		if !errors.Is(err, nacre.ErrOption) || !strings.Contains(err.Error(), "Options.Tokenizer") {
			t.Error("without a tokenizer:", err)
		}
	}
	for _, err := range g.Continuations(context.Background(), []int32{1}, 0, ten) {
		if !errors.Is(err, nacre.ErrOption) {
			t.Error("no continuations:", err)
		}
	}
}

// TestNotDecoder makes generators of networks that are not decoders.
func TestNotDecoder(t *testing.T) {
	network := func(inputs, outputs []*graph.Value) *graph.Model {
		b := graph.NewBuilder("other")
		for _, v := range inputs {
			b.Input(v.Name, v.Type)
		}
		for _, v := range outputs {
			x := b.Op("Cast", []string{inputs[0].Name}, graph.IntAttr("to", int64(v.Type.DType.Code())))
			b.Output(x, v.Name, v.Type)
		}
		return b.Model(&graph.Model{Producer: "test", IR: 10})
	}
	value := func(name string, d tensor.DType, dims ...string) *graph.Value {
		list := graph.Dims{}
		for _, x := range dims {
			list = append(list, graph.ParseDim(x))
		}
		return &graph.Value{Name: name, Type: graph.TensorOf(d, list)}
	}
	ids, logits := value("input_ids", tensor.I64, "b", "s"), value("logits", tensor.F32, "b", "s")
	for _, tt := range []struct {
		in, out *graph.Value
		other   *graph.Value
		text    string
	}{
		{value("image", tensor.F32, "1", "8"), logits, nil, "no decoder of tokens; it takes image float32[1,8]"},
		{value("input_ids", tensor.I64, "2", "s"), value("logits", tensor.F32, "2", "s"), nil, "a batch of 2"},
		{value("input_ids", tensor.I64, "1", "6"), value("logits", tensor.F32, "1", "6"), nil, "takes 6 tokens, no more and no less"},
		{ids, value("label", tensor.I64, "b", "s"), nil, "no output is logits"},
		{ids, value("last_hidden_state", tensor.F32, "b", "s"), nil, "no output is logits"},
		{ids, logits, value("audio", tensor.F32, "b", "80"), "input audio float32[b,80] is none"},
	} {
		inputs := []*graph.Value{tt.in}
		if tt.other != nil {
			inputs = append(inputs, tt.other)
		}
		s := session(t, network(inputs, []*graph.Value{tt.out}), nacre.Options{Threads: 1})
		if _, err := generate.New(context.Background(), s, generate.Options{}); !errors.Is(err, nacre.ErrUnsupported) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("want %q: %v", tt.text, err)
		}
	}
	s := session(t, llama(), nacre.Options{Threads: 1})
	for _, o := range []generate.Options{{Window: -1}, {Chunk: -1}, {Slide: true}} {
		if _, err := generate.New(context.Background(), s, o); !errors.Is(err, nacre.ErrOption) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := generate.New(context.Background(), nil, generate.Options{}); !errors.Is(err, nacre.ErrOption) {
		t.Error("no session:", err)
	}
}

// TestAllocs checks that a token allocates only memory that the caller gets.
func TestAllocs(t *testing.T) {
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{})
	for _, s := range []generate.Sampling{
		{MaxTokens: 200}, {MaxTokens: 200, Temperature: 1, TopK: 40, TopP: 0.9, MinP: 0.01, RepetitionPenalty: 1.1, PresencePenalty: 0.1},
	} {
		ctx := context.Background()
		q, err := g.Start(ctx, []int32{1, 2, 3, words - 1}, s)
		if err != nil {
			t.Fatal(err)
		}
		next := func() {
			if _, ok, err := q.Next(ctx); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		for range 100 {
			next()
		}
		if n := testing.AllocsPerRun(50, next); n >= 1 {
			t.Errorf("%+v: a token allocates %v times", s, n)
		}
		q.Close()
	}
}

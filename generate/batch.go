package generate

import (
	"context"
	"iter"
	goruntime "runtime"
	"sync"
	"sync/atomic"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
)

// Tokens yields the tokens that follow a prompt, up to an error or the end. The last token says why
// the text ended.
func (g *Generator) Tokens(ctx context.Context, prompt []int32, s Sampling) iter.Seq2[Token, error] {
	return g.Batch(ctx, [][]int32{prompt}, s)
}

// Text yields the text that follows a prompt, up to an error or the end. Pieces are whole
// characters, and the last one says why the text ended. The prompt's special tokens are the ones in its text and the ones that the tokenizer
// puts around it.
func (g *Generator) Text(ctx context.Context, prompt string, s Sampling) iter.Seq2[Piece, error] {
	return g.BatchText(ctx, []string{prompt}, s)
}

// Batch yields the tokens that follow several prompts of any lengths. They come in rounds: each
// round has the next token of every prompt that has one, in the order of the prompts, so the order
// does not depend on time. The last token of each prompt says why its text ended. Batch ends after
// the first error.
//
// Each prompt has a stream of its own, and as many streams run at once as there are CPUs. The
// tokens of a prompt do not depend on the other prompts. Its random numbers depend on the seed and
// on its index. The states of all prompts are in memory at once.
func (g *Generator) Batch(ctx context.Context, prompts [][]int32, s Sampling) iter.Seq2[Token, error] {
	return tokens(ctx, &s, func() ([]*Sequence, error) { return g.batch(ctx, prompts, s) })
}

// BatchText is Batch for text.
func (g *Generator) BatchText(ctx context.Context, prompts []string, s Sampling) iter.Seq2[Piece, error] {
	return g.texts(ctx, func() ([]*Sequence, error) {
		if !g.made() {
			return nil, errNotMade
		}
		ids := make([][]int32, len(prompts))
		for i, p := range prompts {
			var err error
			if ids[i], err = g.encode(ctx, p); err != nil {
				return nil, err
			}
		}
		return g.batch(ctx, ids, s)
	})
}

// Continuations yields n continuations of one prompt, in rounds like Batch. The prompt is computed
// once, and its states are copied for each continuation.
func (g *Generator) Continuations(ctx context.Context, prompt []int32, n int, s Sampling) iter.Seq2[Token, error] {
	return tokens(ctx, &s, func() ([]*Sequence, error) { return g.forks(ctx, prompt, n, s) })
}

// ContinuationsText is Continuations for text.
func (g *Generator) ContinuationsText(ctx context.Context, prompt string, n int, s Sampling) iter.Seq2[Piece, error] {
	return g.texts(ctx, func() ([]*Sequence, error) {
		if !g.made() {
			return nil, errNotMade
		}
		ids, err := g.encode(ctx, prompt)
		if err != nil {
			return nil, err
		}
		return g.forks(ctx, ids, n, s)
	})
}

// encode returns the ids of a prompt.
func (g *Generator) encode(ctx context.Context, prompt string) ([]int32, error) {
	if t, ok := g.options.Tokenizer.(ContextEncoder); ok {
		return t.EncodeContext(ctx, prompt, true)
	}
	return g.options.Tokenizer.Encode(prompt, true), nil
}

// batch begins a sequence for each prompt.
func (g *Generator) batch(ctx context.Context, prompts [][]int32, s Sampling) ([]*Sequence, error) {
	if !g.made() {
		return nil, errNotMade
	}
	var list []*Sequence
	for i, p := range prompts {
		q, err := g.begin(ctx, p, s, i, g.top(&s))
		if err != nil {
			return list, err
		}
		list = append(list, q)
	}
	return list, nil
}

// forks begins n sequences with the same prompt.
func (g *Generator) forks(ctx context.Context, prompt []int32, n int, s Sampling) ([]*Sequence, error) {
	if !g.made() {
		return nil, errNotMade
	}
	if n < 1 {
		return nil, errorf(nacre.ErrOption, "%s: %d continuations; it must be 1 at least", g.decoder.file, n)
	}
	first, err := g.Start(ctx, prompt, s)
	if err != nil {
		return nil, err
	}
	list := []*Sequence{first}
	for i := 1; i < n; i++ {
		q, err := first.Fork(i)
		if err != nil {
			return list, err
		}
		list = append(list, q)
	}
	return list, nil
}

// tokens yields the tokens of sequences.
func tokens(ctx context.Context, s *Sampling, open func() ([]*Sequence, error)) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if len(s.Stop) > 0 {
			yield(Token{}, errStopText)
			return
		}
		list, err := opened(open)
		defer closeAll(list)
		if err != nil {
			yield(Token{}, err)
			return
		}
		rounds(ctx, list, (*Sequence).step, yield)
	}
}

// opened calls open and turns a panic into an error.
func opened(open func() ([]*Sequence, error)) (list []*Sequence, err error) {
	defer guard.At("").End(&err)
	return open()
}

var errStopText = errorf(nacre.ErrOption, "Sampling.Stop is for methods that give text; StopIDs are for tokens")

var errNoTokenizer = errorf(nacre.ErrOption, "text needs a tokenizer; set Options.Tokenizer")

// texts yields the text of sequences.
func (g *Generator) texts(ctx context.Context, open func() ([]*Sequence, error)) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		if g.made() && g.options.Tokenizer == nil {
			yield(Piece{}, errNoTokenizer)
			return
		}
		list, err := opened(open)
		defer closeAll(list)
		if err != nil {
			yield(Piece{}, err)
			return
		}
		rounds(ctx, list, (*Sequence).piece, func(p Piece, err error) bool {
			return p.Text == "" && p.Reason == NotEnded && err == nil || yield(p, err)
		})
	}
}

func closeAll(list []*Sequence) {
	for _, q := range list {
		q.Close()
	}
}

// result is the result of a step of a sequence.
type result[T any] struct {
	value T
	err   error
}

// rounds runs a step of each sequence per round, and passes the results to take in order. It stops
// if all have ended, one fails, or take returns false.
func rounds[T any](
	ctx context.Context, list []*Sequence, step func(*Sequence, context.Context) (T, error), take func(T, error) bool,
) {
	live := append([]*Sequence(nil), list...)
	results := make([]result[T], len(live))
	for len(live) > 0 {
		each(len(live), func(i int) {
			value, err := step(live[i], ctx)
			results[i] = result[T]{value, err}
		})
		n := 0
		for i, q := range live {
			if r := results[i]; !take(r.value, r.err) || r.err != nil {
				return
			}
			if q.end == NotEnded {
				live[n] = q
				n++
			} else {
				q.Close()
			}
		}
		live = live[:n]
	}
}

// each calls do for every number below n, as many at once as there are CPUs.
func each(n int, do func(i int)) {
	workers := min(n, goruntime.GOMAXPROCS(0))
	if workers == 1 {
		for i := range n {
			do(i)
		}
		return
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	done.Wait()
}

package generate_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestFollow follows other tokens, and compares each time with a sequence that starts with them. Runs
// are of one token, so their number says what is computed again.
func TestFollow(t *testing.T) {
	ctx := t.Context()
	ids := func(list ...int32) []int32 { return list }
	steps := []struct {
		ids      []int32
		computed int // beside the tokens that follow
	}{
		{ids(1, 2, 3, 4, 5, 6), 2 + 1}, // two tokens, and the last of those before
		{ids(1, 2, 3, 4, 5, 6), 1},
		{ids(1, 2, 3, 9, 9), 2},
		{ids(1, 2), 1},
		{ids(7, 8, 9), 3},
		{ids(7), 1},
	}
	s := session(t, llama(), nacre.Options{Threads: 1})
	for _, slides := range []bool{false, true} {
		g := generator(t, s, generate.Options{Chunk: 1, Window: 12, Slide: slides})
		sampling := generate.Sampling{MaxTokens: 3, Temperature: 2, Seed: 5}
		q, err := g.Start(ctx, ids(1, 2, 3, 4), sampling)
		testenv.Need(t, err)
		defer q.Close()
		for i, step := range steps {
			before := s.Stats().Runs
			testenv.Need(t, q.Follow(ctx, step.ids))
			if n := s.Stats().Runs - before; i > 0 && n != step.computed {
				t.Errorf("slides %v, step %d: %d tokens are computed, want %d", slides, i, n, step.computed)
			}
			if q.Generated() != 0 || !slices.Equal(q.IDs(), step.ids) {
				t.Fatalf("step %d: %v, %d generated", i, q.IDs(), q.Generated())
			}
			fresh, err := g.Start(ctx, step.ids, sampling)
			testenv.Need(t, err)
			want := rest(t, fresh)
			if got := more(t, q); !alike(got, want) || len(got) == 0 {
				t.Fatalf("step %d: %v, want %v", i, got, want)
			}
		}
		long := make([]int32, 13)
		if err := q.Follow(ctx, long); errors.Is(err, generate.ErrWindow) == slides {
			t.Errorf("slides %v: %v", slides, err)
		}
	}
}

// TestFollowRefused follows tokens that no decoder takes, and is stopped.
func TestFollowRefused(t *testing.T) {
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{})
	q, err := g.Start(t.Context(), []int32{1, 2, 3}, generate.Sampling{MaxTokens: 3})
	testenv.Need(t, err)
	defer q.Close()
	for _, ids := range [][]int32{nil, {1, -1}, {words}} {
		if err := q.Follow(t.Context(), ids); !errors.Is(err, generate.ErrPrompt) || !slices.Equal(q.IDs(), []int32{1, 2, 3}) {
			t.Errorf("%v: %v, then %v", ids, err, q.IDs())
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := q.Follow(stopped, []int32{1, 5, 6}); !errors.Is(err, context.Canceled) || !slices.Equal(q.IDs(), []int32{1, 5, 6}) {
		t.Errorf("stopped: %v, then %v", err, q.IDs())
	}
	fresh, err := g.Start(t.Context(), []int32{1, 5, 6}, generate.Sampling{MaxTokens: 3})
	testenv.Need(t, err)
	if want, got := rest(t, fresh), more(t, q); !alike(got, want) {
		t.Errorf("after the stop %v, want %v", got, want)
	}
	if err := (*generate.Sequence)(nil).Follow(t.Context(), nil); !errors.Is(err, nacre.ErrClosed) {
		t.Error(err)
	}
}

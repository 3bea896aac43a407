package generate_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// TestWarm checks that a sequence makes no plan that Warm could make.
func TestWarm(t *testing.T) {
	ctx, sampling := context.Background(), generate.Sampling{MaxTokens: 3}
	for name, build := range map[string]func() *graph.Model{"llama": llama, "sums": sums} {
		s := session(t, build(), nacre.Options{Threads: 1})
		g := generator(t, s, generate.Options{})
		if err := g.Warm(ctx, 5, sampling); err != nil {
			t.Fatal(name, err)
		}
		made := s.Stats().Plans
		if made == 0 {
			t.Errorf("%s: no plan is made", name)
		}
		q, err := g.Start(ctx, []int32{1, 2, 3, 4, 5}, sampling)
		if err != nil {
			t.Fatal(name, err)
		}
		if _, ok, err := q.Next(ctx); !ok || err != nil {
			t.Fatal(name, ok, err)
		}
		q.Close()
		if n := s.Stats().Plans; n != made {
			t.Errorf("%s: %d plans after a sequence, %d before", name, n, made)
		}
	}
}

func TestWarmRefused(t *testing.T) {
	g := generator(t, session(t, llama(), nacre.Options{Threads: 1}), generate.Options{})
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		ctx      context.Context
		g        *generate.Generator
		prompt   int
		sampling generate.Sampling
		want     error
	}{
		{context.Background(), g, -1, generate.Sampling{}, nacre.ErrOption},
		{context.Background(), g, 1, generate.Sampling{TopP: 2}, nacre.ErrOption},
		{context.Background(), nil, 1, generate.Sampling{}, nacre.ErrClosed},
		{ended, g, 1, generate.Sampling{}, context.Canceled},
	} {
		if err := c.g.Warm(c.ctx, c.prompt, c.sampling); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.sampling, err, c.want)
		}
	}
}

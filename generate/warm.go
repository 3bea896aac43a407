package generate

import (
	"context"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
)

// Warm makes the plans of a prompt of that many tokens and of the tokens after it, and packs the
// weights, so that the first sequence takes no longer than later ones. It computes nothing. The
// error is nacre.ErrOption if prompt is negative, or as for Start.
func (g *Generator) Warm(ctx context.Context, prompt int, s Sampling) (err error) {
	defer guard.At(g.file()).End(&err)
	switch {
	case !g.made():
		return errNotMade
	case prompt < 0:
		return errorf(nacre.ErrOption, "%s: a prompt of %d tokens", g.file(), prompt)
	}
	if err := s.Validate(); err != nil {
		return err
	}
	r, err := g.decoder.newRunner(ctx, g.chunk, g.room(prompt, s.MaxTokens), g.options.Original, g.top(&s))
	if err != nil {
		return err
	}
	defer r.close()
	for _, n := range []int{min(prompt, max(g.chunk, r.first)), 1} {
		if err := r.plan(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// plan makes the plan of a first run of n tokens.
func (r *runner) plan(ctx context.Context, n int) (err error) {
	if n == 0 {
		return nil
	}
	inputs := r.inputs(make([]int32, n))
	if r.stream == nil {
		_, err = r.session.Plan(ctx, inputs)
	} else {
		_, err = r.stream.Plan(ctx, inputs)
	}
	return err
}

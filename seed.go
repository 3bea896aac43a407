package nacre

import (
	"context"

	"github.com/nacre-ml/nacre/runtime/op"
)

// WithSeed returns a context whose runs draw random numbers from seed, for nodes without a seed of
// their own, such as those that add noise in a network of speech. Each run with a new context of the
// same seed draws the same numbers, on any number of threads; runs that share one draw one after the
// other. A graph that was optimised or bound to a device in another way may draw other numbers.
func WithSeed(ctx context.Context, seed uint64) context.Context { return op.WithSeed(ctx, seed) }

package op

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
)

// seedKey is the key of a context's *seeded.
type seedKey struct{}

// seeded is a sequence of random numbers that one run after the other draws from.
type seeded struct {
	seed  uint64
	drawn atomic.Uint64
}

// WithSeed returns a context whose runs draw the random numbers of nodes without a seed of their own
// from seed: the same numbers in each run with a new such context. Runs that share a context draw
// one after the other.
func WithSeed(ctx context.Context, seed uint64) context.Context {
	return context.WithValue(ctx, seedKey{}, &seeded{seed: seed})
}

// Random returns 64 random bits for a node of a run: the next ones of the context's seed, or bits
// that differ from run to run.
func Random(ctx context.Context) uint64 {
	if ctx == nil {
		return rand.Uint64()
	}
	s, ok := ctx.Value(seedKey{}).(*seeded)
	if !ok {
		return rand.Uint64()
	}
	// SplitMix64 (G. Steele, D. Lea, C. Flood, 2014).
	z := s.seed + s.drawn.Add(1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

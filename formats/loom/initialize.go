package loom

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// mostInitialized bounds the number of weights made for a spec.
const mostInitialized = 1 << 28

// Initialize returns n weights for a store, uniform in [-0.1, 0.1) as in Loom. They depend only on
// the seed and on the path of the layer.
func Initialize(seed uint64, path string, n int) []float32 {
	list, _ := initialize(nil, seed, path, n)
	return list
}

// initialize is Initialize, but fails if the budget's context is done.
func initialize(b *budget.Budget, seed uint64, path string, n int) ([]float32, error) {
	h := fnv.New64a()
	h.Write([]byte(path))
	from := rand.New(rand.NewPCG(seed, h.Sum64()))
	list := make([]float32, n)
	for at := 0; at < n; at += chunk {
		if err := b.Err(); err != nil {
			return nil, err
		}
		part := list[at:min(at+chunk, n)]
		for i := range part {
			part[i] = 0.2*from.Float32() - 0.1
		}
	}
	return list, nil
}

// initialize makes weights, in the layer's dtype, for every layer of a spec that needs them.
func (w *lowerer) initialize(o container.Lowering) error {
	if !w.net.Spec {
		return nil
	}
	if err := w.net.countable(); err != nil {
		return err
	}
	var problem error
	w.net.walk(func(path func() string, l *Layer) {
		if problem != nil {
			return
		}
		n, err := l.Count()
		if n > 0 && err == nil {
			err = o.Take(4*n + l.DType.Bytes(n))
		}
		if n > 0 && err == nil {
			w.inits[path()], err = l.seeded(o, path(), n)
		}
		problem = err
	})
	return problem
}

// seeded returns n weights of a layer, drawn from the seed.
func (l *Layer) seeded(o container.Lowering, path string, n int) (*graph.Initializer, error) {
	w, err := initialize(o.Budget, o.Seed, path, n)
	if err != nil {
		return nil, err
	}
	b, err := newStore(o.Budget, l.DType, w)
	if err != nil {
		return nil, err
	}
	o.Budget.Release(int64(4 * n))
	if err := b.fit(l); err != nil {
		return nil, err
	}
	list, err := b.initializers(path)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// countable returns an error if the layers need more than mostInitialized weights.
func (n *Network) countable() error {
	total := 0
	var problem error
	n.walk(func(path func() string, l *Layer) {
		k, err := l.Count()
		if err == nil && k > mostInitialized-total {
			err = fmt.Errorf("the layers need more than %d weights, which are not made without a file that has them", mostInitialized)
		}
		if total += k; err != nil && problem == nil {
			problem = fmt.Errorf("%s (%v): %w", path(), l.Type, err)
			total = 0
		}
	})
	return problem
}

package loom

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
)

// mostInitialized bounds the weights that a spec is given.
const mostInitialized = 1 << 28

// Initialize returns weights for a store: n numbers that are uniform in [-0.1, 0.1), as
// Loom's are. They depend on the seed and on the path of the layer, and on nothing else.
func Initialize(seed uint64, path string, n int) []float32 {
	h := fnv.New64a()
	h.Write([]byte(path))
	from := rand.New(rand.NewPCG(seed, h.Sum64()))
	list := make([]float32, n)
	for i := range list {
		list[i] = 0.2*from.Float32() - 0.1
	}
	return list
}

// initialize gives every layer of a spec that needs weights some, in its dtype.
func (w *lowerer) initialize(seed uint64) error {
	total := 0
	var problem error
	need := func(path func() string, l *Layer, fill bool) {
		n, err := l.Count()
		if err == nil && n > mostInitialized-total {
			err = fmt.Errorf("the layers need more than %d weights, which are not made without a file that has them", mostInitialized)
		}
		if err != nil && problem == nil {
			problem = fmt.Errorf("%s (%v): %w", path(), l.Type, err)
		}
		if problem != nil || n == 0 {
			return
		}
		if total += n; !fill {
			return
		}
		b := NewStore(l.DType, Initialize(seed, path(), n))
		if problem = b.fit(l); problem != nil {
			return
		}
		list, err := b.initializers(path())
		if err != nil {
			problem = err
			return
		}
		for _, init := range list {
			w.inits[init.Name] = init
		}
	}
	for _, fill := range []bool{false, true} {
		total = 0
		w.net.walk(func(path func() string, l *Layer) { need(path, l, fill) })
	}
	return problem
}

package quantize

import (
	"sync"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
)

// search is the code for the sums of searches for scales: the best kernel of the processor, or
// Search.Compute in a program without kernels.
var search = sync.OnceValues(func() (func(*packed.Search), error) {
	if bindings.Available() != nil {
		return (*packed.Search).Compute, nil
	}
	isa, err := bindings.DefaultISA()
	if err != nil {
		return nil, err
	}
	k, err := bindings.Select("f32_search", isa)
	return searchWith(k), err
})

// searchWith returns a function that computes the sums of a search with a kernel.
func searchWith(k bindings.Kernel) func(*packed.Search) {
	return func(s *packed.Search) {
		k.Search(s.Size, s.Tries, s.Low, s.High, s.Table, s.X[:], s.W[:], s.Inverse[:], s.Shift[:], s.Sums[:])
	}
}

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
	if err != nil {
		return nil, err
	}
	whole, err := bindings.Select("f32_whole", isa)
	return searchWith(k, whole), err
})

// searchWith returns a function that computes a search with kernels.
func searchWith(k, whole bindings.Kernel) func(*packed.Search) {
	return func(s *packed.Search) {
		if s.Reach > 0 {
			whole.Whole(s.Size, s.Reach, s.Low, s.High, s.Table, s.X[:], s.W[:], s.Unit[:], s.Inverse[:], s.Least, s.Most,
				s.Whole[:], s.Sums[:])
			return
		}
		k.Search(s.Size, s.Tries, s.Low, s.High, s.Table, s.X[:], s.W[:], s.Inverse[:], s.Shift[:], s.Sums[:])
	}
}

package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/nacre-ml/nacre/internal/byname"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// BenchmarkLayouts times the networks of images on one thread with plain values, with the layouts
// that estimates choose, and with blocked layouts wherever possible.
func BenchmarkLayouts(b *testing.B) {
	policies := map[string]runtime.LayoutPolicy{"plain": runtime.LayoutsPlain, "cost": runtime.LayoutsByCost,
		"blocked": runtime.LayoutsBlocked}
	for _, top := range topologies.All[:4] {
		for _, name := range []string{"plain", "cost", "blocked"} {
			b.Run(fmt.Sprintf("%s/%s", top.Name, name), func(b *testing.B) {
				s, err := byname.New(top.Build(), runtime.Options{Threads: 1, Layouts: policies[name]})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				in := map[string]*tensor.Tensor{}
				for _, v := range s.Inputs() {
					shape, _ := v.Type.Dims.Concrete()
					in[v.Name] = tensor.New(v.Type.DType, shape...)
				}
				for b.Loop() {
					if _, err := s.Run(context.Background(), in); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

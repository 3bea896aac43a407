package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// BenchmarkExperts times a mixture of 32 experts, of which each row takes 4, on one thread. Weights
// are cast to float32, as the networks of files in blocks have them. "GB/s" is the bytes of the
// chosen experts of one row over the time.
func BenchmarkExperts(b *testing.B) {
	for _, d := range []tensor.DType{tensor.Q4_0, tensor.Q8_0, tensor.F16} {
		for _, rows := range []int{1, 32} {
			b.Run(fmt.Sprintf("%v/rows=%d", d, rows), func(b *testing.B) { benchmarkExperts(b, d, rows) })
		}
	}
}

func benchmarkExperts(b *testing.B, d tensor.DType, rows int) {
	const experts, chosen, size, deep = 32, 4, 2048, 1024
	r := rand.New(rand.NewPCG(3, 4))
	g := graph.NewBuilder("experts")
	weight := func(name string, d tensor.DType, shape ...int) string {
		t := tensor.New(d, shape...)
		for i := range t.Bytes() {
			t.Bytes()[i] = byte(r.Uint32()) & 0x9f // magnitudes below 2^-8 as halves
		}
		w := g.Weight(&graph.Initializer{Name: name, Tensor: t})
		if d == tensor.F32 {
			return w
		}
		return g.Op("Cast", []string{w}, graph.IntAttr("to", int64(tensor.F32.Code())))
	}
	x := g.Input("x", graph.TensorOf(tensor.F32, graph.DimsOf([]int{rows, size})))
	router := g.Op("Gemm", []string{x, weight("router", tensor.F16, experts, size)}, graph.IntAttr("transB", 1))
	y := g.Node("com.microsoft", "MoE", []string{x, router, weight("gate", d, experts, deep, size), "", weight("down", d, experts, size, deep), "",
		weight("up", d, experts, deep, size)}, 1, graph.IntAttr("k", chosen), graph.StringAttr("activation_type", "silu"))[0]
	g.Output(y, "y", graph.TensorOf(tensor.F32, graph.DimsOf([]int{rows, size})))
	m, err := nacre.NewModel(g.Model(&graph.Model{}))
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	list := make([]float32, rows*size)
	for i := range list {
		list[i] = float32(r.NormFloat64())
	}
	in, err := nacre.NewTensor(list, rows, size)
	if err != nil {
		b.Fatal(err)
	}
	run := func() {
		if _, err := s.Run(context.Background(), map[string]*nacre.Tensor{"x": in}); err != nil {
			b.Fatal(err)
		}
	}
	run()
	for b.Loop() {
		run()
	}
	b.ReportMetric(float64(d.Bytes(chosen*3*size*deep))/1e9/(b.Elapsed().Seconds()/float64(b.N)), "GB/s")
}

package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// BenchmarkExperts times a mixture of 32 experts, of which each row takes 4, on one thread. Weights
// are cast to float32, as the networks of files in blocks have them. "GB/s" is the bytes of the
// chosen experts of one row over the time.
//
// "fast" permits rows to be rounded to 8 bits.
func BenchmarkExperts(b *testing.B) {
	for _, d := range []tensor.DType{tensor.Q4_0, tensor.Q4_K, tensor.Q8_0, tensor.F16} {
		for _, rows := range []int{1, 32, 128} {
			b.Run(fmt.Sprintf("%v/exact/rows=%d", d, rows), func(b *testing.B) { benchmarkExperts(b, d, rows, nacre.AccuracyExact) })
			if d.Blocks() != nil {
				b.Run(fmt.Sprintf("%v/fast/rows=%d", d, rows), func(b *testing.B) { benchmarkExperts(b, d, rows, nacre.AccuracyFast) })
			}
		}
	}
}

func benchmarkExperts(b *testing.B, d tensor.DType, rows int, accuracy nacre.Accuracy) {
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
	s, err := m.NewSession(nacre.Options{Threads: 1, Accuracy: accuracy})
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

// BenchmarkQMoE times a mixture of 32 experts with codes of few bits in blocks of 32, of which each
// row takes 4, on one thread, in turn with ONNX Runtime. level=4 permits rows to be rounded to 8
// bits.
func BenchmarkQMoE(b *testing.B) {
	for _, rows := range []int{1, 32} {
		for _, bits := range []int{4, 8} {
			for _, level := range []int{4, 0} {
				name := fmt.Sprintf("bits=%d/level=%d/rows=%d", bits, level, rows)
				b.Run(name, func(b *testing.B) {
					path := save(b, topologies.Topology{Name: "experts", Build: func() *graph.Model { return codedExperts(rows, bits, level) }})
					s, inputs := open(b, path, nacre.Options{Threads: 1})
					peer, err := startPeer(b, path, 1)
					alone(b, err)
					versus(b, 1, func() error {
						_, err := s.Run(context.Background(), inputs)
						return err
					}, peer, "run")
				})
			}
		}
	}
}

// codedExperts returns a mixture with random codes, and scales that keep activations near one.
func codedExperts(rows, bits, level int) *graph.Model {
	const experts, chosen, size, deep, block = 32, 4, 1024, 1024, 32
	r := rand.New(rand.NewPCG(5, 6))
	g := graph.NewBuilder("experts")
	weight := func(name string, d tensor.DType, shape ...int) string {
		t := tensor.New(d, shape...)
		for i := range t.Bytes() {
			t.Bytes()[i] = byte(r.Uint32())
		}
		if d == tensor.F32 {
			for i := range tensor.View[float32](t) {
				tensor.View[float32](t)[i] = float32((0.75 + r.Float64()/2) * math.Sqrt(12.0/size) / math.Exp2(float64(bits)))
			}
		}
		return g.Weight(&graph.Initializer{Name: name, Tensor: t})
	}
	layer := func(name string, out, in int) []string {
		return []string{weight(name, tensor.U8, experts, out, in*bits/8), weight(name+" scales", tensor.F32, experts, out, in/block), ""}
	}
	rowsOf := func(n int) graph.Type { return graph.TensorOf(tensor.F32, graph.DimsOf([]int{rows, n})) }
	x := g.Input("x", rowsOf(size))
	router := g.Op("MatMul", []string{x, weight("router", tensor.F32, size, experts)})
	inputs := slices.Concat([]string{x, router}, layer("up", deep, size), layer("down", size, deep))
	g.Output(g.Node("com.microsoft", "QMoE", inputs, 1, graph.IntAttr("k", chosen), graph.StringAttr("activation_type", "silu"),
		graph.IntAttr("expert_weight_bits", int64(bits)), graph.IntAttr("block_size", block), graph.IntAttr("accuracy_level", int64(level)))[0],
		"y", rowsOf(size))
	return g.Model(&graph.Model{})
}

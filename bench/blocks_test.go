package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// BenchmarkBlocks times chains of products with weights in blocks of each of ggml's types, 4096 by
// 4096, on one thread. "GB/s" is the bytes of blocks over the best time, "GOPS" the operations over it, and
// "of-read" is the part of the rate at which a thread reads memory.
func BenchmarkBlocks(b *testing.B) {
	for _, rows := range []int{1, 512} {
		for _, of := range packed.BlockTypes {
			d := tensor.OfBlocks(of)
			for name, accuracy := range map[string]nacre.Accuracy{"fast": nacre.AccuracyFast, "exact": nacre.AccuracyExact} {
				b.Run(fmt.Sprintf("%v/%s/rows=%d", d, name, rows), func(b *testing.B) { benchmarkBlocks(b, d, accuracy, rows) })
			}
		}
	}
}

func benchmarkBlocks(b *testing.B, d tensor.DType, accuracy nacre.Accuracy, rows int) {
	const side = 4096
	count := max(1, (128<<20)/d.Bytes(side*side)/rows)
	m, err := nacre.NewModel(blockChain(d, side, rows, count))
	needs(b, err)
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Threads: 1, Accuracy: accuracy})
	needs(b, err)
	defer s.Close()
	x, err := nacre.NewTensor(make([]float32, rows*side), rows, side)
	needs(b, err)
	best := math.Inf(1)
	for b.Loop() {
		start := time.Now()
		_, err := s.Run(context.Background(), map[string]*nacre.Tensor{"x0": x})
		needs(b, err)
		best = min(best, time.Since(start).Seconds())
	}
	rate := float64(count*d.Bytes(side*side)) / best
	b.ReportMetric(rate/1e9, "GB/s")
	b.ReportMetric(rate/readRate(b), "of-read")
	b.ReportMetric(2*float64(count*rows)*side*side/best/1e9, "GOPS")
}

func needs(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// setScales makes the scales of a random block ordinary numbers.
func setScales(of *packed.Blocks, block []byte, scale packed.F16) {
	for _, at := range of.Scales {
		block[at], block[at+1] = byte(scale), byte(scale>>8)
	}
	switch of {
	case packed.MXFP4:
		block[0] = 116
	case packed.NVFP4:
		copy(block, []byte{8, 16, 24, 32})
	case packed.IQ1_M:
		block[55] = block[55]&15 | 0x10
	}
}

// blockChain returns products of rows with square matrices of random blocks.
func blockChain(d tensor.DType, side, rows, count int) *graph.Model {
	r := rand.New(rand.NewPCG(9, 10))
	of := d.Blocks()
	typ := graph.TensorOf(tensor.F32, graph.DimsOf([]int{rows, side}))
	g := &graph.Graph{Name: "chain", Inputs: []*graph.Value{{Name: "x0", Type: typ}}}
	for i := range count {
		w := tensor.New(d, side, side)
		data := w.Bytes()
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		for j := 0; j < len(data); j += of.Bytes {
			setScales(of, data[j:j+of.Bytes], packed.ToF16(1/float32(side)))
		}
		name := func(s string) string { return fmt.Sprint(s, i) }
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: name("w"), Tensor: w})
		g.Nodes = append(g.Nodes,
			&graph.Node{Op: "Cast", Version: 13, Inputs: []string{name("w")}, Outputs: []string{name("f")}, Attrs: []*graph.Attr{graph.IntAttr("to", 1)}},
			&graph.Node{Op: "Gemm", Version: 13, Inputs: []string{name("x"), name("f")}, Outputs: []string{fmt.Sprint("x", i+1)},
				Attrs: []*graph.Attr{graph.IntAttr("transB", 1)}})
	}
	g.Outputs = []*graph.Value{{Name: fmt.Sprint("x", count), Type: typ}}
	return &graph.Model{Producer: "nacre bench", IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: g}
}

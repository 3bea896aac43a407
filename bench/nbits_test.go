package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// BenchmarkNBits times chains of products with weights of few bits, 4096 by 4096 in blocks of 32, on
// one thread, in turn with ONNX Runtime. level=4 permits rows to be rounded to 8 bits. "GB/s" is the
// bytes of weights over the best time, and "of-read" its part of the rate at which a thread reads
// memory. Chains for few rows are 256 MB long, and shorter for more.
func BenchmarkNBits(b *testing.B) {
	const longest = 256 << 20
	for _, rows := range []int{1, 4, 8, 32, 128, 512} {
		for _, bits := range []int{4, 8, 2} {
			for _, level := range []int{4, 0} {
				c := &codeChain{side: 4096, bits: bits, level: level, rows: rows}
				c.count = max(1, longest/c.layer()/max(1, rows/4))
				b.Run(fmt.Sprintf("bits=%d/level=%d/rows=%d", bits, level, rows), c.benchmark)
			}
		}
	}
}

// BenchmarkDequantized times the chains of BenchmarkNBits without rounded rows as exporters write
// them: DequantizeLinear of constant codes before each MatMul.
func BenchmarkDequantized(b *testing.B) {
	const longest = 256 << 20
	for _, rows := range []int{1, 8, 128} {
		for _, bits := range []int{4, 8} {
			c := &codeChain{side: 4096, bits: bits, rows: rows, linear: true}
			c.count = max(1, longest/c.layer()/max(1, rows/4))
			b.Run(fmt.Sprintf("bits=%d/rows=%d", bits, rows), c.benchmark)
		}
	}
}

// codeChain is products of rows with square matrices of codes, one after the other.
type codeChain struct {
	side, bits, level, rows, count int
	linear                         bool // DequantizeLinear and MatMul, in place of MatMulNBits
}

const codeBlock = 32

// layer returns the bytes of the codes and scales of one product.
func (c *codeChain) layer() int { return c.side*c.side*c.bits/8 + c.side*c.side/codeBlock*4 }

func (c *codeChain) benchmark(b *testing.B) {
	path := save(b, topologies.Topology{Name: "chain", Build: c.model})
	s, inputs := open(b, path, nacre.Options{Threads: 1})
	peer, err := startPeer(b, path, 1)
	alone(b, err)
	best := math.Inf(1)
	versus(b, 1, func() error {
		start := time.Now()
		_, err := s.Run(context.Background(), inputs)
		best = min(best, time.Since(start).Seconds())
		return err
	}, peer, "run")
	rate := float64(c.count*c.layer()) / best
	b.ReportMetric(rate/1e9, "GB/s")
	b.ReportMetric(rate/readRate(b), "of-read")
}

// model returns the chain with random codes, and scales that keep activations near one.
func (c *codeChain) model() *graph.Model {
	r := rand.New(rand.NewPCG(7, 8))
	g := &graph.Graph{Name: "chain"}
	typ := graph.TensorOf(tensor.F32, graph.DimsOf([]int{c.rows, c.side}))
	g.Inputs = []*graph.Value{{Name: "x0", Type: typ}}
	blocks := c.side / codeBlock
	spread := math.Exp2(float64(c.bits)) / math.Sqrt(12)
	for i := range c.count {
		codes := tensor.New(tensor.U8, c.side, blocks, codeBlock*c.bits/8)
		for j := range tensor.View[byte](codes) {
			tensor.View[byte](codes)[j] = byte(r.Uint32())
		}
		scales := tensor.New(tensor.F32, c.side*blocks)
		for j := range tensor.View[float32](scales) {
			tensor.View[float32](scales)[j] = float32((0.75 + r.Float64()/2) / spread / math.Sqrt(float64(c.side)))
		}
		name := func(s string) string { return fmt.Sprint(s, i) }
		inits := []*graph.Initializer{{Name: name("codes"), Tensor: codes}, {Name: name("scales"), Tensor: scales}}
		g.Initializers = append(g.Initializers, inits...)
		if c.linear {
			g.Nodes = append(g.Nodes, c.dequantized(inits[0], inits[1], i)...)
			continue
		}
		g.Nodes = append(g.Nodes, &graph.Node{
			Domain: "com.microsoft", Op: "MatMulNBits", Version: 1, Inputs: []string{name("x"), name("codes"), name("scales")}, Outputs: []string{fmt.Sprint("x", i+1)},
			Attrs: []*graph.Attr{
				graph.IntAttr("K", int64(c.side)), graph.IntAttr("N", int64(c.side)), graph.IntAttr("bits", int64(c.bits)),
				graph.IntAttr("block_size", codeBlock), graph.IntAttr("accuracy_level", int64(c.level)),
			},
		})
	}
	g.Outputs = []*graph.Value{{Name: fmt.Sprint("x", c.count), Type: typ}}
	return &graph.Model{Producer: "nacre bench", IR: 8, Opsets: []graph.Opset{{Version: 21}, {Domain: "com.microsoft", Version: 1}}, Graph: g}
}

// dequantized returns the nodes of product i with columns of codes. It gives codes and scales the
// types and shapes that they read.
func (c *codeChain) dequantized(codes, scales *graph.Initializer, i int) []*graph.Node {
	d := tensor.I4
	if c.bits == 8 {
		d = tensor.I8
	}
	for _, part := range []struct {
		init *graph.Initializer
		d    tensor.DType
		rows int
	}{{codes, d, c.side}, {scales, tensor.F32, c.side / codeBlock}} {
		t, err := tensor.FromBytes(part.d, tensor.Shape{part.rows, c.side}, part.init.Tensor.Bytes())
		if err != nil {
			panic(err) // the size is right
		}
		part.init.Tensor = t
	}
	w := fmt.Sprint("w", i)
	return []*graph.Node{
		{Op: "DequantizeLinear", Version: 21, Inputs: []string{codes.Name, scales.Name}, Outputs: []string{w},
			Attrs: []*graph.Attr{graph.IntAttr("axis", 0), graph.IntAttr("block_size", codeBlock)}},
		{Op: "MatMul", Version: 21, Inputs: []string{fmt.Sprint("x", i), w}, Outputs: []string{fmt.Sprint("x", i+1)}},
	}
}

// readRate returns the best rate, in bytes per second, at which a thread reads memory that no cache
// holds.
func readRate(b *testing.B) (best float64) {
	buf := bindings.Alloc(256 << 20)
	if buf == nil {
		b.Fatal("no memory")
	}
	defer bindings.Free(buf)
	for i := 0; i < len(buf); i += 4096 {
		buf[i] = 1
	}
	for range 8 {
		best = max(best, bindings.ProbeRead(buf))
	}
	return best
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// kernel is an operator alone, with the multiply-adds and the bytes that it takes at least.
type kernel struct {
	what        string
	build       func(b *graph.Builder) (y string)
	sums, bytes int
	goal        time.Duration // on an H200; 0 for none
}

func floats(shape ...int) graph.Type { return graph.TensorOf(tensor.F32, graph.DimsOf(shape)) }

// product is float32 [m,k] by a constant [k,n].
func product(m, n, k int) kernel {
	return kernel{fmt.Sprintf("product %dx%dx%d", m, n, k), func(b *graph.Builder) string {
		return b.Op("MatMul", []string{b.Input("x", floats(m, k)), constant(b, k, n)})
	}, m * n * k, 4 * (m*k + k*n + m*n), 0}
}

// codes is float32 [m,k] by weights of 4 bits in blocks of 32. Rows are rounded to bytes if the level,
// accuracy_level of MatMulNBits, is 4.
func codes(m, n, k, level int) kernel {
	const block = 32
	what := fmt.Sprintf("4-bit product %dx%dx%d", m, n, k)
	if level == 4 {
		what += ", rounded rows"
	}
	return kernel{what, func(b *graph.Builder) string {
		list, scales := tensor.New(tensor.U8, n, k/block, block/2), tensor.New(tensor.F32, n*k/block)
		for i := range list.Bytes() {
			list.Bytes()[i] = byte(i * 37)
		}
		for i := range tensor.View[float32](scales) {
			tensor.View[float32](scales)[i] = 1 / float32(k)
		}
		return b.Node("com.microsoft", "MatMulNBits", []string{b.Input("x", floats(m, k)), b.Constant(list),
			b.Constant(scales)}, 1, graph.IntAttr("K", int64(k)), graph.IntAttr("N", int64(n)), graph.IntAttr("bits", 4),
			graph.IntAttr("block_size", block), graph.IntAttr("accuracy_level", int64(level)))[0]
	}, m * n * k, 4*m*k + n*k/2 + 4*n*k/block + 4*m*n, 0}
}

// inBlocks is float32 [m,k] by weights [n,k] in blocks of a type.
func inBlocks(of *packed.Blocks, m, n, k int) kernel {
	w := func() *tensor.Tensor {
		t := tensor.New(tensor.OfBlocks(of), n, k)
		for i := range t.Bytes() {
			t.Bytes()[i] = byte(i * 37)
		}
		for at := 0; at < len(t.Bytes()); at += of.Bytes {
			for _, i := range of.Scales {
				t.Bytes()[at+i], t.Bytes()[at+i+1] = 0, 4 // the least normal float16
			}
		}
		return t
	}
	return kernel{fmt.Sprintf("%v product %dx%dx%d", tensor.OfBlocks(of), m, n, k), func(b *graph.Builder) string {
		wide := b.Op("Cast", []string{b.Constant(w())}, graph.IntAttr("to", int64(tensor.F32.Code())))
		return b.Op("Gemm", []string{b.Input("x", floats(m, k)), wide}, graph.IntAttr("transB", 1))
	}, m * n * k, 4*m*k + n*k/of.Elements*of.Bytes + 4*m*n, 0}
}

// convolution has square filters of side taps over square images, as many channels as filters, and
// the given groups.
func convolution(side, channels, groups, taps int) kernel {
	each := channels / groups
	return kernel{fmt.Sprintf("convolution %dx%d of %d channels at %dx%d, %d groups", taps, taps, channels, side, side, groups),
		func(b *graph.Builder) string {
			pad := int64(taps / 2)
			return b.Op("Conv", []string{b.Input("x", floats(1, channels, side, side)), constant(b, channels, each, taps, taps)},
				graph.IntsAttr("pads", pad, pad, pad, pad), graph.IntAttr("group", int64(groups)))
		}, side * side * channels * each * taps * taps, 4 * (2*side*side*channels + channels*each*taps*taps), 0}
}

// attention is heads of rows queries with as many keys, of 64 elements.
func attention(heads, rows int) kernel {
	const size = 64
	return kernel{fmt.Sprintf("attention of %d heads, %d rows", heads, rows), func(b *graph.Builder) string {
		in := func(name string) string { return b.Input(name, floats(1, heads, rows, size)) }
		return b.Op("Attention", []string{in("q"), in("k"), in("v")})
	}, 2 * heads * rows * rows * size, 4 * 4 * heads * rows * size, 0}
}

// elementwise is operators of which memory is the bound: values are the tensors read and written.
func elementwise(op string, rows, cols, inputs int, attrs ...*graph.Attr) kernel {
	return kernel{fmt.Sprintf("%s %dx%d", op, rows, cols), func(b *graph.Builder) string {
		var in []string
		for i := range inputs {
			in = append(in, b.Input(fmt.Sprint("x", i), floats(rows, cols)))
		}
		if op == "LayerNormalization" {
			in = append(in, constant(b, cols), constant(b, cols))
		}
		return b.Op(op, in, attrs...)
	}, 0, 4 * (inputs + 1) * rows * cols, 0}
}

// constant returns a weight of numbers near 0.
func constant(b *graph.Builder, shape ...int) string {
	t := tensor.New(tensor.F32, shape...)
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(math.Sin(float64(i))) / 16
	}
	return b.Constant(t)
}

// allKernels are the kernels of the table, and those of quick measurements.
func allKernels(quick bool) []kernel {
	if quick {
		return []kernel{product(1, 64, 64), product(32, 64, 48), codes(1, 64, 64, 0), codes(1, 64, 64, 4),
			inBlocks(packed.Q4_K, 16, 64, 256), convolution(16, 16, 1, 3), convolution(16, 16, 16, 3), attention(2, 16),
			elementwise("Softmax", 8, 64, 1), elementwise("LayerNormalization", 8, 64, 1), elementwise("Add", 64, 64, 2)}
	}
	list := []kernel{product(1, 4096, 4096), product(8, 4096, 4096), product(128, 768, 768), product(128, 3072, 768),
		product(128, 768, 3072), product(4096, 4096, 4096)}
	for _, m := range []int{1, 2, 4, 8, 128} {
		list = append(list, codes(m, 5632, 2048, 0))
		if m == 1 {
			list[len(list)-1].goal = 7 * time.Microsecond
		}
	}
	list = append(list, codes(1, 2048, 2048, 0), codes(1, 2048, 5632, 0), codes(1, 32000, 2048, 0))
	for _, m := range []int{1, 8, 128} {
		list = append(list, codes(m, 5632, 2048, 4))
	}
	for _, m := range []int{1, 8, 128, 512} {
		list = append(list, inBlocks(packed.Q4_K, m, 5632, 2048))
	}
	for stage := range 4 {
		side, channels := 56>>stage, 64<<stage
		list = append(list, convolution(side, channels, 1, 3), convolution(side, channels, 1, 1))
	}
	list = append(list, convolution(56, 72, 72, 3), convolution(14, 480, 480, 3), convolution(14, 672, 672, 5),
		attention(12, 128), attention(12, 1024))
	for _, rows := range []int{128, 8192} {
		for _, op := range []string{"Softmax", "LayerNormalization", "Relu", "Erf"} {
			list = append(list, elementwise(op, rows, 768, 1))
		}
		list = append(list, elementwise("Add", rows, 768, 2))
	}
	return list
}

// kernels measures operators alone by the device's clock, beside the greater of the times that
// their sums and their bytes take at the ceilings.
func (b *bench) kernels() (list []measurement) {
	for _, k := range allKernels(b.quick) {
		list = append(list, measurement{k.what, func() ([]row, error) { return b.kernel(k) }})
	}
	return list
}

func (b *bench) kernel(k kernel) (list []row, err error) {
	g := graph.NewBuilder("kernel")
	y := k.build(g)
	g.Output(y, "y", graph.TensorOf(tensor.F32, nil))
	m, s, err := sessionOf(g.Model(&graph.Model{Producer: "nacre bench", IR: 10}), b.whole)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close(), m.Close()) }()
	inputs, err := randomInputs(s)
	if err != nil {
		return nil, err
	}
	least := time.Duration(math.MaxInt64)
	for i := range b.runs {
		if i == 1 {
			if err := b.whole.Warm(b.warm / 10); err != nil {
				return nil, err
			}
		}
		taken, err := onDevice(s, inputs)
		if err != nil {
			return nil, err
		}
		least = min(least, taken)
	}
	const giga = 1e9
	seconds := max(least.Seconds(), 1e-9)
	r := row{what: fmt.Sprintf("%s, %.1f us", k.what, 1e6*seconds), rate: float64(k.bytes) / seconds / giga,
		ceiling: b.memory / giga, unit: "GB/s", of: "copy"}
	if float64(k.sums)/b.sums > float64(k.bytes)/b.memory {
		r.rate, r.ceiling, r.unit, r.of = 2*float64(k.sums)/seconds/giga, 2*b.sums/giga, "GFLOP/s", "multiply-adds"
	}
	list = append(list, r)
	if k.goal > 0 {
		list = append(list, row{k.what, 1e-6 / seconds, 1e-6 / k.goal.Seconds(), "1/us", k.goal.String(), 1, nil})
	}
	return list, nil
}

// onDevice runs a session, and returns the time of the kernels on the device.
func onDevice(s *nacre.Session, inputs map[string]*nacre.Tensor) (taken time.Duration, err error) {
	values := map[string]nacre.Value{}
	for name, t := range inputs {
		values[name] = t
	}
	_, p, err := s.Profile(context.Background(), values)
	if err != nil {
		return 0, err
	}
	found := false
	for _, step := range p.Steps() {
		if strings.HasPrefix(step.How, "vulkan") && !strings.Contains(step.How, "transfer") {
			taken, found = taken+step.Time, true
		}
	}
	if !found {
		return 0, fmt.Errorf("the device does not compute it: %+v", p.Steps())
	}
	return taken, nil
}

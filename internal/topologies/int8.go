package topologies

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// residual is the parts of a residual network.
type residual struct {
	conv func(x string, in, out, kernel, stride int, active bool) string
	add  func(x, y string) string // with the activation after it
	pool func(x string) string
}

// resnet18 adds the network of 18 layers of He et al., "Deep Residual Learning for Image
// Recognition" (2015), up to its last convolution.
func (r residual) resnet18(x string) string {
	x = r.pool(r.conv(x, 3, 64, 7, 2, true))
	in := 64
	for stage := range 4 {
		out := 64 << stage
		for block := range 2 {
			stride, skip := 1, x
			if block == 0 && stage > 0 {
				stride = 2
				skip = r.conv(x, in, out, 1, 2, false)
			}
			x = r.add(r.conv(r.conv(x, in, out, 3, stride, true), out, out, 3, 1, false), skip)
			in = out
		}
	}
	return x
}

// ResNet18QDQ returns ResNet-18 as quantisers write it: unsigned activations of 8 bits, weights of
// 8 bits with a scale for each filter, and float32 operators between DequantizeLinear and
// QuantizeLinear.
func ResNet18QDQ() *graph.Model {
	q := &quantised{newBuilder("resnet18_int8"), map[string][]string{}}
	x := q.quantise(q.input("x", tensor.F32, 1, 3, 224, 224), 1.0/255, 0)
	x = residual{
		conv: func(x string, in, out, kernel, stride int, active bool) string {
			y := q.filtered(x, in, out, kernel, stride, 1)
			if active {
				return q.quantise(q.node("Relu", nil, y), step, 0)
			}
			return q.quantise(y, step, middle)
		},
		add: func(x, y string) string {
			return q.quantise(q.node("Relu", nil, q.node("Add", nil, q.float(x), q.float(y))), step, 0)
		},
		pool: func(x string) string { return q.quantise(q.pool(q.float(x), 3, 2, 1), step, 0) },
	}.resnet18(x)
	q.classifier(q.float(x), 512)
	return q.model()
}

// MobileNetV2QDQ returns the network of Sandler et al., "MobileNetV2" (2018), as quantisers write
// it.
func MobileNetV2QDQ() *graph.Model {
	q := &quantised{newBuilder("mobilenetv2_int8"), map[string][]string{}}
	least, most := q.scalar(0), q.scalar(6)
	active := func(x string) string { return q.quantise(q.node("Clip", nil, x, least, most), 6.0/255, 0) }
	x := q.quantise(q.input("x", tensor.F32, 1, 3, 224, 224), 1.0/255, 0)
	x = active(q.filtered(x, 3, 32, 3, 2, 1))
	in := 32
	for _, row := range [][4]int{{1, 16, 1, 1}, {6, 24, 2, 2}, {6, 32, 3, 2}, {6, 64, 4, 2}, {6, 96, 3, 1},
		{6, 160, 3, 2}, {6, 320, 1, 1}} {
		out, stride := row[1], row[3]
		for range row[2] {
			y, hidden := x, in*row[0]
			if row[0] > 1 {
				y = active(q.filtered(y, in, hidden, 1, 1, 1))
			}
			y = active(q.filtered(y, hidden, hidden, 3, stride, hidden))
			y = q.quantise(q.filtered(y, hidden, out, 1, 1, 1), step, middle)
			if stride == 1 && in == out {
				y = q.quantise(q.node("Add", nil, q.float(x), q.float(y)), step, middle)
			}
			x, in, stride = y, out, 1
		}
	}
	x = active(q.filtered(x, in, 1280, 1, 1, 1))
	q.classifier(q.float(x), 1280)
	return q.model()
}

// RegNetQDQ returns the network X of 1.6 GF of Radosavovic et al., "Designing Network Design
// Spaces" (2020), with groups of 24 channels, as quantisers write it.
func RegNetQDQ() *graph.Model {
	q := &quantised{newBuilder("regnet_int8"), map[string][]string{}}
	active := func(x string) string { return q.quantise(q.node("Relu", nil, x), step, 0) }
	x := q.quantise(q.input("x", tensor.F32, 1, 3, 224, 224), 1.0/255, 0)
	x = active(q.filtered(x, 3, 32, 3, 2, 1))
	in := 32
	for _, row := range [][2]int{{72, 2}, {168, 4}, {408, 10}, {912, 2}} {
		out, stride := row[0], 2
		for range row[1] {
			y := active(q.filtered(x, in, out, 1, 1, 1))
			y = active(q.filtered(y, out, out, 3, stride, out/24))
			y = q.quantise(q.filtered(y, out, out, 1, 1, 1), step, middle)
			if stride == 2 {
				x = q.quantise(q.filtered(x, in, out, 1, 2, 1), step, middle)
			}
			x = active(q.node("Add", nil, q.float(x), q.float(y)))
			in, stride = out, 1
		}
	}
	q.classifier(q.float(x), in)
	return q.model()
}

// filtered returns the convolution of a quantised value, as float32.
func (q *quantised) filtered(x string, in, out, kernel, stride, group int) string {
	k, s, p := int64(kernel), int64(stride), int64(kernel/2)
	return q.node("Conv", []*graph.Attr{ints("kernel_shape", k, k), ints("strides", s, s), ints("pads", p, p, p, p),
		integer("group", int64(group))}, q.float(x), q.filters(out, in/group, kernel), q.bias(out))
}

// The scale of activations, and their zero point if they are signed.
const (
	step   = 4.0 / 255
	middle = 128
)

// quantised adds operators on values of 8 bits.
type quantised struct {
	*builder
	points map[string][]string // scale and zero point of values
}

// quantise returns x as unsigned numbers of 8 bits.
func (q *quantised) quantise(x string, scale float32, zero uint8) string {
	z, err := tensor.From([]uint8{zero})
	if err != nil {
		panic(err)
	}
	point := []string{q.scalar(scale), q.constant(z)}
	y := q.node("QuantizeLinear", nil, x, point[0], point[1])
	q.points[y] = point
	return y
}

// float returns a quantised value as float32.
func (q *quantised) float(x string) string {
	return q.node("DequantizeLinear", nil, append([]string{x}, q.points[x]...)...)
}

// filters returns weights of 8 bits as float32.
func (q *quantised) filters(out, in, kernel int) string {
	t, scales := tensor.New(tensor.I8, out, in, kernel, kernel), tensor.New(tensor.F32, out)
	for i := range tensor.View[int8](t) {
		tensor.View[int8](t)[i] = int8(max(-127, min(127, math.Round(q.rand.NormFloat64()*40))))
	}
	for i := range out {
		tensor.View[float32](scales)[i] = float32(1 / (40 * math.Sqrt(float64(in*kernel*kernel))))
	}
	return q.node("DequantizeLinear", []*graph.Attr{integer("axis", 0)}, q.constant(t), q.constant(scales),
		q.constant(tensor.New(tensor.I8, out)))
}

// bias returns numbers of 32 bits as float32.
func (q *quantised) bias(out int) string {
	t := tensor.New(tensor.I32, out)
	for i := range out {
		tensor.View[int32](t)[i] = int32(q.rand.NormFloat64() * 100)
	}
	return q.node("DequantizeLinear", nil, q.constant(t), q.scalar(1e-3), q.constant(tensor.New(tensor.I32)))
}

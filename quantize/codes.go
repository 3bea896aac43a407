package quantize

import (
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// integersOf returns the codes of an integer type that are used. Codes of int8 leave out -128.
func integersOf(d tensor.DType) packed.Integers {
	switch l := d.Layout(); {
	case d == tensor.I8:
		return packed.Integers{Low: -127, High: 127}
	case d == tensor.U8:
		return packed.Integers{Low: 0, High: 255}
	case d == tensor.T2:
		return packed.Integers{Low: -1, High: 1}
	case l.Signed:
		return packed.Integers{Low: -1 << (l.Bits - 1), High: 1<<(l.Bits-1) - 1}
	default:
		return packed.Integers{Low: 0, High: 1<<l.Bits - 1}
	}
}

// codes gives y codes of type to with a scale for each row, as OINF has them.
func (j *job) codes(y, x *graph.Initializer, to Type, s *sums) error {
	t := x.Tensor
	shape := t.Shape()
	channels := shape[0]
	k := t.Len() / channels
	read, err := reader(t, k)
	if err != nil {
		return graph.Errorf(graph.ErrUnsupported, "weight %q: %w", x.Name, err)
	}
	scales := tensor.New(tensor.F32, channels)
	codes := make([]int8, t.Len())
	r := &rows{name: x.Name, source: t, n: channels, k: k, read: read}
	if len(shape) == 2 {
		if r.weigh, err = j.Importance.of(x.Name, shape); err != nil {
			return err
		}
	}
	list := tensor.View[float32](scales)
	r.encode = func(row int, x, w, y []float32) {
		list[row] = encodeRow(codes[row*k:][:k], to.dtype, x, w, y)
	}
	if *s, err = r.each(j.ctx, j.Threads, j.advance); err != nil {
		return err
	}
	y.Tensor = tensor.New(to.dtype, shape...)
	store(y.Tensor, codes)
	y.Meta = append(slices.Clone(x.Meta),
		graph.Pair{Key: "quant.scheme", Value: "symmetric"},
		graph.Pair{Key: "quant.scale", Kind: "per_channel", Data: scales},
		graph.Pair{Key: "quant.scale_axis", Value: "0"},
		graph.Pair{Key: "quant.zero_point", Kind: "none", Data: tensor.New(tensor.I32, 0)},
		graph.Pair{Key: "quant.zero_point_axis", Value: "0"})
	return nil
}

// encodeRow writes the codes of a row and the numbers that they stand for, and returns the scale.
func encodeRow(codes []int8, d tensor.DType, x, w, y []float32) float32 {
	if d == tensor.T1 {
		return encodeSigns(codes, x, w, y)
	}
	g := integersOf(d)
	scale := g.Scale(x, w)
	raw := make([]uint8, len(x))
	g.Codes(raw, x, scale, 0)
	for i, c := range raw {
		codes[i] = int8(int(c) + g.Low)
		y[i] = scale * float32(codes[i])
	}
	return scale
}

// encodeSigns is encodeRow for codes of -1 and 1.
func encodeSigns(codes []int8, x, w, y []float32) float32 {
	var sum, n float64
	for i, v := range x {
		weight := 1.0
		if w != nil {
			weight = float64(w[i])
		}
		sum += weight * float64(max(v, -v))
		n += weight
	}
	scale := float32(0)
	if n > 0 {
		scale = float32(sum / n)
	}
	for i, v := range x {
		codes[i], y[i] = 1, scale
		if v < 0 {
			codes[i], y[i] = -1, -scale
		}
	}
	return scale
}

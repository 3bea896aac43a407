package op

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// filter says which inputs an output of Resize is made of.
type filter struct {
	mode, coords, nearest     string
	cubicA                    float64
	excludeOutside, antialias bool
}

// taps is a filter worked out for one axis: for each output n weights, of the
// inputs from start on, all of which exist. weights[t*out+j] belongs to output j.
type taps struct {
	resized
	n       int
	start   []int32
	weights []float64
	outside []bool // outputs that extrapolation_value replaces; nil for none
}

// maxTaps bounds the weights of an axis before those of one input are joined.
const maxTaps = 1 << 28

// place is where in the input output j lies, as a position between elements.
func (f *filter) place(r resized, j int) float64 {
	x, in, out := float64(j), float64(r.in), float64(r.out)
	switch f.coords {
	case "half_pixel_symmetric":
		// The output's extent before it was rounded.
		exact := r.scale * in
		return in/2*(1-out/exact) + (x+0.5)/r.scale - 0.5
	case "pytorch_half_pixel":
		if r.out == 1 {
			return 0
		}
	case "align_corners":
		if exact := r.scale * in; exact != 1 {
			return x * (in - 1) / (exact - 1)
		}
		return 0
	case "asymmetric":
		return x / r.scale
	case "tf_half_pixel_for_nn":
		return (x + 0.5) / r.scale
	case "tf_crop_and_resize":
		if r.out > 1 {
			return r.begin*(in-1) + x*(r.end-r.begin)*(in-1)/(out-1)
		}
		return 0.5 * (r.begin + r.end) * (in - 1)
	}
	return (x+0.5)/r.scale - 0.5
}

// span returns how many inputs make an output, and the first of them relative to
// the last one before the output's place.
func (f *filter) span(scale float64) (first, n int) {
	radius := map[string]float64{"linear": 1, "cubic": 2}[f.mode]
	if f.antialias {
		radius /= min(scale, 1)
	}
	first = int(math.Floor(-radius)) + 1
	return first, 2 - 2*first
}

// weight is the filter at a distance from the output's place.
func (f *filter) weight(d float64) float64 {
	d = math.Abs(d)
	if f.mode == "linear" {
		return max(1-d, 0)
	}
	a := f.cubicA
	switch {
	case d <= 1:
		return ((a+2)*d-(a+3))*d*d + 1
	case d < 2:
		return ((a*d-5*a)*d+8*a)*d - 4*a
	}
	return 0
}

// taps works the filter out for an axis.
func (f *filter) taps(r resized) (*taps, error) {
	t := &taps{resized: r, start: make([]int32, r.out)}
	first, span := 0, 1
	if f.mode != "nearest" {
		first, span = f.span(r.scale)
		if span > maxTaps/max(r.out, 1) {
			return nil, graph.Mark(graph.ErrUnsupported, "axis %d takes %d inputs for each of %d outputs, too many", r.axis, span, r.out)
		}
	}
	t.n = min(span, r.in)
	t.weights = make([]float64, t.n*r.out)
	list := make([]float64, span)
	for j := range r.out {
		x := f.place(r, j)
		if f.coords == "tf_crop_and_resize" && (x < 0 || x > float64(r.in-1)) {
			if t.outside == nil {
				t.outside = make([]bool, r.out)
			}
			t.outside[j] = true
		}
		x = max(min(x, math.MaxInt32), math.MinInt32)
		if f.mode == "nearest" {
			t.start[j], t.weights[j] = int32(min(max(f.round(x), 0), r.in-1)), 1
			continue
		}
		// The element before the place, which lies in (0, 1] behind it.
		before := int(math.Ceil(x)) - 1
		f.fill(list, first, x-float64(before), r.scale)
		t.join(j, before+first, list, f.excludeOutside)
	}
	return t, nil
}

func (f *filter) round(x float64) int {
	switch f.nearest {
	case "round_prefer_floor":
		return int(math.Ceil(x - 0.5))
	case "round_prefer_ceil":
		return int(math.Floor(x + 0.5))
	case "ceil":
		return int(math.Ceil(x))
	}
	return int(math.Floor(x))
}

// fill writes the weights of the inputs at distances first, first+1, ... from
// the one that lies ratio before the output's place.
func (f *filter) fill(list []float64, first int, ratio, scale float64) {
	stretch := 1.0
	if f.antialias {
		stretch = min(scale, 1)
	}
	sum := 0.0
	for i := range list {
		list[i] = f.weight((float64(first+i) - ratio) * stretch)
		sum += list[i]
	}
	if f.antialias && sum != 0 {
		for i := range list {
			list[i] /= sum
		}
	}
}

// join stores the weights of output j for inputs from at on. Those beyond an end
// count for the element there, or are left out and the others scaled to sum 1.
func (t *taps) join(j, at int, list []float64, exclude bool) {
	start := min(max(at, 0), t.in-t.n)
	t.start[j] = int32(start)
	sum := 0.0
	for i, w := range list {
		p := at + i
		if exclude && (p < 0 || p >= t.in) {
			continue
		}
		sum += w
		t.weights[(min(max(p, 0), t.in-1)-start)*t.out+j] += w
	}
	if exclude && sum != 0 {
		for i := range t.n {
			t.weights[i*t.out+j] /= sum
		}
	}
}

// identity reports whether every output is the input of the same number.
func (t *taps) identity() bool {
	if t.in != t.out || t.outside != nil {
		return false
	}
	for j, s := range t.start {
		for i := range t.n {
			want := 0.0
			if int(s)+i == j {
				want = 1
			}
			if t.weights[i*t.out+j] != want {
				return false
			}
		}
	}
	return true
}

// resample applies the tables one after another.
func (o *resize) resample(c *Run, x, out *tensor.Tensor, tables []*taps) error {
	switch d := x.DType(); {
	case len(tables) == 0:
		copy(out.Bytes(), x.Bytes())
		copy(out.Strings(), x.Strings())
	case o.filter.mode == "nearest":
		return pick(c, x, out, tables)
	case isNarrow(d):
		return o.interpolate(c, x, out, tables)
	case d.IsFloat():
		putDoubles(out, interpolateDoubles(doubles(x), x.Shape(), tables))
	default:
		putRounded(out, interpolateDoubles(intDoubles(x), x.Shape(), tables))
	}
	return nil
}

// pick copies the nearest elements.
func pick(c *Run, x, out *tensor.Tensor, tables []*taps) error {
	shape := x.Shape().Clone()
	for i, t := range tables {
		shape[t.axis] = t.out
		to := out
		if i < len(tables)-1 {
			if x.DType() == tensor.String {
				to = tensor.New(tensor.String, shape...)
			} else {
				b, err := c.Mem.Scratch(x.DType().Bytes(shape.Len()))
				if err != nil {
					return err
				}
				if to, err = tensor.FromBytes(x.DType(), shape, b); err != nil {
					return err
				}
			}
		}
		index, err := c.int64s(t.out)
		if err != nil {
			return err
		}
		for j, s := range t.start {
			index[j] = int64(s)
		}
		gather(x, to, index, shape[:t.axis].Len(), t.in, shape[t.axis+1:].Len())
		x = to
	}
	return nil
}

// interpolate computes in float32 with kernels, some of the slices before the
// axes of the tables at a time.
func (o *resize) interpolate(c *Run, t, out *tensor.Tensor, tables []*taps) error {
	shape := t.Shape()
	first := len(shape)
	for _, t := range tables {
		first = min(first, t.axis)
	}
	slices := shape[:first].Len()
	if slices == 0 || out.Len() == 0 {
		return nil
	}
	from, to := t.Len()/slices, out.Len()/slices
	step := slices
	if t.DType() != tensor.F32 {
		step = min(slices, max(1, stripFloats/(from+to)))
	}
	source, err := c.strip(t, step*from)
	if err != nil {
		return err
	}
	target, err := c.strip(out, step*to)
	if err != nil {
		return err
	}
	steps := make([]resampling, len(tables))
	extents := shape[first:].Clone()
	for i, t := range tables {
		at := t.axis - first
		steps[i] = resampling{taps: t, outer: extents[:at].Len(), inner: extents[at+1:].Len()}
		steps[i].factors = converted(t.weights, func(v float64) float32 { return float32(v) })
		extents[at] = t.out
		if i < len(tables)-1 {
			if steps[i].to, err = c.scratchFloats(step * extents.Len()); err != nil {
				return err
			}
		}
	}
	for at := 0; at < slices; at += step {
		count := min(step, slices-at)
		x, y := source.load(at*from, count*from), target.room(at*to, count*to)
		steps[len(steps)-1].to = y
		for _, s := range steps {
			outer := count * s.outer
			bindings.ResampleF32(o.cols, o.row, c.Pool, x, outer, s.in, s.inner, s.start, s.factors, s.to[:outer*s.out*s.inner])
			x = s.to
		}
		target.store(at*to, y)
	}
	return nil
}

// resampling is a table applied to the middle axis of [outer,in,inner] of one
// slice.
type resampling struct {
	*taps
	outer, inner int
	factors      []float32 // the weights
	to           []float32
}

// interpolateDoubles is interpolate for types that float32 does not hold.
func interpolateDoubles(x []float64, shape tensor.Shape, tables []*taps) []float64 {
	shape = shape.Clone()
	for _, t := range tables {
		shape[t.axis] = t.out
		outer, inner := shape[:t.axis].Len(), shape[t.axis+1:].Len()
		to := make([]float64, shape.Len())
		for a := range outer {
			for j, s := range t.start {
				row := to[(a*t.out+j)*inner:][:inner]
				for k := range t.n {
					w, from := t.weights[k*t.out+j], x[(a*t.in+int(s)+k)*inner:][:inner]
					for i, v := range from {
						row[i] += w * v
					}
				}
			}
		}
		x = to
	}
	return x
}

// intDoubles returns integers as float64.
func intDoubles(t *tensor.Tensor) []float64 {
	switch t.DType() {
	case tensor.I8:
		return asDoubles(tensor.View[int8](t))
	case tensor.I16:
		return asDoubles(tensor.View[int16](t))
	case tensor.I32:
		return asDoubles(tensor.View[int32](t))
	case tensor.I64:
		return asDoubles(tensor.View[int64](t))
	case tensor.U8:
		return asDoubles(tensor.View[uint8](t))
	case tensor.U16:
		return asDoubles(tensor.View[uint16](t))
	case tensor.U32:
		return asDoubles(tensor.View[uint32](t))
	case tensor.U64:
		return asDoubles(tensor.View[uint64](t))
	}
	return nil
}

func asDoubles[T integer](s []T) []float64 {
	return converted(s, func(v T) float64 { return float64(v) })
}

// putRounded rounds numbers, ties to even, to the nearest that the integer type has.
func putRounded(t *tensor.Tensor, list []float64) {
	switch t.DType() {
	case tensor.I8:
		saturate(tensor.View[int8](t), list, math.MinInt8, math.MaxInt8)
	case tensor.I16:
		saturate(tensor.View[int16](t), list, math.MinInt16, math.MaxInt16)
	case tensor.I32:
		saturate(tensor.View[int32](t), list, math.MinInt32, math.MaxInt32)
	case tensor.I64:
		saturate(tensor.View[int64](t), list, math.MinInt64, math.MaxInt64)
	case tensor.U8:
		saturate(tensor.View[uint8](t), list, 0, math.MaxUint8)
	case tensor.U16:
		saturate(tensor.View[uint16](t), list, 0, math.MaxUint16)
	case tensor.U32:
		saturate(tensor.View[uint32](t), list, 0, math.MaxUint32)
	case tensor.U64:
		saturate(tensor.View[uint64](t), list, 0, math.MaxUint64)
	}
}

func saturate[T integer](dst []T, list []float64, low, high T) {
	for i, v := range list {
		switch v = math.RoundToEven(v); {
		case v >= float64(high):
			dst[i] = high
		case v > float64(low):
			dst[i] = T(v)
		default:
			dst[i] = low
		}
	}
}

// elementBytes is the bytes of one element of value v; for a complex type, v + 0i.
func elementBytes(d tensor.DType, v float64) []byte {
	t := tensor.New(d, 1)
	switch {
	case d.IsFloat():
		putDoubles(t, []float64{v})
	case d.IsInteger():
		putRounded(t, []float64{v})
	case d == tensor.Bool:
		tensor.View[bool](t)[0] = v != 0
	case d == tensor.C64:
		tensor.View[complex64](t)[0] = complex(float32(v), 0)
	case d == tensor.C128:
		tensor.View[complex128](t)[0] = complex(v, 0)
	}
	return t.Bytes()
}

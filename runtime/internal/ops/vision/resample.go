package vision

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// filter describes how Resize computes an output from inputs.
type filter struct {
	mode, coords, nearest     string
	cubicA                    float64
	excludeOutside, antialias bool
	first                     bool // nearest as in Resize 10 and Upsample: ceil for axes that shrink, otherwise floor
}

// Resample is a filter prepared for one axis. Output j is the sum over t < Taps of Weights[t*Out+j]
// times input Start[j]+t. All these inputs exist.
type Resample struct {
	resized
	Taps    int
	Start   []int32
	Weights []float64
	Outside []bool // outputs set to extrapolation_value; nil for none
}

// NewResample returns a filter from n inputs to m outputs that takes input j for output j, clamped
// to the last input. The caller may change taps and weights.
func NewResample(n, m int) *Resample {
	t := &Resample{resized: resized{In: n, Out: m}, Taps: 1, Start: make([]int32, m)}
	t.Weights = slices.Repeat([]float64{1}, m)
	for j := range t.Start {
		t.Start[j] = int32(min(j, n-1))
	}
	return t
}

// maxTaps bounds the weights of an axis before weights of one input are joined. They are computed
// when a run is planned.
const maxTaps = 1 << 23

// place returns the position of output j among the inputs. It computes in float32, as PyTorch and
// ONNX Runtime do. A scale that float32 cannot hold then still gives the intended element: at scale
// 0.1, output 1 is at 10, not just below. An axis of scale 1 is unchanged unless it is cropped.
func (f *filter) place(r resized, j int) float32 {
	x, in, out := float32(j), float32(r.In), float32(r.Out)
	if r.scale == 1 && f.coords != "tf_crop_and_resize" {
		return x
	}
	switch f.coords {
	case "half_pixel_symmetric":
		// The fraction of the output's extent that remains after rounding down.
		left := out / float32(r.scale*in)
		offset := float32(in / 2 * (1 - left))
		return float32(float64(offset) + (float64(x)+0.5)/float64(r.scale) - 0.5)
	case "pytorch_half_pixel":
		if r.Out == 1 {
			return 0
		}
	case "align_corners":
		if exact := float32(r.scale * in); exact != 1 {
			return float32(x*(in-1)) / (exact - 1)
		}
		return 0
	case "asymmetric":
		return x / r.scale
	case "tf_half_pixel_for_nn":
		return (x + 0.5) / r.scale
	case "tf_crop_and_resize":
		if r.Out > 1 {
			return float32(r.begin*(in-1)) + float32(float32(x*(r.end-r.begin))*(in-1))/(out-1)
		}
		return float32(0.5*(r.begin+r.end)) * (in - 1)
	}
	return (x+0.5)/r.scale - 0.5
}

// span returns the number of inputs in a window, and the first of them relative to the last input
// before the output's place.
func (f *filter) span(scale float64) (first, n int) {
	radius := map[string]float64{"linear": 1, "cubic": 2}[f.mode]
	if f.antialias {
		radius /= min(scale, 1)
	}
	first = int(math.Floor(-radius)) + 1
	return first, 2 - 2*first
}

// weight returns the weight of an input at distance d from the output's place.
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

// resample prepares the filter for an axis, within the memory that take gives.
func (f *filter) resample(r resized, take func(bytes int) error) (*Resample, error) {
	first, span := 0, 1
	if f.mode != "nearest" {
		first, span = f.span(float64(r.scale))
	}
	if span > maxTaps/max(r.Out, 1) {
		return nil, graph.Errorf(graph.ErrUnsupported, "axis %d takes %d inputs for each of %d outputs, too many", r.Axis,
			span, r.Out)
	}
	t := &Resample{resized: r, Taps: min(span, r.In)}
	if err := take(r.Out*(4+8*t.Taps) + 8*span); err != nil {
		return nil, err
	}
	t.Start = make([]int32, r.Out)
	t.Weights = make([]float64, t.Taps*r.Out)
	list := make([]float64, span)
	for j := range r.Out {
		x := float64(f.place(r, j))
		if f.coords == "tf_crop_and_resize" && (x < 0 || x > float64(r.In-1)) {
			if t.Outside == nil {
				t.Outside = make([]bool, r.Out)
			}
			t.Outside[j] = true
		}
		x = max(min(x, math.MaxInt32), math.MinInt32)
		if f.mode == "nearest" {
			t.Start[j], t.Weights[j] = int32(min(max(f.round(x, r.scale), 0), r.In-1)), 1
			continue
		}
		// The last element before the place. The distance is in (0, 1].
		before := int(math.Ceil(x)) - 1
		f.fill(list, first, x-float64(before), float64(r.scale))
		t.join(j, before+first, list, f.excludeOutside)
	}
	return t, nil
}

// nearHalf is the largest distance from the middle between two elements that counts as the middle.
const nearHalf = 1e-6

// round returns the nearest element to place x along an axis of the given scale.
func (f *filter) round(x float64, scale float32) int {
	low := math.Floor(x)
	if f.first && scale < 1 {
		return int(math.Ceil(x))
	}
	switch f.nearest {
	case "round_prefer_floor":
		return int(low) + kit.Btoi(x-low > 0.5+nearHalf)
	case "round_prefer_ceil":
		return int(low) + kit.Btoi(x-low >= 0.5-nearHalf)
	case "ceil":
		return int(math.Ceil(x))
	}
	return int(low)
}

// fill stores the weights of the inputs at offsets first, first+1, ... from the input that is ratio
// before the output's place.
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

// join stores the weights of output j for inputs from at on. Weights beyond an end go to the last
// element there. If exclude is set, they are dropped and the others scaled to a sum of 1.
func (t *Resample) join(j, at int, list []float64, exclude bool) {
	start := min(max(at, 0), t.In-t.Taps)
	t.Start[j] = int32(start)
	sum := 0.0
	for i, w := range list {
		p := at + i
		if exclude && (p < 0 || p >= t.In) {
			continue
		}
		sum += w
		t.Weights[(min(max(p, 0), t.In-1)-start)*t.Out+j] += w
	}
	if exclude && sum != 0 {
		for i := range t.Taps {
			t.Weights[i*t.Out+j] /= sum
		}
	}
}

// identity reports whether every output equals the input with the same index.
func (t *Resample) identity() bool {
	if t.In != t.Out || t.Outside != nil {
		return false
	}
	for j, s := range t.Start {
		for i := range t.Taps {
			want := 0.0
			if int(s)+i == j {
				want = 1
			}
			if t.Weights[i*t.Out+j] != want {
				return false
			}
		}
	}
	return true
}

// resample applies the tables one after another.
func (o *Resize) resample(pace *op.Pace, x, out *tensor.Tensor, tables []*Resample) {
	switch d := x.DType(); {
	case len(tables) == 0:
		copy(out.Bytes(), x.Bytes())
		copy(out.Strings(), x.Strings())
	case d == tensor.String:
		copy(out.Strings(), pick(pace, x.Strings(), 1, x.Shape(), tables))
	case o.IsNearest():
		copy(out.Bytes(), pick(pace, x.Bytes(), d.Bits()/8, x.Shape(), tables))
	case d.IsFloat():
		kit.PutDoubles(out, interpolate(pace, kit.Doubles(x), x.Shape(), tables))
	default:
		numbers, _ := kit.Numbers(x)
		putRounded(out, interpolate(pace, numbers, x.Shape(), tables))
	}
}

// pick returns the nearest elements, each of size items.
func pick[T any](pace *op.Pace, x []T, size int, shape tensor.Shape, tables []*Resample) []T {
	shape = shape.Clone()
	for _, t := range tables {
		shape[t.Axis] = t.Out
		outer, inner := shape[:t.Axis].Len(), shape[t.Axis+1:].Len()*size
		to := make([]T, 0, outer*t.Out*inner)
		for a := range outer {
			for _, s := range t.Start {
				pace.Work(8 + inner)
				to = append(to, x[(a*t.In+int(s))*inner:][:inner]...)
			}
		}
		x = to
	}
	return x
}

// interpolate computes weighted sums in float64.
func interpolate(pace *op.Pace, x []float64, shape tensor.Shape, tables []*Resample) []float64 {
	shape = shape.Clone()
	for _, t := range tables {
		shape[t.Axis] = t.Out
		outer, inner := shape[:t.Axis].Len(), shape[t.Axis+1:].Len()
		to := make([]float64, shape.Len())
		for a := range outer {
			for j, s := range t.Start {
				row := to[(a*t.Out+j)*inner:][:inner]
				for k := range t.Taps {
					pace.Work(8 + inner)
					w, from := t.Weights[k*t.Out+j], x[(a*t.In+int(s)+k)*inner:][:inner]
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

// putRounded rounds numbers, ties to even, and clamps them to the integer type. It changes list.
func putRounded(t *tensor.Tensor, list []float64) {
	for i, v := range list {
		list[i] = math.RoundToEven(v)
	}
	elements.PutClamped(t, 0, list)
}

// elementBytes returns the bytes of one element with value v, or v + 0i for a complex type.
func elementBytes(d tensor.DType, v float64) []byte {
	t := tensor.New(d, 1)
	switch {
	case d.IsFloat():
		kit.PutDoubles(t, []float64{v})
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

package vulkan

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/signal"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var signalRows = []row{
	rowFor("dft", bindDFT),
	rowFor("dft", bindSTFT),
}

// mostPoints is the most points of a transform that is summed directly.
const mostPoints = 4096

// transforming is a transform of lanes of numbers.
type transforming struct {
	lanes, points, n           int // lanes of the result, points of a lane of it, and points of the transform
	there                      int // numbers of a lane of x
	frames, perOuter, perFrame int
	inner                      int
	parts, outParts            int
	inverse, mirrored          bool
	windowed                   bool
	window                     device.Operand
}

// transform adds the dispatches of a transform. If the session's device factors n, it adds passes
// over the same factors, with the same rounding errors; otherwise one dispatch of sums.
func (b *binder) transform(t *transforming) error {
	variant := b.floatName(b.DType(0))
	table := make([]float32, 0, 2*t.n)
	for k := range t.n {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(t.n))
		table = append(table, float32(cos), float32(sin))
	}
	if factors, ok := signal.Factors(t.n); ok {
		return b.passes(t, variant, factors, constant(table...))
	}
	if t.n > mostPoints {
		return device.Refuse("a transform of %d points; the device sums %d", t.n, mostPoints)
	}
	total := t.lanes * t.points
	var w words
	w.int(total, t.n, t.points, t.there, t.frames, t.perOuter, t.perFrame, t.inner)
	defer b.works(4 * total * t.n)
	constants := words{}
	constants.int(t.parts, t.outParts)
	constants.bool(t.windowed, t.inverse, t.mirrored)
	return b.flat("signal/dft", variant, total, constants, w, b.in(0), constant(table...), t.window, b.out(0))
}

// passes adds dispatches that gather the numbers of lanes, transform them, and scatter the points.
func (b *binder) passes(t *transforming, variant string, factors []int, table device.Operand) error {
	total, size := t.lanes*t.n, tensor.F32.Bytes(2*t.lanes*t.n)
	from, to := b.temp(size), b.temp(size)
	constants, w := words{}, words{}
	constants.int(t.parts)
	constants.bool(t.windowed, t.inverse, t.mirrored)
	w.int(total, t.n, t.there, t.frames, t.perOuter, t.perFrame, t.inner)
	if err := b.flat("signal/lanes", variant, total, constants, w, b.in(0), t.window, from); err != nil {
		return err
	}
	done := 1
	for _, r := range factors {
		w = words{}
		w.int(total/r, t.n, done)
		if err := b.flat("signal/pass", "f32", total/r, []uint32{uint32(r)}, w, from, table, to); err != nil {
			return err
		}
		b.works(8 * total)
		done *= r
		from, to = to, from
	}
	constants, w = words{}, words{}
	constants.int(t.outParts)
	constants.bool(t.parts == 1 && !t.inverse, t.inverse)
	w.int(t.lanes*t.points, t.n, t.points, t.inner)
	w.float(float64(1 / float32(t.n)))
	return b.flat("signal/points", variant, t.lanes*t.points, constants, w, from, b.out(0))
}

// number returns input i as a known integer; nil if it is left out.
func (b *binder) number(i int) (*int, error) {
	if !b.Has(i) {
		return nil, nil
	}
	list, ok := b.In[i].IntVec()
	if !ok || len(list) != 1 {
		return nil, &device.NeedValue{Input: i}
	}
	n := b.known(list...)
	return &n[0], nil
}

func bindDFT(o *signal.DFT, b *binder) error {
	length, err := b.number(1)
	if err != nil {
		return err
	}
	at, err := b.number(2)
	if err != nil {
		return err
	}
	x, y := b.Shape(0), b.OutShape(0)
	axis, n, err := o.Plan(x, length, at)
	if err != nil {
		return err
	}
	last := len(x) - 1
	outer, inner := x[:axis].Len(), x[axis+1:last].Len()
	return b.transform(&transforming{
		lanes: outer * inner, points: y[axis], n: n, there: min(x[axis], n), frames: 1, perOuter: x[axis] * inner,
		inner: inner,
		parts: x[last], outParts: y[last], inverse: o.Inverse, mirrored: o.Inverse && o.OneSided,
	})
}

func bindSTFT(_ *signal.STFT, b *binder) error {
	step, err := b.number(1)
	if err != nil {
		return err
	}
	length, err := b.number(3)
	if err != nil {
		return err
	}
	x, y, parts := b.Shape(0), b.OutShape(0), 1
	if len(x) == 3 {
		parts = x[2]
	}
	n := b.Shape(2).Len()
	if length != nil {
		n = *length
	}
	if b.Has(2) && (b.Shape(2).Len() != n || b.DType(2) != b.DType(0)) {
		return device.Refuse("a window of %d samples for frames of %d", b.Shape(2).Len(), n)
	}
	return b.transform(&transforming{
		lanes: y[0] * y[1], points: y[2], n: n, there: n, frames: y[1], perOuter: x[1], perFrame: *step, inner: 1,
		parts: parts, outParts: 2, windowed: b.Has(2), window: b.in(2),
	})
}

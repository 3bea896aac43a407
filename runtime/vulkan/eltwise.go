package vulkan

import (
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/shaders"
)

var eltwiseRows = []row{
	rowFor("clip", bindClip),
	rowFor("fused", bindFused),
}

// function returns the number of a function in a shader's include file.
func function(include, name string) (uint32, error) {
	n, ok := shaders.Number(include, name)
	if !ok {
		return 0, device.Refuse("no shader computes the function %s", name)
	}
	return n, nil
}

// function is the function of that name. It notes refusals.
func (b *binder) function(include, name string) uint32 {
	n, err := function(include, name)
	b.Note(err)
	return n
}

// epilogueNumber returns the number of an epilogue's function; 0 for none.
func epilogueNumber(e kit.Epilogue) (uint32, error) {
	if e.Func == "" {
		return 0, nil
	}
	return function("unary", e.Func)
}

// Map adds a dispatch. Elements of other types than the function takes are converted.
func (b *binder) Map(m *lower.Map) error {
	d := m.As
	if m.Func == "pow" {
		switch base, power := m.In[0].DType, m.In[1].DType; {
		case power.IsInteger():
			return b.powers(m)
		case base == power:
			d = base
		}
	}
	operands, shapes := make([]device.Operand, len(m.In)), make([]tensor.Shape, len(m.In))
	for i, v := range m.In {
		shapes[i], _ = v.Dims.Concrete()
		operands[i] = lower.As(b, d, v)
	}
	out, to := b.OutShape(0), d
	shader := "eltwise/binary"
	switch _, compares := shaders.Number("compare", m.Func); {
	case len(m.In) == 2 && compares:
		shader = "eltwise/compare"
	case len(m.In) == 1 && m.Test:
		shader = "eltwise/test"
	case len(m.In) == 1:
		shader = "eltwise/unary"
	}
	if m.Test {
		to = m.Out.DType
	}
	return lower.Rounded(b, to, m.Out, func(y device.Operand) error {
		if len(m.In) == 1 {
			return b.unary(shader, m.Func, d, out.Len(), m.P, m.Q, operands[0], y)
		}
		return b.pairs(shader, m.Func, d, operands[0], operands[1], y, out, shapes[0], shapes[1])
	})
}

// powers adds a dispatch of powers with integer exponents.
func (b *binder) powers(m *lower.Map) error {
	variant := b.floatName(m.Out.DType)
	d, out := m.In[1].DType, b.OutShape(0)
	xs, _ := m.In[0].Dims.Concrete()
	ys, _ := m.In[1].Dims.Concrete()
	w := words{uint32(out.Len())}
	b.under(&w, out, xs, ys)
	constants := []uint32{uint32(d.Bits()), uint32(kit.Btoi(d.Kind() == tensor.Signed))}
	return b.flat("eltwise/power", variant, out.Len(), constants, w, m.In[0].Operand, m.In[1].Operand, m.Out.Operand)
}

// unary adds a dispatch of a function of n elements of type d.
func (b *binder) unary(shader, name string, d tensor.DType, n int, p, q float64, x, y device.Operand) error {
	variant := b.typeName(d)
	if !floats[d] && !intFunctions[name] {
		return device.Refuse("no shader computes the function %s of %v elements", name, d)
	}
	f := b.function("unary", name)
	var w words
	w.int(n, 0, 0)
	w.float(p, q)
	if shader == "eltwise/unary" {
		w.int(0, 0)
	}
	defer b.does(&applying{name, w[3], n}, "eltwise/unary")
	return b.flat(shader, variant, n, []uint32{f}, w, x, y)
}

// bindClip binds clips as a maximum with the lower end and a minimum with the upper one, if the
// ends are inputs.
func bindClip(o *arith.Clip, b *binder) error {
	if !o.Inputs {
		return b.Map(lower.Unary(&o.Unary, b))
	}
	d, out := b.DType(0), b.OutShape(0)
	x := b.in(0)
	for i, name := range []string{"max", "min"} {
		if !b.Has(1 + i) {
			continue
		}
		if err := b.pairs("eltwise/binary", name, d, x, b.in(1+i), b.out(0), out, out, nil); err != nil {
			return err
		}
		x = b.out(0)
	}
	if x.Place == device.In {
		return b.copyAll(d, out.Len(), x, b.out(0))
	}
	return nil
}

// broadcastAxes is the most axes of values that shaders broadcast.
const broadcastAxes = 6

// broadcast merges the axes of out into as few as possible. It returns their extents, and the
// strides of each input along them: 0 if it is stretched.
func broadcast(out tensor.Shape, inputs ...tensor.Shape) (dims []int, steps [][]int) {
	steps = make([][]int, len(inputs))
	for a := range out {
		if out[a] == 1 {
			continue
		}
		var own []int
		for _, s := range inputs {
			own = append(own, stepAlong(s, a-len(out)+len(s)))
		}
		last := len(dims) - 1
		joins := last >= 0
		for i := range own {
			joins = joins && steps[i][last] == own[i]*out[a]
		}
		if joins {
			dims[last] *= out[a]
			for i := range own {
				steps[i][last] = own[i]
			}
			continue
		}
		dims = append(dims, out[a])
		for i := range own {
			steps[i] = append(steps[i], own[i])
		}
	}
	return dims, steps
}

// stepAlong returns the stride of an axis in elements; 0 for a missing axis and for an axis of one
// element.
func stepAlong(s tensor.Shape, axis int) int {
	if axis < 0 || s[axis] == 1 {
		return 0
	}
	return s[axis+1:].Len()
}

// under appends broadcastAxes extents of out and strides of each input, innermost last. Missing axes
// have extent 1.
func (b *binder) under(w *words, out tensor.Shape, inputs ...tensor.Shape) {
	dims, steps := broadcast(out, inputs...)
	room := broadcastAxes - len(dims)
	if room < 0 {
		b.Note(device.Refuse("values are stretched along %d axes", len(dims)))
		return
	}
	for range room {
		w.int(1)
	}
	w.int(dims...)
	for _, s := range steps {
		w.int(make([]int, room)...)
		w.int(s...)
	}
}

// pairs adds a dispatch of a function of two values of type d, stretched to out.
func (b *binder) pairs(shader, name string, d tensor.DType, x, y, z device.Operand, out, xs, ys tensor.Shape) error {
	variant := b.typeName(d)
	if floats[d] != floatPairs[name] && shader == "eltwise/binary" && !anyPairs[name] {
		return device.Refuse("no shader computes the function %s of %v elements", name, d)
	}
	if d == tensor.Bool && shader == "eltwise/compare" {
		variant = "bool"
	}
	include := strings.TrimPrefix(shader, "eltwise/")
	f := b.function(include, name)
	var w words
	w.int(out.Len(), 0, 0, 0)
	b.under(&w, out, xs, ys)
	if n := out.Len(); name == "mul" && xs.Len() == n && ys.Len() == n {
		defer b.does(&gating{applying{n: n}}, "eltwise/binary")
	}
	return b.flat(shader, variant, out.Len(), []uint32{f}, w, x, y, z)
}

// set returns the names as a set.
func set(names ...string) map[string]bool {
	m := map[string]bool{}
	for _, n := range names {
		m[n] = true
	}
	return m
}

// Names of functions: intFunctions take one integer, floatPairs two floats, anyPairs two numbers of
// any type.
var (
	intFunctions = set("abs", "neg", "sign", "relu", "bitnot", "not")
	floatPairs   = set()
	anyPairs     = set("add", "sub", "mul", "div", "min", "max", "prelu", "fmod", "pow")
)

// floats are the element types that shaders compute on as floats.
var floats = map[tensor.DType]bool{tensor.F32: true, tensor.F16: true, tensor.BF16: true}

// widened returns input i, of floats, as float32.
func (b *binder) widened(i int) device.Operand {
	return lower.As(b, tensor.F32, lower.Input(b, i))
}

// inFloat32 lets add compute output 0, of floats, as float32, and rounds it once.
func (b *binder) inFloat32(add func(y device.Operand) error) error {
	return lower.Rounded(b, tensor.F32, lower.Output(b, 0), add)
}

// Select adds a dispatch.
func (b *binder) Select(s *lower.Select) error {
	variant := b.widthName(s.Out.DType)
	out := b.OutShape(0)
	shapes := make([]tensor.Shape, 3)
	for i, v := range []lower.Value{s.Condition, s.X, s.Y} {
		shapes[i], _ = v.Dims.Concrete()
	}
	var w words
	w.int(out.Len(), 0, 0, 0, 0)
	b.under(&w, out, shapes...)
	return b.flat("eltwise/where", variant, out.Len(), nil, w, s.Condition.Operand, s.X.Operand, s.Y.Operand,
		s.Out.Operand)
}

// bindFused computes an activation and an operation with input 1, in either order. Halves are
// rounded once.
func bindFused(o *arith.Fused, b *binder) error {
	if !b.Has(1) {
		return b.Map(lower.Unary(&arith.Unary{Func: o.Unary, P: o.P}, b))
	}
	variant := b.floatName(b.DType(0))
	f := b.function("unary", o.Unary)
	if o.Binary != "add" && o.Binary != "mul" {
		return device.Refuse("no shader fuses the function %s", o.Binary)
	}
	n := b.OutShape(0).Len()
	var w words
	w.int(n, b.Shape(1).Len())
	w.float(o.P)
	if o.First && o.Binary == "mul" && b.Shape(1).Len() == n {
		defer b.does(&gating{applying{o.Unary, w[2], n}}, "eltwise/fused")
	}
	constants := []uint32{f, uint32(kit.Btoi(o.Binary == "mul")), uint32(kit.Btoi(o.First))}
	return b.flat("eltwise/fused", variant, n, constants, w, b.in(0), b.in(1), b.out(0))
}

// copyAll adds a dispatch that copies n elements.
func (b *binder) copyAll(d tensor.DType, n int, x, y device.Operand) error {
	return b.strided(d, 0, 0, []axisSteps{{n, 1, 1}}, x, y)
}

var castRows = []row{
	rowFor("bits", bindBitCast),
	rowFor("cast", bindCast),
	rowFor("copy", bindDropout),
}

func bindCast(o *arith.Cast, b *binder) error {
	from, to, n := b.DType(0), b.Out[0].DType, b.OutShape(0).Len()
	if from == to {
		return b.copyAll(from, n, b.in(0), b.out(0))
	}
	if _, ok := rulesOf(to); ok {
		return b.narrow(from, o.Saturate, false, 0, unscaled(n))
	}
	if _, ok := rulesOf(from); ok || lowTypes[from] && floats[to] {
		return b.widen()
	}
	if lowTypes[to] {
		return b.low(from)
	}
	return b.convert(from, to, n, b.in(0), b.out(0))
}

// convert adds a dispatch that converts n elements to another type.
func (b *binder) convert(from, to tensor.DType, n int, x, y device.Operand) error {
	name := b.typeName(from)
	other := b.typeName(to)
	if from == tensor.Bool {
		name = "bool"
	}
	if to == tensor.Bool {
		other = "bool"
	}
	var w words
	w.int(n, 0, 0)
	return b.flat("eltwise/cast", name+"_"+other, n, nil, w, x, y)
}

// known returns extents as numbers. It notes a refusal of an extent that is not known.
func (b *binder) known(list ...graph.Dim) []int {
	out := make([]int, len(list))
	for i, d := range list {
		n, ok := d.Value()
		if !ok {
			b.Note(device.Refuse("extent %v is not known", d))
		}
		out[i] = n
	}
	return out
}

// bindBitCast copies bits.
func bindBitCast(_ *arith.BitCast, b *binder) error {
	if b.Out[0].DType == tensor.Bool {
		return device.Refuse("bits become bools in Go")
	}
	return b.copyAll(b.Out[0].DType, b.OutShape(0).Len(), b.in(0), b.out(0))
}

// bindDropout copies its input, and fills the mask so that it keeps all elements.
func bindDropout(o *nn.Dropout, b *binder) error {
	if !o.Copies(b.In) {
		return device.Refuse("elements may be dropped by chance")
	}
	if b.Wants(0) {
		if err := b.copyAll(b.DType(0), b.Shape(0).Len(), b.in(0), b.out(0)); err != nil {
			return err
		}
	}
	if !b.Wants(1) {
		return nil
	}
	return b.fill(b.out(1), kit.One(b.Out[1].DType), b.Shape(0).Len())
}

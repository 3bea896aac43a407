package op

import (
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// granularity says which elements share a scale and a zero point: all, those of
// a place along an axis, or those of a block along an axis.
type granularity struct {
	axis, block int  // block is 0 for places
	whole       bool // there is one scale only
}

func readGranularity(n *Node) (granularity, error) {
	if n.Domain == "" && n.Since < 13 {
		return granularity{whole: true}, nil
	}
	g := granularity{axis: n.Int("axis", 1)}
	if n.Since >= 21 {
		g.block = n.Int("block_size", 0)
	}
	if g.block < 0 {
		return g, graph.Mark(graph.ErrFormat, "block_size is %d; it cannot be negative", g.block)
	}
	return g, nil
}

// grid returns where the scales of those extents belong in a value.
func (g granularity) grid(x, scale tensor.Shape) (*bindings.QuantGrid, error) {
	n := x.Len()
	if scale.Len() == 1 {
		return &bindings.QuantGrid{Outer: 1, Axis: n, Inner: 1, Block: max(n, 1)}, nil
	}
	axis := g.axis
	if len(x) == 1 && axis == 1 {
		axis = 0 // the default cannot be meant
	}
	axis, err := normAxis(axis, len(x))
	switch {
	case g.whole:
		return nil, graph.Mark(graph.ErrShape, "scales have shape %v; in this version there is one", scale)
	case err != nil:
		return nil, err
	}
	block, want := 1, tensor.Shape{x[axis]}
	if g.block > 0 {
		block, want = g.block, x.Clone()
		want[axis] = (x[axis]-1)/block + 1
	}
	if !scale.Equal(want) {
		return nil, graph.Mark(graph.ErrShape, "scales have shape %v where a value of shape %v needs %v along axis %d in blocks of %d", scale, x, want, axis, block)
	}
	grid := &bindings.QuantGrid{Outer: x[:axis].Len(), Axis: x[axis], Inner: x[axis+1:].Len(), Block: block, PerAxis: 1}
	if g.block > 0 {
		grid.PerAxis, grid.PerOuter = grid.Inner, grid.Inner*want[axis]
		if grid.Inner > 1 {
			grid.PerInner = 1
		}
	}
	return grid, nil
}

// check reports, as far as is known, inputs 1 and 2, scales and zero points,
// that do not suit input 0 or each other.
func (g granularity) check(c *Infer) error {
	scale, ok := c.In[1].Dims.Concrete()
	if !ok || c.In[1].Dims == nil {
		return nil
	}
	if c.Has(2) && c.In[2].Dims != nil {
		zero, ok := c.In[2].Dims.Concrete()
		if ok && !zero.Equal(scale) && (zero.Len() != 1 || scale.Len() != 1) {
			return graph.Mark(graph.ErrShape, "zero points have shape %v and scales %v", zero, scale)
		}
	}
	x, ok := c.In[0].Dims.Concrete()
	if !ok || c.In[0].Dims == nil {
		return nil
	}
	_, err := g.grid(x, scale)
	return err
}

// stretches calls f for elements that follow each other and have one scale, or
// with step 1 scales that follow each other.
func stretches(g *bindings.QuantGrid, f func(at, n, scale, step int)) {
	for o := range g.Outer {
		for a := 0; a < g.Axis; a += g.Block {
			n, at, scale := min(g.Block, g.Axis-a), (o*g.Axis+a)*g.Inner, o*g.PerOuter+a/g.Block*g.PerAxis
			if g.PerInner == 0 {
				f(at, n*g.Inner, scale, 0)
				continue
			}
			for row := range n {
				f(at+row*g.Inner, g.Inner, scale, 1)
			}
		}
	}
}

// Codes of quantised tensors, and the floats that they may be of.
var (
	narrowCodes = Types{tensor.F8E4M3FN, tensor.F8E4M3FNUZ, tensor.F8E5M2, tensor.F8E5M2FNUZ, tensor.F4E2M1}
	wholeCodes  = Types{tensor.I8, tensor.U8, tensor.I16, tensor.U16, tensor.I4, tensor.U4, tensor.I2, tensor.U2}
	allCodes    = slices.Concat(wholeCodes, narrowCodes)
)

// typeIn returns the element type that an attribute names, Invalid where it is
// not there or 0.
func (n *Node) typeIn(name string, allowed Types) (tensor.DType, error) {
	if n.Int(name, 0) == 0 {
		return tensor.Invalid, nil
	}
	return n.elementTypeOf(name, tensor.Invalid, allowed)
}

// quantizeLinear is y = saturate(round(x / scale) + zero), with halves to even,
// and for codes that are floats y = round(x / scale + zero).
type quantizeLinear struct {
	granularity
	codes     tensor.DType // Invalid where the zero point's type is meant
	precision tensor.DType // of the quotient; Invalid where the scale's type is meant
	saturate  bool         // numbers too large for codes of 8 bits become the largest
	kernel    bindings.Kernel
	widen     conversion // of int32
}

func newQuantizeLinear(n *Node) (Op, error) {
	g, err := readGranularity(n)
	if err != nil {
		return nil, err
	}
	o := &quantizeLinear{granularity: g, saturate: n.Since < 19 || n.Bool("saturate", true)}
	if n.Since >= 21 {
		if o.codes, err = n.typeIn("output_dtype", allCodes); err != nil {
			return nil, err
		}
	}
	if n.Domain == microsoft {
		o.precision = tensor.F32
	} else if n.Since >= 23 {
		o.precision, err = n.typeIn("precision", narrowTypes)
	}
	return o, err
}

// Infer keeps the shape.
func (o *quantizeLinear) Infer(c *Infer) error {
	if err := checkScales(c.In[1]); err != nil {
		return err
	}
	codes := o.codes
	if c.Has(2) {
		zero := c.In[2].DType
		if !allCodes.Has(zero) || codes != tensor.Invalid && codes != zero {
			return graph.Mark(graph.ErrFormat, "zero points are %v; output_dtype says %v, and codes are %v", c.In[2].Type, codes, allCodes)
		}
		codes = zero
	}
	if codes == tensor.Invalid {
		codes = tensor.U8
	}
	if err := o.check(c); err != nil {
		return err
	}
	c.Set(0, codes, c.In[0].Dims)
	return nil
}

func checkScales(v *Value) error {
	if d := v.DType; !isNarrow(d) && d != tensor.I32 && d != tensor.F8E8M0 {
		return graph.Mark(graph.ErrUnsupported, "scales are %v; float32, float16, bfloat16, int32 and float8e8m0 are computed", v.Type)
	}
	return nil
}

// Prepare chooses the kernels.
func (o *quantizeLinear) Prepare(c *Prepare) (err error) {
	if c.DType(0) == tensor.I32 {
		if o.widen, err = conversionOf(c, tensor.I32, tensor.F32); err != nil {
			return err
		}
	}
	o.kernel, err = c.Kernel("f32_quantize")
	return err
}

// Describe names the kernel.
func (o *quantizeLinear) Describe() string { return describe(o.kernel) }

// Run computes the codes.
func (o *quantizeLinear) Run(c *Run) error {
	x, y := c.In[0], c.Out[0]
	grid, err := o.grid(x.Shape(), c.In[1].Shape())
	if err != nil || x.Len() == 0 {
		return err
	}
	precision := o.precision
	if precision == tensor.Invalid {
		precision = c.In[1].DType()
	}
	if !isNarrow(precision) {
		precision = tensor.F32
	}
	scale, err := o.scalesIn(c, precision)
	if err != nil {
		return err
	}
	if x.DType() == tensor.I32 {
		if x, err = o.widen.run(c, x); err != nil {
			return err
		}
	}
	numbers, err := c.floats(x)
	if err != nil {
		return err
	}
	if !y.DType().IsInteger() {
		return c.roundFloats(grid, precision, numbers, scale, given(c, 2), y, o.saturate)
	}
	zero, err := c.zeros(given(c, 2), len(scale))
	if err != nil {
		return err
	}
	return c.quantize(o.kernel, grid, floatTypes[precision], numbers, scale, zero, y)
}

// scalesIn returns the scales in that precision.
func (o *quantizeLinear) scalesIn(c *Run, precision tensor.DType) ([]float32, error) {
	scale, err := c.scales(c.In[1])
	if err != nil || precision == tensor.F32 || precision == c.In[1].DType() {
		return scale, err
	}
	rounded, err := c.scratchFloats(len(scale))
	for i := range rounded {
		rounded[i] = inPrecision(precision, scale[i])
	}
	return rounded, err
}

// inPrecision rounds to a type that is computed in float32.
func inPrecision(d tensor.DType, v float32) float32 {
	switch d {
	case tensor.F16:
		return packed.ToF16(v).Float32()
	case tensor.BF16:
		return packed.ToBF16(v).Float32()
	}
	return v
}

// quantize writes codes of an integer type of 16 bits or fewer for x.
func (c *Run) quantize(k bindings.Kernel, g *bindings.QuantGrid, precision bindings.FloatType, x, scale []float32, zero []int32, y *tensor.Tensor) error {
	codes := bindings.QuantCodes{Precision: precision}
	codes.Low, codes.High = codeRange(y.DType())
	layout := y.DType().Layout()
	if layout == nil {
		codes.Type = quantTypes[y.DType()]
		bindings.Quantize(k, c.Pool, g, &codes, x, scale, zero, y.Pointer())
		return nil
	}
	codes.Type = bindings.QuantI8
	if !layout.Signed {
		codes.Type = bindings.QuantU8
	}
	bytes, err := c.Mem.Scratch(len(x))
	if err != nil {
		return err
	}
	bindings.Quantize(k, c.Pool, g, &codes, x, scale, zero, unsafe.Pointer(unsafe.SliceData(bytes)))
	layout.Pack(y.Bytes(), asCodes(bytes)[:len(x)])
	return nil
}

// asCodes returns bytes as the codes of a layout.
func asCodes(b []byte) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(b))), len(b))
}

// roundFloats writes codes that are floats of 8 or 4 bits for x.
func (c *Run) roundFloats(g *bindings.QuantGrid, precision tensor.DType, x, scale []float32, zeros, y *tensor.Tensor, saturate bool) error {
	zero, err := c.floatZeros(zeros, len(scale))
	if err != nil {
		return err
	}
	put := encoder(y, saturate)
	stretches(g, func(at, n, s, step int) {
		for i := at; i < at+n; i, s = i+1, s+step {
			v := inPrecision(precision, inPrecision(precision, x[i])/scale[s])
			if zero != nil {
				v += zero[s]
			}
			put(i, v)
		}
	})
	return nil
}

// floatZeros returns n zero points of a tensor of narrow floats, nil if it is left
// out.
func (c *Run) floatZeros(t *tensor.Tensor, n int) ([]float32, error) {
	if t == nil {
		return nil, nil
	}
	if t.Len() != n {
		return nil, graph.Mark(graph.ErrShape, "zero points are %v where %d are needed", t, n)
	}
	list, err := c.scratchFloats(n)
	if err != nil {
		return nil, err
	}
	decodeFloats(list, t)
	return list, nil
}

// decodeFloats stores the elements of a tensor of floats of 8 or 4 bits.
func decodeFloats(list []float32, t *tensor.Tensor) {
	if t.DType() == tensor.F4E2M1 {
		for i := range list {
			list[i] = packed.F4E2M1(packed.Fp4.At(t.Bytes(), i)).Float32()
		}
		return
	}
	packed.Float8Of(t.DType().String()).Decode(list, t.Bytes())
}

// encoder returns what rounds numbers to the elements of a tensor of floats of 8
// or 4 bits, one after the other.
func encoder(y *tensor.Tensor, saturate bool) func(i int, v float32) {
	b := y.Bytes()
	if y.DType() == tensor.F4E2M1 {
		clear(b)
		return func(i int, v float32) { packed.Fp4.Set(b, i, int8(packed.ToF4E2M1(v))) }
	}
	f := packed.Float8Of(y.DType().String())
	return func(i int, v float32) { b[i] = f.Code(v, saturate) }
}

// dequantizeLinear is y = (x - zero) * scale, in float32 with one rounding to the
// output's type.
type dequantizeLinear struct {
	granularity
	to     tensor.DType // Invalid where the scale's type is meant
	kernel bindings.Kernel
}

func newDequantizeLinear(n *Node) (Op, error) {
	g, err := readGranularity(n)
	if err != nil {
		return nil, err
	}
	o := &dequantizeLinear{granularity: g}
	if n.Since >= 23 {
		o.to, err = n.typeIn("output_dtype", narrowTypes)
	}
	return o, err
}

// Infer keeps the shape.
func (o *dequantizeLinear) Infer(c *Infer) error {
	to := o.to
	if to == tensor.Invalid {
		to = c.In[1].DType
	}
	if !isNarrow(to) {
		return graph.Mark(graph.ErrUnsupported, "scales are %v and output_dtype is %v; results are float32, float16 or bfloat16", c.In[1].Type, o.to)
	}
	if err := checkScales(c.In[1]); err != nil {
		return err
	}
	if err := c.checkZero(2, c.In[0].DType); err != nil {
		return err
	}
	if err := o.check(c); err != nil {
		return err
	}
	c.Set(0, to, c.In[0].Dims)
	return nil
}

// Prepare chooses the kernel.
func (o *dequantizeLinear) Prepare(c *Prepare) (err error) {
	o.kernel, err = c.Kernel("f32_quantize")
	return err
}

// Describe names the kernel.
func (o *dequantizeLinear) Describe() string { return describe(o.kernel) }

// Run computes the numbers.
func (o *dequantizeLinear) Run(c *Run) error {
	x, y := c.In[0], c.Out[0]
	grid, err := o.grid(x.Shape(), c.In[1].Shape())
	if err != nil || x.Len() == 0 {
		return err
	}
	scale, err := c.scales(c.In[1])
	if err != nil {
		return err
	}
	out, err := c.floatsFor(y)
	if err != nil {
		return err
	}
	if x.DType().IsInteger() {
		zero, err := c.zeros(given(c, 2), len(scale))
		if err != nil {
			return err
		}
		if err := c.dequantize(o.kernel, grid, x, scale, zero, out); err != nil {
			return err
		}
	} else {
		zero, err := c.floatZeros(given(c, 2), len(scale))
		if err != nil {
			return err
		}
		decodeFloats(out, x)
		stretches(grid, func(at, n, s, step int) {
			for i := at; i < at+n; i, s = i+1, s+step {
				if zero != nil {
					out[i] -= zero[s]
				}
				out[i] *= scale[s]
			}
		})
	}
	c.putFloats(y, out)
	return nil
}

// dequantize writes what codes of an integer type of 32 bits or fewer stand for.
func (c *Run) dequantize(k bindings.Kernel, g *bindings.QuantGrid, x *tensor.Tensor, scale []float32, zero []int32, y []float32) error {
	layout := x.DType().Layout()
	if layout == nil {
		bindings.Dequantize(k, c.Pool, g, quantTypes[x.DType()], x.Pointer(), scale, zero, y)
		return nil
	}
	bytes, err := c.Mem.Scratch(x.Len())
	if err != nil {
		return err
	}
	layout.Unpack(asCodes(bytes)[:x.Len()], x.Bytes())
	t := bindings.QuantI8
	if !layout.Signed {
		t = bindings.QuantU8
	}
	bindings.Dequantize(k, c.Pool, g, t, unsafe.Pointer(unsafe.SliceData(bytes)), scale, zero, y)
	return nil
}

// dynamicQuantizeLinear is codes without sign for the range of x with 0, their
// scale and their zero point.
type dynamicQuantizeLinear struct{ kernel bindings.Kernel }

func newDynamicQuantizeLinear(*Node) (Op, error) { return &dynamicQuantizeLinear{}, nil }

// Infer keeps the shape of codes.
func (o *dynamicQuantizeLinear) Infer(c *Infer) error {
	c.Set(0, tensor.U8, c.In[0].Dims)
	c.Set(1, tensor.F32, graph.Dims{})
	c.Set(2, tensor.U8, graph.Dims{})
	return nil
}

// Prepare chooses the kernel.
func (o *dynamicQuantizeLinear) Prepare(c *Prepare) (err error) {
	o.kernel, err = c.Kernel("f32_quantize")
	return err
}

// Describe names the kernel.
func (o *dynamicQuantizeLinear) Describe() string { return describe(o.kernel) }

// Run computes the outputs.
func (o *dynamicQuantizeLinear) Run(c *Run) error {
	x := c.In[0]
	scratch, err := c.scratchFloats(2 * c.Pool.Threads())
	if err != nil {
		return err
	}
	var codes []byte
	if c.Out[0] != nil {
		codes = c.Out[0].Bytes()
	} else if codes, err = c.Mem.Scratch(x.Len()); err != nil {
		return err
	}
	scale, zero := bindings.QuantizeDynamic(o.kernel, c.Pool, tensor.View[float32](x), codes, scratch)
	if c.Out[1] != nil {
		tensor.View[float32](c.Out[1])[0] = scale
	}
	if c.Out[2] != nil {
		c.Out[2].Bytes()[0] = zero
	}
	return nil
}

var quantRows = []Row{
	{Name: "QuantizeLinear", Since: []int{10, 13, 19, 21, 23, 24, 25}, In: [2]int{2, 3}, Out: [2]int{1, 1},
		Types: Types{tensor.F32, tensor.F16, tensor.BF16, tensor.I32}, New: newQuantizeLinear},
	{Name: "DequantizeLinear", Since: []int{10, 13, 19, 21, 23, 24, 25}, In: [2]int{2, 3}, Out: [2]int{1, 1},
		Types: slices.Concat(allCodes, Types{tensor.I32}), New: newDequantizeLinear},
	{Name: "DynamicQuantizeLinear", Since: []int{11}, In: [2]int{1, 1}, Out: [2]int{3, 3}, Types: Types{tensor.F32}, New: newDynamicQuantizeLinear},
	{Domain: microsoft, Name: "QuantizeLinear", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: Types{tensor.F32, tensor.F16}, New: newQuantizeLinear},
	{Domain: microsoft, Name: "DequantizeLinear", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1},
		Types: slices.Concat(wholeCodes[:6], Types{tensor.I32}), New: newDequantizeLinear},
}

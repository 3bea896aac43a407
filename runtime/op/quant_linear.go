package op

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
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

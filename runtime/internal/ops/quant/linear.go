package quant

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// typeIn returns the element type that an attribute names, or Invalid if it is absent or 0.
func typeIn(n *op.Node, name string, allowed op.Types) (tensor.DType, error) {
	if n.Int(name, 0) == 0 {
		return tensor.Invalid, nil
	}
	return n.ElementType(name, tensor.Invalid, allowed)
}

// QuantizeLinear computes y = saturate(round(x / scale) + zero), with ties rounded to even. Codes
// that are floats are y = round(x / scale + zero).
type QuantizeLinear struct {
	Granularity
	codes     tensor.DType // Invalid for the zero point's type
	precision tensor.DType // of the quotient; Invalid for the scale's type
	Saturate  bool         // numbers too large for 8-bit codes become the largest
}

func newQuantizeLinear(n *op.Node) (op.Op, error) {
	g, err := readGranularity(n)
	if err != nil {
		return nil, err
	}
	o := &QuantizeLinear{Granularity: g, Saturate: n.Since < 19 || n.Bool("saturate", true)}
	if n.Since >= 21 {
		if o.codes, err = typeIn(n, "output_dtype", allCodes); err != nil {
			return nil, err
		}
	}
	if n.Domain == kit.Microsoft {
		o.precision = tensor.F32
	} else if n.Since >= 23 {
		o.precision, err = typeIn(n, "precision", kit.ComputedInF32)
	}
	return o, err
}

// Infer keeps the extents.
func (o *QuantizeLinear) Infer(c *op.Infer) error {
	if err := checkScales(c.In[1]); err != nil {
		return err
	}
	codes := o.codes
	if c.Has(2) {
		zero := c.In[2].DType
		if !allCodes.Has(zero) || codes != tensor.Invalid && codes != zero {
			return graph.Errorf(graph.ErrFormat, "zero points are %v; output_dtype says %v, and codes are %v", c.In[2].Type,
				codes, allCodes)
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

func checkScales(v *op.Value) error {
	if d := v.DType; !kit.ComputedInF32.Has(d) && d != tensor.I32 && d != tensor.F8E8M0 {
		return graph.Errorf(graph.ErrUnsupported,
			"scales are %v; float32, float16, bfloat16, int32 and float8e8m0 are computed", v.Type)
	}
	return nil
}

// Precision returns the float type of quotients, and of scales within them, for scales of type
// scale.
func (o *QuantizeLinear) Precision(scale tensor.DType) tensor.DType {
	p := o.precision
	if p == tensor.Invalid {
		p = scale
	}
	if !kit.ComputedInF32.Has(p) {
		p = tensor.F32
	}
	return p
}

// Run computes codes that are floats.
func (o *QuantizeLinear) Run(c *op.Run) error {
	x, y := c.In[0], c.Out[0]
	if y.DType().IsInteger() {
		return fmt.Errorf("%w: codes of %v are not computed in Go", guard.ErrInternal, y.DType())
	}
	grid, err := o.Grid(graph.DimsOf(x.Shape()), graph.DimsOf(c.In[1].Shape()))
	if err != nil || x.Len() == 0 {
		return err
	}
	precision := o.Precision(c.In[1].DType())
	scale, err := o.scalesIn(c, precision)
	if err != nil {
		return err
	}
	numbers, err := readScales(c, x)
	if err != nil {
		return err
	}
	return roundFloats(c, grid, precision, numbers, scale, c.Given(2), y, o.Saturate)
}

// scalesIn returns the scales, rounded to precision.
func (o *QuantizeLinear) scalesIn(c *op.Run, precision tensor.DType) ([]float32, error) {
	scale, err := readScales(c, c.In[1])
	if err != nil || precision == tensor.F32 || precision == c.In[1].DType() {
		return scale, err
	}
	rounded, err := c.ScratchFloats(len(scale))
	round := elements.Rounding(precision)
	for i := range rounded {
		rounded[i] = round(scale[i])
	}
	return rounded, err
}

// DequantizeLinear computes y = (x - zero) * scale in float32 and rounds once to the output's type.
type DequantizeLinear struct {
	Granularity
	to tensor.DType // Invalid for the scale's type
}

func newDequantizeLinear(n *op.Node) (op.Op, error) {
	g, err := readGranularity(n)
	if err != nil {
		return nil, err
	}
	o := &DequantizeLinear{Granularity: g}
	if n.Since >= 23 {
		o.to, err = typeIn(n, "output_dtype", kit.ComputedInF32)
	}
	return o, err
}

// Infer keeps the extents.
func (o *DequantizeLinear) Infer(c *op.Infer) error {
	to := o.to
	if to == tensor.Invalid {
		to = c.In[1].DType
	}
	if !kit.ComputedInF32.Has(to) {
		return graph.Errorf(graph.ErrUnsupported,
			"scales are %v and output_dtype is %v; results are float32, float16 or bfloat16", c.In[1].Type, o.to)
	}
	if err := checkScales(c.In[1]); err != nil {
		return err
	}
	if err := checkZero(c, 2, c.In[0].DType); err != nil {
		return err
	}
	if err := o.check(c); err != nil {
		return err
	}
	c.Set(0, to, c.In[0].Dims)
	return nil
}

// Run decodes codes that are floats.
func (o *DequantizeLinear) Run(c *op.Run) error {
	x, y := c.In[0], c.Out[0]
	if x.DType().IsInteger() {
		return fmt.Errorf("%w: numbers of %v are not computed in Go", guard.ErrInternal, x.DType())
	}
	grid, err := o.Grid(graph.DimsOf(x.Shape()), graph.DimsOf(c.In[1].Shape()))
	if err != nil || x.Len() == 0 {
		return err
	}
	scale, err := readScales(c, c.In[1])
	if err != nil {
		return err
	}
	zero, err := floatZeros(c, c.Given(2), len(scale))
	if err != nil {
		return err
	}
	out, err := c.FloatsFor(y)
	if err != nil {
		return err
	}
	elements.Get(out, x, 0)
	stretches(c.Pace(), grid, func(at, n, s, step int) {
		for i := at; i < at+n; i, s = i+1, s+step {
			if zero != nil {
				out[i] -= zero[s]
			}
			out[i] *= scale[s]
		}
	})
	c.PutFloats(y, out)
	return nil
}

// DynamicQuantizeLinear quantises x to uint8 by its range, extended to include 0. It outputs codes,
// scale and zero point.
type DynamicQuantizeLinear struct{}

func newDynamicQuantizeLinear(*op.Node) (op.Op, error) { return &DynamicQuantizeLinear{}, nil }

// Infer keeps the extents for the codes.
func (o *DynamicQuantizeLinear) Infer(c *op.Infer) error {
	c.Set(0, tensor.U8, c.In[0].Dims)
	c.Set(1, tensor.F32, graph.Dims{})
	c.Set(2, tensor.U8, graph.Dims{})
	return nil
}

var linearRows = []op.Row{
	{Name: "QuantizeLinear", Since: []int{10, 13, 19, 21, 23, 24, 25}, In: [2]int{2, 3}, Out: [2]int{1, 1},
		Types: op.Types{tensor.F32, tensor.F16, tensor.BF16, tensor.I32}, Items: itemsOfLinear, New: newQuantizeLinear},
	{Name: "DequantizeLinear", Since: []int{10, 13, 19, 21, 23, 24, 25}, In: [2]int{2, 3}, Out: [2]int{1, 1},
		Types: slices.Concat(allCodes, op.Types{tensor.I32}), Items: itemsOfLinear, New: newDequantizeLinear},
	{Name: "DynamicQuantizeLinear", Since: []int{11}, In: [2]int{1, 1}, Out: [2]int{3, 3}, Types: op.Types{tensor.F32}, New: newDynamicQuantizeLinear},
	{Domain: kit.Microsoft, Name: "QuantizeLinear", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32, tensor.F16}, Items: itemsOfLinear, New: newQuantizeLinear},
	{Domain: kit.Microsoft, Name: "DequantizeLinear", Since: []int{1}, In: [2]int{2, 3}, Out: [2]int{1, 1},
		Types: slices.Concat(wholeCodes[:6], op.Types{tensor.I32}), Items: itemsOfLinear, New: newDequantizeLinear},
}

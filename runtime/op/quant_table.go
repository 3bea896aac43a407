package op

import (
	"math"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// codeTable says what becomes of every code of a byte.
type codeTable = [256]byte

// tableOf returns the codes of f of what codes of that type stand for.
func tableOf(d tensor.DType, x, y perTensor, f func(float32) float32) *codeTable {
	low, high := codeRange(d)
	t := new(codeTable)
	for code := low; code <= high; code++ {
		v := math.RoundToEven(float64(f(x.scale*float32(code-int(x.zero))) / y.scale))
		q := low
		if v == v {
			q = int(min(max(v+float64(y.zero), float64(low)), float64(high)))
		}
		t[byte(code)] = byte(q)
	}
	return t
}

// requantize returns the codes of y for the numbers of x, nil where they are the
// same.
func requantize(d tensor.DType, x, y perTensor) *codeTable {
	if x == y {
		return nil
	}
	return tableOf(d, x, y, func(v float32) float32 { return v })
}

// quantUnary is a function of every element of a quantised value, quantised, with
// one scale and one zero point on either side.
type quantUnary struct {
	f      func(float32) float32
	kernel bindings.Kernel
	fixed  *codeTable // of constant scales and zero points; else nil
}

func newQLinearSigmoid(*Node) (Op, error) {
	return &quantUnary{f: func(v float32) float32 { return float32(1 / (1 + math.Exp(-float64(v)))) }}, nil
}

func newQLinearLeakyRelu(n *Node) (Op, error) {
	alpha := n.Float("alpha", 0.01)
	return &quantUnary{f: func(v float32) float32 {
		if v < 0 {
			return alpha * v
		}
		return v
	}}, nil
}

// Infer keeps type and shape.
func (o *quantUnary) Infer(c *Infer) error {
	if err := c.checkCodes(0); err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return c.checkPerTensor(c.In[0].DType, 3, 4)
}

// Prepare chooses the kernel, and makes the table for constant scales.
func (o *quantUnary) Prepare(c *Prepare) (err error) {
	x, okX := c.perTensor(1, 2)
	y, okY := c.perTensor(3, 4)
	if okX && okY {
		o.fixed = tableOf(c.DType(0), x, y, o.f)
	}
	o.kernel, err = c.Kernel("i8_lookup")
	return err
}

// Describe names the kernel.
func (o *quantUnary) Describe() string { return describe(o.kernel) }

// Run computes the codes, which may lie over the input.
func (o *quantUnary) Run(c *Run) error {
	table, x := o.fixed, c.In[0]
	if table == nil {
		from, err := c.perTensor(1, 2)
		if err != nil {
			return err
		}
		to, err := c.perTensor(3, 4)
		if err != nil {
			return err
		}
		table = tableOf(x.DType(), from, to, o.f)
	}
	bindings.QuantLookup(o.kernel, c.Pool, 1, x.Len(), x.Len(), x.Len(), x.Pointer(), table, c.Out[0].Pointer())
	return nil
}

// quantJoin is what operators have in common that pass on codes of several values as
// codes of one scale and zero point.
type quantJoin struct {
	kernel bindings.Kernel
	fixed  []*codeTable // of constant scales and zero points, nil for the same codes
	known  []bool       // whether fixed holds for that value
}

// prepare chooses the kernels, and makes tables for constant scales. Values are inputs
// with scale and zero point behind them, y is the scale of the result, with its zero
// point behind it.
func (o *quantJoin) prepare(c *Prepare, y int, values ...int) (err error) {
	o.fixed, o.known = make([]*codeTable, len(values)), make([]bool, len(values))
	to, ok := c.perTensor(y, y+1)
	for k, i := range values {
		if from, okFrom := c.perTensor(i+1, i+2); ok && okFrom {
			o.fixed[k], o.known[k] = requantize(c.DType(i), from, to), true
		}
	}
	o.kernel, err = c.Kernel("i8_lookup")
	return err
}

// Describe names the kernel.
func (o *quantJoin) Describe() string { return describe(o.kernel) }

// table returns what becomes of the codes of value number k, which is input i; nil
// where they stay.
func (o *quantJoin) table(c *Run, y, k, i int) (*codeTable, error) {
	if o.known[k] {
		return o.fixed[k], nil
	}
	from, err := c.perTensor(i+1, i+2)
	if err != nil {
		return nil, err
	}
	to, err := c.perTensor(y, y+1)
	if err != nil {
		return nil, err
	}
	return requantize(c.In[i].DType(), from, to), nil
}

// quantConcat joins quantised values: inputs 0 and 1 are scale and zero point of the
// result, then come a value, its scale and its zero point in turn.
type quantConcat struct {
	quantJoin
	concat Concat
	values []int // the inputs that are values
}

func newQLinearConcat(n *Node) (Op, error) {
	if (len(n.Inputs)-2)%3 != 0 {
		return nil, graph.Mark(graph.ErrFormat, "%d inputs; the operator takes two, and three for every value", len(n.Inputs))
	}
	if !n.Has("axis") {
		return nil, graph.Mark(graph.ErrFormat, "attribute axis is missing")
	}
	o := &quantConcat{concat: Concat{axis: n.Int("axis", 0)}}
	for i := 2; i < len(n.Inputs); i += 3 {
		o.values = append(o.values, i)
	}
	return o, nil
}

// Infer is that of concat.
func (o *quantConcat) Infer(c *Infer) error {
	if err := c.checkCodes(o.values...); err != nil {
		return err
	}
	d := c.In[o.values[0]].DType
	if err := c.checkPerTensor(d, 0, 1); err != nil {
		return err
	}
	list := make([]*Value, len(o.values))
	for k, i := range o.values {
		list[k] = c.In[i]
	}
	dims, err := o.concat.dims(list)
	if err == nil {
		c.Set(0, d, dims)
	}
	return err
}

// Prepare is that of quantJoin.
func (o *quantConcat) Prepare(c *Prepare) error { return o.prepare(c, 0, o.values...) }

// Run computes the codes.
func (o *quantConcat) Run(c *Run) error {
	y := c.Out[0]
	axis, err := normAxis(o.concat.axis, len(y.Shape()))
	if err != nil {
		return err
	}
	outer, row := y.Shape()[:axis].Len(), y.Shape()[axis:].Len()
	var same []stridedCopy
	at := 0
	for k, i := range o.values {
		x := c.In[i]
		n := x.Shape()[axis:].Len()
		table, err := o.table(c, 0, k, i)
		if err != nil {
			return err
		}
		if table == nil {
			same = append(same, stridedCopy{src: x, dst: y, dstAt: at, axes: []copyAxis{{outer, n, row}, {n, 1, 1}}})
		} else if n*outer > 0 {
			bindings.QuantLookup(o.kernel, c.Pool, outer, n, n, row, x.Pointer(), table, unsafe.Add(y.Pointer(), at))
		}
		at += n
	}
	copyStrided(same...)
	return nil
}

// quantWhere takes codes from one of two quantised values.
type quantWhere struct {
	quantJoin
	pick bindings.Kernel
}

// The inputs of quantWhere.
const (
	whereX      = 1
	whereY      = 4
	whereZScale = 7
)

func newQLinearWhere(*Node) (Op, error) { return &quantWhere{}, nil }

// Infer broadcasts.
func (o *quantWhere) Infer(c *Infer) error {
	if err := c.checkCodes(whereX, whereY); err != nil {
		return err
	}
	cond, x, y := c.In[0], c.In[whereX], c.In[whereY]
	if cond.DType != tensor.Bool || x.DType != y.DType {
		return graph.Mark(graph.ErrShape, "the condition is %v and the values are %v and %v; they must be bool and codes of one type", cond.Type, x.Type, y.Type)
	}
	if err := c.checkPerTensor(x.DType, whereZScale, whereZScale+1); err != nil {
		return err
	}
	dims, err := broadcastAll(cond.Dims, x.Dims, y.Dims)
	if err == nil {
		c.Set(0, x.DType, dims)
	}
	return err
}

// Prepare is that of quantJoin.
func (o *quantWhere) Prepare(c *Prepare) (err error) {
	if o.pick, err = c.Kernel("where_1"); err != nil {
		return err
	}
	return o.prepare(c, whereZScale, whereX, whereY)
}

// Describe names the kernels.
func (o *quantWhere) Describe() string { return describe(o.kernel, o.pick) }

// Run computes the codes.
func (o *quantWhere) Run(c *Run) error {
	cond, out := c.In[0], c.Out[0]
	dims, err := extentsUnder(out.Shape(), cond.Shape(), c.In[whereX].Shape(), c.In[whereY].Shape())
	if err != nil || out.Len() == 0 {
		return err
	}
	lane := func(t *tensor.Tensor) bindings.Lane { return bindings.Lane{Data: t.Pointer(), Bytes: 1} }
	var lanes [2]bindings.Lane
	for k, i := range []int{whereX, whereY} {
		x := c.In[i]
		table, err := o.table(c, whereZScale, k, i)
		if err != nil {
			return err
		}
		if table != nil {
			if x, err = c.scratchTensor(x.DType(), x.Shape()); err != nil {
				return err
			}
			n := x.Len()
			bindings.QuantLookup(o.kernel, c.Pool, 1, n, n, n, c.In[i].Pointer(), table, x.Pointer())
		}
		lanes[k] = lane(x)
	}
	bindings.EltwiseWhere(c.Pool, o.pick, lane(cond), lanes[0], lanes[1], lane(out), dims)
	return nil
}

var quantTableRows = []Row{
	{Domain: microsoft, Name: "QLinearSigmoid", Since: []int{1}, In: [2]int{4, 5}, Optional: these(2), Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{0}, New: newQLinearSigmoid},
	{Domain: microsoft, Name: "QLinearLeakyRelu", Since: []int{1}, In: [2]int{4, 5}, Optional: these(2), Out: [2]int{1, 1}, Types: byteTypes, InPlace: []int{0}, New: newQLinearLeakyRelu},
	{Domain: microsoft, Name: "QLinearConcat", Since: []int{1}, In: [2]int{5, Any}, Optional: func(i int) bool { return i > 1 && i%3 == 1 }, Out: [2]int{1, 1}, Types: byteTypes, Typed: 2, New: newQLinearConcat},
	{Domain: microsoft, Name: "QLinearWhere", Since: []int{1}, In: [2]int{9, 9}, Out: [2]int{1, 1}, Types: byteTypes, Typed: whereX, New: newQLinearWhere},
}

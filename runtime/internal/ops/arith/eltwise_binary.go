package arith

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Binary applies a function to pairs of elements, with broadcasting.
type Binary struct {
	Func string // name of the function
	// Bits computes on elements as unsigned integers of their width.
	Bits bool
	// Swap exchanges the operands: a < b is b > a.
	Swap   bool
	Result tensor.DType // of the output; Invalid for the type of the inputs
	align  alignment
	ints   bool // floats are refused
	// dim is the operation on integers that may be expressions; it is nil if shapes are not
	// computed with the operator.
	dim func(a, b graph.Dim) graph.Dim
}

// Right returns the extents of the right operand aligned with the left.
func (o *Binary) Right(left, right graph.Dims) (graph.Dims, error) { return o.align.dims(left, right) }

// Infer broadcasts the extents.
func (o *Binary) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	if o.ints {
		if err := noFloats(c.In[0].DType); err != nil {
			return err
		}
	}
	a, b := c.In[0], c.In[1]
	right, err := o.align.dims(a.Dims, b.Dims)
	if err != nil {
		return err
	}
	dims, err := op.Broadcast(a.Dims, right)
	if err != nil {
		return err
	}
	d := a.DType
	if o.Result != tensor.Invalid {
		d = o.Result
	}
	c.Set(0, d, dims)
	if o.dim != nil {
		inferInts(c, func(list []graph.Dim) graph.Dim { return o.dim(list[0], list[1]) })
	}
	return nil
}

// newBinary returns a constructor that copies o.
func newBinary(o Binary) func(*op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		b := o
		b.align = readAlignment(n)
		return &b, nil
	}
}

func newPRelu(n *op.Node) (op.Op, error) {
	ignoreConsumed(n)
	o := &Binary{Func: "prelu", align: alignment{oneWay: true}}
	if n.Since < 7 {
		o.align.channels = true
	}
	return o, nil
}

func newMod(n *op.Node) (op.Op, error) {
	if n.Bool("fmod", false) {
		return &Binary{Func: "fmod"}, nil
	}
	return &Binary{Func: "mod", ints: true}, nil
}

func noFloats(d tensor.DType) error {
	if d.IsFloat() {
		return graph.Errorf(graph.ErrUnsupported, "%v elements need the attribute fmod=1", d)
	}
	return nil
}

func newBitShift(n *op.Node) (op.Op, error) {
	switch d := n.Str("direction", ""); d {
	case "LEFT":
		return &Binary{Func: "shl"}, nil
	case "RIGHT":
		return &Binary{Func: "shr"}, nil
	default:
		return nil, graph.Errorf(graph.ErrFormat, "attribute direction is %q; it must be LEFT or RIGHT", d)
	}
}

func binaryRow(name string, since []int, types op.Types, o Binary) op.Row {
	return op.Row{Name: name, Since: since, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: types, InPlace: []int{0, 1},
		Elementwise: true, New: newBinary(o)}
}

var (
	arithmetic = []int{1, 6, 7, 13, 14}
	unsigned32 = op.Types{tensor.U32, tensor.U64}
	preluTypes = slices.Concat(op.Floats, op.Types{tensor.I32, tensor.I64}, unsigned32)
)

// Integers wrap around. Quotients of integers are rounded towards zero, and a quotient or remainder
// by zero is 0.
var binaryRows = []op.Row{
	differentiable(binaryRow("Add", arithmetic, op.Numeric, Binary{Func: "add", dim: addDims}), addDerivative),
	differentiable(binaryRow("Sub", arithmetic, op.Numeric, Binary{Func: "sub", dim: subDims}), subDerivative),
	differentiable(binaryRow("Mul", arithmetic, op.Numeric, Binary{Func: "mul", dim: mulDims}), mulDerivative),
	differentiable(binaryRow("Div", arithmetic, op.Numeric, Binary{Func: "div", dim: divDims}), divDerivative),
	binaryRow("BitwiseAnd", []int{18}, op.Integers, Binary{Func: "bitand", Bits: true}),
	binaryRow("BitwiseOr", []int{18}, op.Integers, Binary{Func: "bitor", Bits: true}),
	binaryRow("BitwiseXor", []int{18}, op.Integers, Binary{Func: "bitxor", Bits: true}),
	{Name: "BitShift", Since: []int{11}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Unsigned, InPlace: []int{0, 1}, Elementwise: true, New: newBitShift},
	{Name: "Mod", Since: []int{10, 13}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Numeric, InPlace: []int{0, 1}, Elementwise: true, New: newMod},
	{Name: "PRelu", Since: []int{1, 6, 7, 9, 16}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: preluTypes, InPlace: []int{0, 1}, Elementwise: true, New: newPRelu},
}

package op

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// pairwise applies one kernel to pairs of elements, with broadcasting.
type pairwise struct {
	kernel string
	// bits says that the kernel is named after the unsigned type of the same width.
	bits bool
	// swap exchanges the operands: a < b is b > a.
	swap   bool
	result tensor.DType // of the output; Invalid for that of the inputs
	align  alignment
	// dim is the operation on integers that may be expressions; nil if shapes are
	// not computed with it.
	dim func(a, b graph.Dim) graph.Dim

	fn      bindings.Kernel
	path    path
	outPath path
}

func (o *pairwise) Prepare(c *Prepare) error {
	d := c.DType(0)
	compute := wide(d)
	if o.bits {
		compute = unsignedOf(d)
	}
	var err error
	if o.path = (path{bytes: d.Bits() / 8}); !o.bits {
		if o.path, err = pathTo(c, d, compute); err != nil {
			return err
		}
	}
	o.outPath = o.path
	if o.result == tensor.Bool {
		o.outPath = path{bytes: 1}
	}
	o.fn, err = kernelFor(c, compute, o.kernel)
	return err
}

func (o *pairwise) Infer(c *Infer) error {
	if err := sameTypes(c.In); err != nil {
		return err
	}
	a, b := c.In[0], c.In[1]
	right, err := o.align.dims(a.Dims, b.Dims)
	if err != nil {
		return err
	}
	dims, err := broadcast(a.Dims, right)
	if err != nil {
		return err
	}
	d := a.DType
	if o.result != tensor.Invalid {
		d = o.result
	}
	c.Set(0, d, dims)
	if o.dim != nil {
		inferInts(c, func(list []graph.Dim) graph.Dim { return o.dim(list[0], list[1]) })
	}
	return nil
}

func (o *pairwise) Run(c *Run) error {
	a, b, y := c.In[0].Aligned(), c.In[1].Aligned(), c.Out[0]
	right, err := o.align.shape(a.Shape(), b.Shape())
	if err != nil {
		return err
	}
	left := a.Shape()
	if o.swap {
		a, b, left, right = b, a, right, left
	}
	dims, err := extentsUnder(y.Shape(), left, right)
	if err != nil || y.Len() == 0 {
		return err
	}
	bindings.EltwiseBinary(c.Pool, o.fn, o.path.source(a), o.path.source(b), o.outPath.sink(y), dims)
	return nil
}

func (o *pairwise) Describe() string { return o.fn.Op() + " " + o.fn.Variant() }

// newBinary returns a constructor that copies o.
func newBinary(o pairwise) func(*Node) (Op, error) {
	return func(n *Node) (Op, error) {
		b := o
		b.align = readAlignment(n)
		return &b, nil
	}
}

func newPRelu(n *Node) (Op, error) {
	ignoreConsumed(n)
	o := &pairwise{kernel: "prelu", align: alignment{oneWay: true}}
	if n.Since < 7 {
		o.align.channels = true
	}
	return o, nil
}

func newMod(n *Node) (Op, error) {
	if n.Bool("fmod", false) {
		return &pairwise{kernel: "fmod"}, nil
	}
	return &modulo{pairwise{kernel: "mod"}}, nil
}

// modulo is the remainder with the sign of the divisor, for integers only.
type modulo struct{ pairwise }

func (o *modulo) Prepare(c *Prepare) error {
	if err := noFloats(c.DType(0)); err != nil {
		return err
	}
	return o.pairwise.Prepare(c)
}

func (o *modulo) Infer(c *Infer) error {
	if err := noFloats(c.In[0].DType); err != nil {
		return err
	}
	return o.pairwise.Infer(c)
}

func noFloats(d tensor.DType) error {
	if d.IsFloat() {
		return graph.Mark(graph.ErrUnsupported, "%v elements need the attribute fmod=1", d)
	}
	return nil
}

func newBitShift(n *Node) (Op, error) {
	switch d := n.Str("direction", ""); d {
	case "LEFT":
		return &pairwise{kernel: "shl"}, nil
	case "RIGHT":
		return &pairwise{kernel: "shr"}, nil
	default:
		return nil, graph.Mark(graph.ErrFormat, "attribute direction is %q; it must be LEFT or RIGHT", d)
	}
}

func binaryRow(name string, since []int, types Types, o pairwise) Row {
	return Row{Name: name, Since: since, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: types, InPlace: []int{0, 1}, New: newBinary(o)}
}

var (
	arithmetic = []int{1, 6, 7, 13, 14}
	unsigned32 = Types{tensor.U32, tensor.U64}
	preluTypes = slices.Concat(floats, Types{tensor.I32, tensor.I64}, unsigned32)
)

// Integers wrap around. Their quotients are rounded towards zero, and a quotient
// or remainder by zero is 0.
var binaryRows = []Row{
	binaryRow("Add", arithmetic, numeric, pairwise{kernel: "add", dim: addDims}),
	binaryRow("Sub", arithmetic, numeric, pairwise{kernel: "sub", dim: subDims}),
	binaryRow("Mul", arithmetic, numeric, pairwise{kernel: "mul", dim: mulDims}),
	binaryRow("Div", arithmetic, numeric, pairwise{kernel: "div", dim: divDims}),
	binaryRow("BitwiseAnd", []int{18}, integers, pairwise{kernel: "bitand", bits: true}),
	binaryRow("BitwiseOr", []int{18}, integers, pairwise{kernel: "bitor", bits: true}),
	binaryRow("BitwiseXor", []int{18}, integers, pairwise{kernel: "bitxor", bits: true}),
	{Name: "BitShift", Since: []int{11}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: unsigned, InPlace: []int{0, 1}, New: newBitShift},
	{Name: "Mod", Since: []int{10, 13}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: numeric, InPlace: []int{0, 1}, New: newMod},
	{Name: "PRelu", Since: []int{1, 6, 7, 9, 16}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: preluTypes, InPlace: []int{0, 1}, New: newPRelu},
}

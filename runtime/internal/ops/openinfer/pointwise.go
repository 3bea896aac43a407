package openinfer

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// function computes the elements y of a result from the operands' elements.
type function[C number] func(y []C, in [][]C, p *params[C])

// params holds the parameters of a function.
type params[C number] struct {
	bits int // of an element
	Numbers[C]
}

// Numbers holds the numbers that a function takes as inputs, or their defaults. Limit reports that
// B is given, for functions without a default for B.
type Numbers[C number] struct {
	A, B  C
	Limit bool
}

// pointwise is an operator on corresponding elements, with broadcasting.
type pointwise struct {
	name     string
	operands int
	result   tensor.DType // of the output; Invalid for the operands' type
	acc      bool         // the attribute acc is allowed
	bools    bool         // also computed on bools, as on unsigned integers
	// The functions by the type in which elements are computed. A function is nil if the operator
	// does not take such elements.
	i function[int64]
	u function[uint64]
	f function[float32]
	d function[float64]
	// scalars is the number of further, optional inputs. how turns them into params.
	scalars int
	how     scalarRule
}

// Pointwise is an operator on corresponding elements.
type Pointwise struct {
	*pointwise
	acc tensor.DType // of the output; Invalid for none
}

// Name returns the operator's name.
func (o *Pointwise) Name() string { return o.name }

// Operands returns the number of inputs that are operands. Numbers follow them.
func (o *Pointwise) Operands() int { return o.operands }

func (o *pointwise) types() (list op.Types) {
	if o.f != nil {
		list = slices.Concat(list, singleTypes, doubleTypes)
	}
	if o.i != nil {
		list = append(list, signedTypes...)
	}
	if o.u != nil {
		list = append(list, unsignedTypes...)
	}
	if o.bools {
		list = append(list, tensor.Bool)
	}
	return list
}

func (o *pointwise) row() op.Row {
	return op.Row{Domain: Domain, Name: o.name, Since: []int{1}, In: [2]int{o.operands, o.operands + o.scalars},
		Out: [2]int{1, 1}, Types: o.types(), InPlace: []int{0}, New: func(n *op.Node) (_ op.Op, err error) {
			node := &Pointwise{pointwise: o}
			if o.acc {
				node.acc, err = accumulator(n)
			}
			return node, err
		}}
}

// Infer broadcasts the extents.
func (o *Pointwise) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In[:o.operands]); err != nil {
		return err
	}
	dims := c.In[0].Dims
	for _, in := range c.In[1:o.operands] {
		var err error
		if dims, err = op.Broadcast(dims, in.Dims); err != nil {
			return err
		}
	}
	d := c.In[0].DType
	switch {
	case o.acc != tensor.Invalid:
		if d.Kind() != o.acc.Kind() || d.Bits() >= o.acc.Bits() {
			return graph.Errorf(graph.ErrUnsupported, "acc=%v does not widen %v elements", o.acc, d)
		}
		d = o.acc
	case o.result != tensor.Invalid:
		d = o.result
	}
	c.Set(0, d, dims)
	return nil
}

// Run computes the output block by block.
func (o *Pointwise) Run(c *op.Run) error {
	switch d := c.In[0].DType(); {
	case d == tensor.F64:
		return runPointwise(c, o, o.d)
	case d.IsFloat():
		return runPointwise(c, o, o.f)
	case d.Kind() == tensor.Signed:
		return runPointwise(c, o, o.i)
	}
	return runPointwise(c, o, o.u)
}

func runPointwise[C number](c *op.Run, o *Pointwise, f function[C]) error {
	out := c.Out[0]
	p := &params[C]{bits: c.In[0].DType().Bits()}
	if c.In[0].DType() == tensor.Bool {
		p.bits = 1
	}
	n, err := NumbersOf[C](o, c.In[0].DType(), c.In[min(o.operands, len(c.In)):])
	if err != nil {
		return err
	}
	p.Numbers = n
	in := make([]spread, o.operands)
	for i := range in {
		if in[i], err = spreadTo(c.In[i], out.Shape()); err != nil {
			return err
		}
	}
	return eachBlock(c, out, in, f, p)
}

// eachBlock computes the output by blocks. It reads all operands of a block before it writes the
// block, so the output may share the memory of an operand with its shape and width.
func eachBlock[C number](c *op.Run, out *tensor.Tensor, in []spread, f function[C], p *params[C]) error {
	err := c.Parallel(out.Len(), share, func(from, to int) error {
		y, blocks, now := make([]C, block), make([][]C, len(in)), make([][]C, len(in))
		for i := range blocks {
			blocks[i] = make([]C, block)
		}
		for at := from; at < to; at += block {
			if c.Stopped() {
				return op.ErrStopped
			}
			size := min(block, to-at)
			for i := range in {
				now[i] = blocks[i][:size]
				loadSpread(now[i], &in[i], at)
			}
			f(y[:size], now, p)
			store(out, at, y[:size])
		}
		return nil
	})
	clearTail(out)
	return err
}

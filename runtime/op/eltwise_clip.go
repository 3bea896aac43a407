package op

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// clip moves every element into an interval, whose ends are attributes before
// operator set 11 and inputs since.
type clip struct {
	unary
	inputs bool
}

func newClip(n *Node) (Op, error) {
	ignoreConsumed(n)
	o := &clip{unary: unary{kernel: "clip"}, inputs: n.Since >= 11}
	if !o.inputs {
		o.p = float64(n.Float("min", -math.MaxFloat32))
		o.q = float64(n.Float("max", math.MaxFloat32))
	}
	return o, nil
}

func (o *clip) Infer(c *Infer) error {
	if err := sameTypes(c.In); err != nil {
		return err
	}
	for i := 1; i < 3; i++ {
		if c.Has(i) {
			if n, ok := c.In[i].Dims.Len().Value(); ok && c.In[i].Dims != nil && n != 1 {
				return graph.Mark(graph.ErrShape, "input %d has shape %v; it must be one number", i, c.In[i].Dims)
			}
		}
	}
	return o.unary.Infer(c)
}

func (o *clip) Run(c *Run) error {
	if !o.inputs {
		return o.unary.Run(c)
	}
	for i := 1; i < 3; i++ {
		if c.Has(i) && c.In[i].Len() != 1 {
			return graph.Mark(graph.ErrShape, "input %d has shape %v; it must be one number", i, c.In[i].Shape())
		}
	}
	bound := *o
	bound.params = limits(c)
	return bound.unary.Run(c)
}

// limits are the kernel's parameters with the values of inputs 1 and 2.
func limits(c *Run) *bindings.Params {
	switch c.In[0].DType() {
	case tensor.F64:
		return limitsOf(c, -math.MaxFloat64, math.MaxFloat64)
	case tensor.I8:
		return limitsOf[int8](c, math.MinInt8, math.MaxInt8)
	case tensor.I16:
		return limitsOf[int16](c, math.MinInt16, math.MaxInt16)
	case tensor.I32:
		return limitsOf[int32](c, math.MinInt32, math.MaxInt32)
	case tensor.I64:
		return limitsOf[int64](c, math.MinInt64, math.MaxInt64)
	case tensor.U8:
		return limitsOf[uint8](c, 0, math.MaxUint8)
	case tensor.U16:
		return limitsOf[uint16](c, 0, math.MaxUint16)
	case tensor.U32:
		return limitsOf[uint32](c, 0, math.MaxUint32)
	case tensor.U64:
		return limitsOf[uint64](c, 0, math.MaxUint64)
	case tensor.F32:
		return limitsOf(c, -float32(math.MaxFloat32), math.MaxFloat32)
	}
	hi := packed.F16(0x7bff).Float32() // the largest number
	if c.In[0].DType() == tensor.BF16 {
		hi = packed.BF16(0x7f7f).Float32()
	}
	lo := -hi
	if c.Has(1) {
		lo = halfAt(c.In[1])
	}
	if c.Has(2) {
		hi = halfAt(c.In[2])
	}
	return bindings.ParamsOf(lo, hi)
}

func limitsOf[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64](c *Run, lo, hi T) *bindings.Params {
	if c.Has(1) {
		lo = tensor.View[T](c.In[1].Aligned())[0]
	}
	if c.Has(2) {
		hi = tensor.View[T](c.In[2].Aligned())[0]
	}
	return bindings.ParamsOf(lo, hi)
}

var clipRows = []Row{
	{Name: "Clip", Since: []int{1, 6, 11, 12, 13}, In: [2]int{1, 1}, Later: []Arity{{Since: 11, In: [2]int{1, 3}}}, Out: [2]int{1, 1}, Types: numeric, InPlace: []int{0}, New: newClip},
}

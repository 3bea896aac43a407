package array

import (
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Scatter copies the input and then writes updates, or reduces them into it, at given indices:
// single elements along an axis, or blocks by tuples of indices.
type Scatter struct {
	Axis   int    // of single elements
	Tuples bool   // whether indices are tuples
	Reduce string // none, add, mul, max or min
}

func newScatterElements(n *op.Node) (op.Op, error) {
	o := &Scatter{Axis: n.Int("axis", 0)}
	return o, o.readReduction(n)
}

func newScatterND(n *op.Node) (op.Op, error) {
	o := &Scatter{Tuples: true}
	return o, o.readReduction(n)
}

func (o *Scatter) readReduction(n *op.Node) error {
	o.Reduce = "none"
	// Version 18 added max and min; exporters write them into version 16 too.
	known := []string{"none", "add", "mul", "max", "min"}
	if n.Since >= 16 {
		o.Reduce = n.Str("reduction", "none")
	}
	if !slices.Contains(known, o.Reduce) {
		return graph.Errorf(graph.ErrFormat, "reduction %q is not one of %q", o.Reduce, known)
	}
	return nil
}

func (o *Scatter) Infer(c *op.Infer) error {
	data, updates := c.In[0].Type, c.In[2].Type
	c.Set(0, data.DType, data.Dims)
	if updates.DType != data.DType {
		return graph.Errorf(graph.ErrShape, "updates are %v, data %v", updates.DType, data.DType)
	}
	if o.Reduce != "none" && !op.Numeric.Has(data.DType) {
		return graph.Errorf(graph.ErrUnsupported, "reduction %s of elements of type %v", o.Reduce, data.DType)
	}
	want := c.In[1].Dims
	if o.Tuples {
		tuple, ok, err := checkTuples(c, 0)
		if err != nil || !ok {
			return err
		}
		want = kit.JoinDims(want[:len(want)-1], data.Dims[tuple:])
	} else if err := checkElements(c, o.Axis); err != nil {
		return err
	}
	if want == nil || updates.Dims == nil {
		return nil
	}
	ok := len(want) == len(updates.Dims)
	for i := 0; ok && i < len(want); i++ {
		_, ok = kit.JoinDim(want[i], updates.Dims[i])
	}
	if !ok {
		return graph.Errorf(graph.ErrShape, "updates are %v where %v is needed", updates, want)
	}
	return nil
}

func (o *Scatter) Run(c *op.Run) error {
	data, updates, out := c.In[0], c.In[2], c.Out[0]
	var places []int64
	var err error
	block := 1
	if o.Tuples {
		places, block, err = blockNumbers(c, 0)
	} else {
		places, err = elementOffsets(c, o.Axis)
	}
	if err != nil {
		return err
	}
	kit.CopyInto(out, data)
	if o.Reduce == "none" {
		putBlocks(c.Pace(), out, updates, places, block)
		return nil
	}
	return reduceBlocks(c.Pace(), o.Reduce, out, updates.Aligned(), places, block)
}

// putBlocks writes block i of src to block places[i] of dst, in order.
func putBlocks(pace *op.Pace, dst, src *tensor.Tensor, places []int64, block int) {
	w, l := kit.Width(dst.DType())*block, dst.DType().Layout()
	for i, p := range places {
		pace.Work(8 + block)
		at := int(p)
		switch {
		case w > 0:
			copy(dst.Bytes()[at*w:][:w], src.Bytes()[i*w:])
		case l == nil:
			copy(dst.Strings()[at*block:][:block], src.Strings()[i*block:])
		default:
			for j := range block {
				l.Set(dst.Bytes(), at*block+j, l.At(src.Bytes(), i*block+j))
			}
		}
	}
}

// reduceBlocks reduces block i of src into block places[i] of dst, in order.
func reduceBlocks(pace *op.Pace, reduce string, dst, src *tensor.Tensor, places []int64, block int) error {
	switch dst.DType() {
	case tensor.F32:
		reduceAt[float32](pace, reduce, dst, src, places, block)
	case tensor.F64:
		reduceAt[float64](pace, reduce, dst, src, places, block)
	case tensor.I8:
		reduceAt[int8](pace, reduce, dst, src, places, block)
	case tensor.I16:
		reduceAt[int16](pace, reduce, dst, src, places, block)
	case tensor.I32:
		reduceAt[int32](pace, reduce, dst, src, places, block)
	case tensor.I64:
		reduceAt[int64](pace, reduce, dst, src, places, block)
	case tensor.U8:
		reduceAt[uint8](pace, reduce, dst, src, places, block)
	case tensor.U16:
		reduceAt[uint16](pace, reduce, dst, src, places, block)
	case tensor.U32:
		reduceAt[uint32](pace, reduce, dst, src, places, block)
	case tensor.U64:
		reduceAt[uint64](pace, reduce, dst, src, places, block)
	case tensor.F16:
		f := reductionOf[float32](reduce)
		half := func(a, b packed.F16) packed.F16 { return packed.ToF16(f(a.Float32(), b.Float32())) }
		reduceWith(pace, half, tensor.View[packed.F16](dst), tensor.View[packed.F16](src), places, block)
	case tensor.BF16:
		f := reductionOf[float32](reduce)
		half := func(a, b packed.BF16) packed.BF16 { return packed.ToBF16(f(a.Float32(), b.Float32())) }
		reduceWith(pace, half, tensor.View[packed.BF16](dst), tensor.View[packed.BF16](src), places, block)
	default:
		return graph.Errorf(graph.ErrUnsupported, "reduction %s of elements of type %v", reduce, dst.DType())
	}
	return nil
}

func reduceAt[T kit.Number](pace *op.Pace, reduce string, dst, src *tensor.Tensor, places []int64, block int) {
	reduceWith(pace, reductionOf[T](reduce), tensor.View[T](dst), tensor.View[T](src), places, block)
}

func reduceWith[T any](pace *op.Pace, f func(a, b T) T, dst, src []T, places []int64, block int) {
	for i, p := range places {
		pace.Work(8 + 2*block)
		to, from := dst[int(p)*block:][:block], src[i*block:]
		for j := range to {
			to[j] = f(to[j], from[j])
		}
	}
}

// reductionOf returns the function of a reduction. If an operand is NaN, so is the result.
func reductionOf[T kit.Number](reduce string) func(a, b T) T {
	switch reduce {
	case "add":
		return func(a, b T) T { return a + b }
	case "mul":
		return func(a, b T) T { return a * b }
	case "max":
		return func(a, b T) T { return max(a, b) }
	}
	return func(a, b T) T { return min(a, b) }
}

var scatterRows = []op.Row{
	{Name: "Scatter", Since: []int{9, 11}, In: [2]int{3, 3}, Out: [2]int{1, 1}, New: newScatterElements, InPlace: []int{0}},
	{Name: "ScatterElements", Since: []int{11, 13, 16, 18}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Items: itemsOfElements(0), New: newScatterElements, InPlace: []int{0}},
	{Name: "ScatterND", Since: []int{11, 13, 16, 18}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Heap: 8, New: newScatterND, InPlace: []int{0}},
}

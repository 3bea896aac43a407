package array

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Gather takes slices of an axis by index.
type Gather struct {
	Axis int
}

func newGather(n *op.Node) (op.Op, error) { return &Gather{Axis: n.Int("axis", 0)}, nil }

func (o *Gather) Infer(c *op.Infer) error {
	in, index := c.In[0], c.In[1]
	if !op.IsIndex(index.DType) {
		return graph.Errorf(graph.ErrShape, "indices are %v, not int32 or int64", index.DType)
	}
	rank, ok := in.Rank()
	c.Set(0, in.DType, nil)
	if !ok {
		return nil
	}
	axis, err := op.NormAxis(o.Axis, rank)
	if err != nil {
		return err
	}
	if in.DType.Blocks() != nil && axis == rank-1 {
		return graph.Errorf(graph.ErrUnsupported, "blocks of %v lie along axis %d and are not divided; Cast makes floats of them", in.DType, axis)
	}
	if index.Dims == nil {
		return nil
	}
	c.Set(0, in.DType, kit.JoinDims(in.Dims[:axis], index.Dims, in.Dims[axis+1:]))
	list, ok1 := in.IntVec()
	picks, ok2 := index.KnownInts()
	if ok1 && ok2 && rank == 1 && len(index.Dims) < 2 {
		out := make([]graph.Dim, len(picks))
		for i, p := range picks {
			if p, err = normIndex(p, len(list)); err != nil {
				return err
			}
			out[i] = list[p]
		}
		c.SetInts(0, out)
	}
	return nil
}

// normIndex returns an index into n elements as a number in 0..n-1. A negative index counts from
// the end.
func normIndex(i, n int) (int, error) {
	if i < -n || i >= n {
		return 0, graph.Errorf(graph.ErrShape, "index %d is not one of %d elements", i, n)
	}
	if i < 0 {
		i += n
	}
	return i, nil
}

// normIndices checks the indices into n elements and writes them to dst as numbers in 0..n-1.
func normIndices(dst []int64, t *tensor.Tensor, n int) error {
	if t.DType() == tensor.I32 {
		return normAll(dst, tensor.View[int32](t.Aligned()), n)
	}
	return normAll(dst, tensor.View[int64](t.Aligned()), n)
}

func normAll[T int32 | int64](dst []int64, src []T, n int) error {
	for i, v := range src {
		x := int64(v)
		if x < 0 {
			x += int64(n)
		}
		if x < 0 || x >= int64(n) {
			return graph.Errorf(graph.ErrShape, "index %d is not one of %d elements", v, n)
		}
		dst[i] = x
	}
	return nil
}

func (o *Gather) Run(c *op.Run) error {
	in := c.In[0].Shape()
	axis, err := op.NormAxis(o.Axis, len(in))
	if err != nil {
		return err
	}
	index, err := c.ScratchInt64s(c.In[1].Len())
	if err != nil {
		return err
	}
	if err := normIndices(index, c.In[1], in[axis]); err != nil {
		return err
	}
	inner := in[axis+1:].Len()
	if d := c.In[0].DType(); d.Blocks() != nil && inner%d.Blocks().Elements != 0 {
		return graph.Errorf(graph.ErrUnsupported, "blocks of %v are not divided", d)
	}
	if d := c.In[0].DType(); d.Blocks() == nil {
		kit.GatherBlocks(c.Pace(), c.In[0], c.Out[0], index, in[:axis].Len(), in[axis], inner)
	} else {
		kit.GatherBytes(c.Pace(), c.In[0].Bytes(), c.Out[0].Bytes(), index, in[:axis].Len(), in[axis], d.Bytes(inner))
	}
	return nil
}

var gatherRows = []op.Row{
	{Name: "Gather", Since: []int{1, 11, 13}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Selects: true, Blocks: true, Items: itemsOfGather, New: newGather},
}

package kit

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// RowsOf returns a Rowwise of operators that always read the given inputs row by row.
func RowsOf(inputs ...int) op.Rowwise {
	return func(*graph.Node, []*op.Value, int) []int { return inputs }
}

// RowsAlongLast returns a Rowwise of operators that read the given inputs row by row if attribute
// axis, by default def, is the last axis. Without inputs, all are read so.
func RowsAlongLast(def int, inputs ...int) op.Rowwise {
	return func(n *graph.Node, in []*op.Value, rank int) []int {
		if axis := (&op.Node{Node: n}).Int("axis", def); axis != -1 && axis != rank-1 {
			return nil
		}
		if len(inputs) == 0 {
			return every(in)
		}
		return inputs
	}
}

// RowInputs returns the inputs of a node of the row's operator that are read row by row, as Rowwise
// does. An elementwise operator reads all inputs so.
func RowInputs(row *op.Row, n *graph.Node, in []*op.Value, rank int) []int {
	switch {
	case row.Rowwise != nil:
		return row.Rowwise(n, in, rank)
	case !row.Elementwise || len(in) > 1 && row.Domain == "" && n.Version < 7:
		// Before version 7 the second operand may be aligned with the first axes.
		return nil
	case len(in) > 0 && in[0] != nil && in[0].DType.Blocks() != nil:
		return nil
	}
	return every(in)
}

func every(in []*op.Value) []int {
	list := make([]int, len(in))
	for i := range list {
		list[i] = i
	}
	return list
}

// MayHaveRows reports whether a value may have several matrix rows. v is nil if an input is left
// out.
func MayHaveRows(v *op.Value) bool {
	if v == nil {
		return false
	}
	rank, ok := v.Rank()
	return !ok || rank >= 2 && !v.Dims[rank-2].Is(1)
}

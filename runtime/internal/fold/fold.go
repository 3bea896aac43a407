// Package fold says which nodes are computed before any run: nodes of constants whose results are
// worth keeping.
package fold

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Limits bounds the nodes that are computed.
type Limits struct {
	Inputs int // the most bytes of a node's inputs
	Growth int // the most bytes of an output beyond the node's inputs
	Total  int // the most bytes of all outputs of a graph
}

// Facts bounds the nodes that inference computes, because extents follow from their results. Total
// includes the subgraphs.
var Facts = Limits{Inputs: 1 << 16, Growth: 1 << 16, Total: 16 << 20}

// Constants bounds the nodes that constants replace. A constant that expands is cheaper to compute
// in each run than to keep. Total is beyond twice the constants that the results come from: without
// it, each node of a chain could double a constant.
var Constants = Limits{Inputs: math.MaxInt, Growth: 1 << 20, Total: 64 << 20}

// Operands returns the inputs of node n if l lets the node be computed: its row is pure, its inputs
// are constant, and the extents of its outputs are known and within the limits. Otherwise ok is
// false. An input that n leaves out is nil. An output that n leaves out does not count.
func (l Limits) Operands(n *graph.Node, row *op.Row, in, out []*op.Value) (list []*tensor.Tensor, ok bool) {
	if row.DynamicOutputs || row.Impure {
		return nil, false
	}
	list = make([]*tensor.Tensor, len(in))
	total := 0
	for i, v := range in {
		if v == nil {
			continue
		}
		if v.Const == nil {
			return nil, false
		}
		list[i] = v.Const
		total += sizeOf(v.Const)
	}
	if total > l.Inputs {
		return nil, false
	}
	for i, v := range out {
		if n.Outputs[i] == "" {
			continue
		}
		shape, ok := v.Dims.Concrete()
		if !ok || max(v.DType.Bytes(shape.Len()), shape.Len()) > total+l.Growth {
			return nil, false
		}
	}
	return list, true
}

// sizeOf returns the bytes of a constant, at least one for each element. Blocks count as they are, so
// that large ones are not expanded to floats.
func sizeOf(t *tensor.Tensor) int {
	if t.DType().Blocks() != nil {
		return t.Size()
	}
	return max(t.Size(), t.Len())
}

package nn

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// itemsOfSoftmax is the Items of Softmax and its siblings along another axis. Before version 13 they
// merge all axes from theirs on.
func itemsOfSoftmax(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	if n.Version >= 13 {
		return kit.ItemsBeside(-1)(n, in, at, out)
	}
	return itemsBefore(1)(n, in, at, out)
}

// itemsBefore returns an Items of operators that compute along all axes from attribute axis on, by
// default def. The other inputs are broadcast to input 0.
func itemsBefore(def int) op.Items {
	return func(n *graph.Node, in []*op.Value, at []int, _ []*op.Value) []int {
		rank, ok := in[0].Rank()
		if !ok || at[0] < 0 || at[0] >= kit.Axis((&op.Node{Node: n}).Int("axis", def), rank) {
			return nil
		}
		for i := 1; i < len(in); i++ {
			if in[i] != nil && !kit.FitsItems(in[i], at[i], rank, at[0], in[0].Dims[at[0]]) {
				return nil
			}
		}
		return slices.Repeat(at[:1], len(n.Outputs))
	}
}

// itemsOfSkipNorm is the Items of normalizations of the sum of inputs 0 and 1 along the last axis. They
// have outputs of the same axes.
func itemsOfSkipNorm(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := in[0].Rank()
	if !ok || at[0] < 0 || at[0] == rank-1 || !kit.AllShared(at[2:]) ||
		!kit.FitsItems(in[1], at[1], rank, at[0], in[0].Dims[at[0]]) {
		return nil
	}
	return slices.Repeat(at[:1], len(n.Outputs))
}

// itemsOfMeanVariance is the Items of MeanVarianceNormalization that keeps the batch apart.
func itemsOfMeanVariance(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	rank, ok := in[0].Rank()
	axes := (&op.Node{Node: n}).Ints("axes")
	if !ok || axes == nil || slices.ContainsFunc(axes, func(axis int) bool { return kit.Axis(axis, rank) == at[0] }) {
		return nil
	}
	return kit.ItemsKept(n, in, at, out)
}

// itemsOfDropout is the Items of Dropout that is not trained, and keeps all elements.
func itemsOfDropout(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	if n.Version < 7 || len(in) > 2 && in[2] != nil {
		return nil
	}
	return kit.ItemsKept(n, in, at, out)
}

// itemsOfRecurrent is the Items of recurrent layers: the batch is an axis of the sequences in input 0, of
// their lengths and of the states before them.
func itemsOfRecurrent(n *graph.Node, in []*op.Value, at []int, out []*op.Value) []int {
	const sequence, lengths, hidden, cell = 0, 4, 5, 6
	batch, states, whole := 1, 1, 2 // axes of inputs and last states, and of all states
	if (&op.Node{Node: n}).Int("layout", 0) != 0 {
		batch, states, whole = 0, 0, 0
	}
	for i, axis := range at {
		want := op.Shared
		switch {
		case in[i] == nil:
		case i == sequence:
			want = batch
		case i == lengths:
			want = 0
		case i == hidden || i == cell:
			want = states
		}
		if axis != want {
			return nil
		}
	}
	list := slices.Repeat([]int{states}, len(n.Outputs))
	if len(list) > 0 {
		list[0] = whole
	}
	return list
}

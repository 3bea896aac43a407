package kit

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Counter is an Op for which all unknown extents of outputs are one number, counted during the run.
// A device that runs it writes the elements of outputs consecutively into memory for the largest
// possible count.
type Counter interface {
	op.Op
	// Most returns the upper limit of the count for inputs of the given extents, nil for inputs
	// left out.
	Most(in []tensor.Shape) int
}

// Sliding is an Op with a kernel, its second input, that slides over its first.
type Sliding interface {
	op.Op
	// Slides returns the geometry along each spatial axis.
	Slides(x, kernel tensor.Shape) ([]Slide, error)
}

// Slide has the extents of one spatial axis and the padding before the value. The padding after the
// value follows from Out.
type Slide struct{ In, Out, Kernel, Stride, Dilation, Pad int }

// BodyLooper is an Op that runs a graph as an op.Stream.
type BodyLooper interface {
	// Loops describes the runs of a graph for inputs of the node that are partly known. If the
	// graph does not run in a Stream, or too little is known, it returns nil.
	Loops(attr string, in []*op.Value) *Loops
}

// Loops is an op.Loop as far as it is known before the node runs.
type Loops struct {
	op.Loop
	// Types has, by input, the types of the graph's inputs in a run that adds a row, without
	// states.
	Types map[int]graph.Type
	// Assumed lists the values assumed for numbers that only the run knows; it is empty for none.
	Assumed string
}

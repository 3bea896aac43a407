package container

import "github.com/nacre-ml/nacre/runtime/graph"

// ErrNoNetwork is the error of a file that describes no network.
var ErrNoNetwork = graph.Errorf(graph.ErrUnsupported, "no network, so there is nothing to run")

// Lowering says how the network of a file becomes nodes. The zero value computes what
// the format's users expect.
type Lowering struct {
	// Quirks computes what the format's own program computes, also where that is
	// surprising or wrong.
	Quirks bool
	// Seed is that of weights that a file does not have and the format's own program draws
	// at random. Equal seeds give equal weights.
	Seed uint64
	// Ranks gives inputs that the file lets have any number of axes the usual number, as
	// files need that declare inputs.
	Ranks bool
	// Portable uses no element types but those that ONNX Runtime computes with.
	Portable bool
}

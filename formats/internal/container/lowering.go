package container

import (
	"errors"
	"fmt"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
)

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
	// Budget counts the bytes of weights that are made; nil for any number.
	Budget *budget.Budget
}

// Take counts bytes before weights are made. The error is of kind graph.ErrMemory if the
// budget has too few.
func (o Lowering) Take(bytes int) error { return Memory(o.Budget.Bytes(int64(bytes))) }

// Memory makes an error of a budget that has too few bytes one of kind graph.ErrMemory.
func Memory(err error) error {
	if errors.Is(err, budget.ErrBytes) {
		return fmt.Errorf("%w: %w", graph.ErrMemory, err)
	}
	return err
}

package container

import (
	"errors"
	"fmt"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// ErrNoNetwork is the error for a file that describes no network.
var ErrNoNetwork = graph.Errorf(graph.ErrUnsupported, "no network, so there is nothing to run")

// Lowering says how the network of a file becomes nodes. The zero value computes what the format's
// users expect.
type Lowering struct {
	// Quirks computes the results of the format's own program, even if they are surprising or
	// wrong.
	Quirks bool
	// Seed seeds the weights that the file lacks and the format's own program draws at random.
	// Equal seeds give equal weights.
	Seed uint64
	// Context is the most tokens up to the end of a run of a decoder, as in a context of llama.cpp. A
	// rope with long and short factors takes the long ones in all runs if Context exceeds the tokens
	// of the short ones. At 0, which is no limit, they follow the tokens of each run.
	Context int
	// Batches gives the encoder of a folder of BERT the inputs attention_mask, of zeros for padding,
	// and token_type_ids, so that texts of several lengths and pairs run together. It has no pooling
	// then. Other encoders of Hugging Face, and classifications, have these inputs always.
	Batches bool
	// Ranks gives inputs with any number of axes their usual number. Files that declare inputs need
	// it.
	Ranks bool
	// Portable uses only element types that ONNX Runtime computes with.
	Portable bool
	// Budget counts the bytes of weights and nodes that are made. nil sets no limit.
	Budget *budget.Budget
}

// Take counts bytes before something is made, and looks at the context now and then. If the budget
// has too few bytes, the error is of kind graph.ErrMemory.
func (o Lowering) Take(bytes int) error { return Memory(Take(o.Budget, bytes)) }

// Builder returns a builder whose nodes count in the budget.
func (o Lowering) Builder(name string) *graph.Builder {
	b := graph.NewBuilder(name)
	b.Count(o.Take)
	return b
}

// Memory returns err. If a budget had too few bytes, the result is of kind graph.ErrMemory.
func Memory(err error) error {
	if errors.Is(err, budget.ErrBytes) {
		return fmt.Errorf("%w: %w", graph.ErrMemory, err)
	}
	return err
}

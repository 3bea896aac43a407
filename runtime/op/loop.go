package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Rows is the symbol of the rows that growing states of a Loop have before a run.
const Rows = "rows"

// Loop describes runs of a graph that follow each other, each on the states that the run
// before left.
type Loop struct {
	States []LoopState
	// Going has, by input, extents of which some are expressions over Rows; nil for an
	// input whose extents do not go with the rows of states.
	Going map[int]graph.Dims
	// Room is the rows that the memory of states has at first. It doubles when it is full.
	Room int
}

// LoopState is an input of a graph and the output that takes its place in the next run.
type LoopState struct {
	In, Out int
	DType   tensor.DType
	Dims    graph.Dims // numbers, but Rows along Axis
	Axis    int
}

// Repeat is runs of a graph that follow each other.
type Repeat interface {
	// Run runs the graph on inputs, which it does not change, and returns its outputs in a list
	// that the next run uses again. They may be inputs, and many are borrowed tensors. Those
	// that the next run is given last to its end, and others until it begins. The op counts
	// neither outputs nor releases them.
	Run(in []tensor.Value) ([]tensor.Value, error)
	// Grow has inputs be growing states that the repeat holds from then on, in memory with room.
	// Their first values are among in. For inputs that it holds, Run takes and returns nil. If
	// it cannot hold them any more, Run returns them again. Grow reports whether the graph grows
	// them as the states say.
	Grow(states []LoopState, in []tensor.Value, room int) (bool, error)
	// State returns a copy of the state at an input that the repeat holds.
	State(input int) (tensor.Value, error)
}

// Stream is runs of a graph that follow each other. States are without rows at first, and
// lie in memory with room where the graph's operators add rows to them. States of a graph
// that does not add rows in place are new tensors after each run.
type Stream interface {
	// Run runs the graph on inputs and returns its outputs; of states both are nil. It does
	// not change the inputs. Outputs count as those of Run.Body do.
	Run(in []tensor.Value) ([]tensor.Value, error)
	// Set replaces the states by values. The stream owns them, and all must be as many
	// rows long.
	Set(values []tensor.Value) error
	// Gather makes the blocks of each state along an axis before the growing one those
	// that from names.
	Gather(axis int, from []int) error
}

// BodyLooper is an Op that runs a graph in a Stream.
type BodyLooper interface {
	// Loops describes the runs of a graph for inputs of the node that are known in part;
	// nil for a graph that does not run in a Stream, or of which too little is known.
	Loops(attr string, in []*Value) *Loops
}

// Loops is a Loop as far as it is known before the node runs.
type Loops struct {
	Loop
	// Types are those of the graph's inputs in a run that adds a row, states left out.
	Types map[int]graph.Type
	// Assumed says what stands for numbers that only the run tells; "" for none.
	Assumed string
}

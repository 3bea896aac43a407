package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Rows is the symbol for the rows that the growing states of a Loop have before a run.
const Rows = "rows"

// Loop describes successive runs of a graph. Each run reads the states that the run before left.
type Loop struct {
	States []LoopState
	// Going has, by input, extents with expressions over Rows. It is nil for an input with extents
	// that do not depend on the rows of states.
	Going map[int]graph.Dims
	// Room is the initial room of the states. When it is full, it doubles.
	Room int
}

// LoopState is an input of a graph and the output that replaces it in the next run.
type LoopState struct {
	In, Out int
	DType   tensor.DType
	Dims    graph.Dims // numbers, except Rows along Axis
	Axis    int
}

// Repeat is a series of runs of a graph.
type Repeat interface {
	// Run runs the graph on inputs, without changing them, and returns its outputs in a list that
	// the next run reuses. The outputs may be inputs, and many are borrowed tensors. Outputs that
	// the next run takes as inputs last until it ends; others last until it begins. The op neither
	// counts outputs nor releases them.
	Run(in []tensor.Value) ([]tensor.Value, error)
	// Grow makes the repeat hold inputs as growing states in memory with room. Their first values
	// are in in. For inputs that it holds, Run takes and returns nil. If the repeat can no longer
	// hold them, Run returns them again. Grow reports whether the graph grows the inputs as states
	// describes.
	Grow(states []LoopState, in []tensor.Value, room int) (bool, error)
	// State returns a copy of the state at an input that the repeat holds.
	State(input int) (tensor.Value, error)
}

// Stream is a series of runs of a graph. Its states start without rows. If the operators of the
// graph add rows to a state, it is kept in memory with room. Otherwise each run makes a new tensor
// for it.
type Stream interface {
	// Run runs the graph on inputs, without changing them, and returns its outputs. Inputs and
	// outputs that are states are nil. Outputs count like the results of Run.Body.
	Run(in []tensor.Value) ([]tensor.Value, error)
	// Set replaces the states by values, which all must have the same number of rows. The stream
	// owns the values.
	Set(values []tensor.Value) error
	// Gather sets block i of each state to its block from[i], for blocks along an axis before the
	// growing one.
	Gather(axis int, from []int) error
}

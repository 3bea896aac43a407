package plan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Place says where the memory of a value comes from.
type Place uint8

// The places of values.
const (
	Unused  Place = iota // no step touches the value
	Input                // the caller's tensor
	Const                // known before the run
	Arena                // the run's arena, at an offset
	Result               // memory made for the caller
	Dynamic              // made while running: extents unknown until then, or strings
	View                 // the bytes of another value
)

// Slot is where one value lies during a run.
type Slot struct {
	Place  Place
	Type   graph.Type
	Shape  tensor.Shape   // nil when it is known only while running
	Const  *tensor.Tensor // the value of a Const
	Offset int            // of an Arena value
	ViewOf int            // id of the value that a View shares bytes with
}

// Bytes is the storage of the value; 0 when it is known only while running.
func (s *Slot) Bytes() int {
	if s.Shape == nil {
		return 0
	}
	return s.Type.DType.Bytes(s.Shape.Len())
}

// Step runs one node.
type Step struct {
	*Node
	// Dynamic says that extents of outputs are inferred while running.
	Dynamic bool
	// InPlace is the index of the input whose memory output 0 takes over, or -1.
	InPlace int
	// Dead lists values made while running that no later step reads.
	Dead []int
}

// Plan is a program for inputs of known extents: the steps in order and the
// slot of every value.
type Plan struct {
	Program *Program
	Steps   []Step
	Slots   []Slot // by value id
	// ArenaBytes is the arena of one run, NaiveBytes what it would be if no two
	// values shared memory, ResultBytes the memory made for the caller.
	ArenaBytes, NaiveBytes, ResultBytes int
}

// PeakBytes is the memory that a run takes beside weights, inputs and what is
// made while running.
func (pl *Plan) PeakBytes() int { return pl.ArenaBytes + pl.ResultBytes }

// Plan plans a run with inputs of those types, in the order of Inputs. Extents
// need not be numbers: what does not follow from them is left to the run.
func (p *Program) Plan(inputs []graph.Type) (*Plan, error) {
	in := make([]*op.Value, len(inputs))
	for i, t := range inputs {
		in[i] = &op.Value{Type: t}
	}
	values, err := p.infer(in)
	if err != nil {
		return nil, err
	}
	pl := &Plan{Program: p, Slots: make([]Slot, len(values))}
	pl.choose(values)
	if err := pl.place(); err != nil {
		return nil, err
	}
	return pl, nil
}

// choose keeps the nodes that have something to compute and sets up the slots
// of inputs and constants.
func (pl *Plan) choose(values []*op.Value) {
	p := pl.Program
	needed := make([]bool, len(values))
	for _, id := range p.Outputs {
		needed[id] = true
	}
	for i := len(p.Nodes) - 1; i >= 0; i-- {
		n := p.Nodes[i]
		keep := false
		for _, id := range n.Out {
			keep = keep || id >= 0 && needed[id] && values[id].Const == nil
		}
		if !keep {
			continue
		}
		pl.Steps = append(pl.Steps, Step{Node: n, InPlace: -1})
		for _, id := range n.In {
			if id >= 0 {
				needed[id] = true
			}
		}
	}
	slices.Reverse(pl.Steps)
	for id, v := range values {
		s := &pl.Slots[id]
		s.Type = v.Type
		s.Shape, _ = v.Dims.Concrete()
		if v.Const != nil && needed[id] {
			s.Place, s.Const = Const, v.Const
		}
	}
	for _, id := range p.Inputs {
		pl.Slots[id].Place = Input
	}
}

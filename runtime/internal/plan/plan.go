package plan

import (
	"context"
	"iter"
	"sync/atomic"
	"time"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
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
	Dynamic              // made while running: extents unknown before, or not a tensor of numbers
	View                 // the bytes of another value
	Earlier              // computed by an earlier stage of the run
	InState              // memory of a state that a run updates
)

// The bases of commands' operands. The bases of values follow.
const (
	BaseArena   = 1
	BaseScratch = 2
	firstBase   = device.BaseDevice + 1
)

// Slot describes the place of one value during a run.
type Slot struct {
	Place  Place
	Type   graph.Type
	Shape  tensor.Shape   // nil if known only while running
	Most   tensor.Shape   // upper limits of the extents; equal to Shape if they are numbers, nil if unknown
	Const  *tensor.Tensor // the value of a Const
	Offset int            // of an Arena value
	ViewOf int            // id of the value that a View shares bytes with
	Layout device.Layout  // of an Arena value or a state; plain for others
	Base   int            // index of the address of a value outside the arena; 0 for none
}

// Bytes returns the most storage that the value takes; 0 if it is known only while running.
func (s *Slot) Bytes() int {
	if s.Most == nil {
		return 0
	}
	return s.Layout.Bytes(s.Type.DType, s.Most)
}

// Extent returns the extent of the value along an axis, with the numbers that lookup gives for
// lengths. If the extent is known only while running, it reports false.
func (s *Slot) Extent(axis int, lookup func(symbol string) (int, bool)) (int, bool) {
	if axis >= len(s.Type.Dims) {
		return 0, false
	}
	return s.Type.Dims[axis].Eval(lookup)
}

// Step computes one node.
type Step struct {
	*Node
	*device.Step
	// InLayouts and OutLayouts are the layouts of operands; nil if all are plain.
	InLayouts, OutLayouts []device.Layout
	// Dynamic says that extents of outputs are inferred while running.
	Dynamic bool
	// Over is the index of the input that output 0 overwrites in place, or -1.
	Over int
	// Dead lists values made while running that no later step reads.
	Dead []int
}

// OnHost reports whether the step is a call of Go.
func (s *Step) OnHost() bool { return s.Call != nil }

// isAlone reports whether the step is a segment of its own.
func (s *Step) isAlone() bool { return s.OnHost() || s.Fetches() }

// Offloaded reports whether an accelerator runs the step.
func (s *Step) Offloaded() bool {
	return anyOffloaded(s.InLayouts) || anyOffloaded(s.OutLayouts)
}

// Segment is the steps First to End-1. They run in one call of a device. A step on the host is a
// segment of its own, and so is a step that fetches.
type Segment struct {
	First, End int
	Offloaded  bool // an accelerator runs the steps
	Recorded   []device.Recorded
	Owner      []int // the step of each command
	// Weights are constants to hold in memory while the steps run. Of the constants in Scattered
	// the steps copy a few elements only. Both are empty if all constants stay in memory.
	Weights, Scattered [][]byte
}

// Plan is a program for inputs of known extents: the steps in order and the slot of every value. If
// the extents of later nodes are unknown until its steps have run, the plan ends before them, and
// Next returns the plan that continues.
type Plan struct {
	Program  *Program
	Steps    []Step
	Segments []Segment
	Slots    []Slot // by value id; first the program's values, then values that the plan adds
	// ArenaBytes is the size of the arena of one run, NaiveBytes its size if no two values shared
	// memory. ScratchBytes is the most scratch that a step takes, and ResultBytes the memory made
	// for the caller.
	ArenaBytes, NaiveBytes, ScratchBytes, ResultBytes int
	// DeviceBytes is the accelerator memory of a run: values, then scratch from DeviceScratch on.
	DeviceBytes, DeviceScratch int
	// Bases is one more than the last base of a value.
	Bases int
	// Lengths has the symbols of extents, and the states. It is nil if all extents are numbers.
	Lengths *Lengths

	added   []string    // names of the values that the plan adds
	stayed  []string    // by step: the reason why no accelerator computes it
	values  []*op.Value // by id: facts known at the end of the plan
	ready   []bool      // by id: the value exists at the end of the plan
	late    []bool      // by id: facts about the value follow from values computed in earlier stages of the run
	nodes   []placed    // nodes of steps, and views, in order
	rest    []*Node     // left for the next stage
	exposed []int       // ids of values with elements that decide extents of the rest
	live    []int       // ids of values other than constants that the rest reads
	next    planCache

	took time.Duration // to make it
	told atomic.Bool   // it was logged
}

// Took returns the time that it took to make the plan.
func (pl *Plan) Took() time.Duration { return pl.took }

// Told reports whether the plan was logged before, and says that it is.
func (pl *Plan) Told() bool { return pl.told.Load() || pl.told.Swap(true) }

// Stayed lists the nodes that an accelerator was to compute and the CPU does, with the reason of each.
func (pl *Plan) Stayed() iter.Seq2[*Step, string] {
	return func(yield func(*Step, string) bool) {
		for i, reason := range pl.stayed {
			if reason != "" && !yield(&pl.Steps[i], reason) {
				return
			}
		}
	}
}

// placed is a node in the order of the plan. step is -1 for a view, because a view takes no step.
type placed struct {
	*Node
	step int
}

// Binding returns the node of a step with the known facts about its operands.
func (pl *Plan) Binding(step int) *device.Binding {
	s := &pl.Steps[step]
	d := &device.Binding{
		Op: s.Op, Row: s.Row, Node: s.Node.Node, In: pl.operands(s.inputs()), Out: pl.operands(s.Out),
		InLayouts: s.InLayouts, OutLayouts: s.OutLayouts,
	}
	pl.Lengths.describe(d, s.Node)
	return d
}

// operands returns the known facts about values; nil for a value left out.
func (pl *Plan) operands(ids []int) []*op.Value {
	list := make([]*op.Value, len(ids))
	for i, id := range ids {
		if id >= 0 {
			list[i] = pl.values[id]
		}
	}
	return list
}

// Done reports whether all results exist at the end of the plan.
func (pl *Plan) Done() bool { return len(pl.rest) == 0 }

// Live lists the values that later stages read.
func (pl *Plan) Live() []int { return pl.live }

// Ready reports whether value id exists at the end of the plan.
func (pl *Plan) Ready(id int) bool { return pl.ready[id] }

// PeakBytes returns the memory of a run without weights, inputs, accelerator memory and values of
// unknown extents.
func (pl *Plan) PeakBytes() int { return pl.ArenaBytes + pl.ScratchBytes + pl.ResultBytes }

// Plan plans a run with inputs of the given types, in the order of Inputs.
func (p *Program) Plan(inputs []graph.Type) (*Plan, error) {
	return p.planWith(context.Background(), inputs, nil)
}

func (p *Program) planWith(ctx context.Context, inputs []graph.Type, lengths *Lengths) (*Plan, error) {
	values, ready := append([]*op.Value(nil), p.values...), make([]bool, len(p.values))
	for i, id := range p.Inputs {
		values[id], ready[id] = &op.Value{Type: inputs[i]}, true
	}
	for id, v := range values {
		ready[id] = ready[id] || v.Const != nil
	}
	return p.stage(ctx, &facts{values, ready, make([]bool, len(values))}, p.Nodes, p.Inputs, Input, lengths)
}

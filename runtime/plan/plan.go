package plan

import (
	"context"
	"slices"

	"github.com/nacre-ml/nacre/runtime/device"
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
	Dynamic              // made while running: extents unknown until then, or no tensor of numbers
	View                 // the bytes of another value
	Earlier              // computed by an earlier stage of the run
	Held                 // memory of a state, which a run updates
)

// The bases of commands' operands. Those of values follow.
const (
	BaseArena   = 1
	BaseScratch = 2
	firstBase   = device.BaseDevice + 1
)

// Slot is where one value lies during a run.
type Slot struct {
	Place  Place
	Type   graph.Type
	Shape  tensor.Shape   // nil when it is known only while running
	Most   tensor.Shape   // Shape, or the most that extents over lengths can be; else nil
	Const  *tensor.Tensor // the value of a Const
	Offset int            // of an Arena value
	ViewOf int            // id of the value that a View shares bytes with
	Layout device.Layout  // of an Arena value; others are plain
	Base   int            // of a value whose address is known when a run starts or later; 0 for others
}

// Bytes returns the most storage that the value takes; 0 when it is known only while running.
func (s *Slot) Bytes() int {
	if s.Most == nil {
		return 0
	}
	return s.Layout.Bytes(s.Type.DType, s.Most)
}

// Extent returns the extent of the value along an axis, with the numbers that lookup gives for
// lengths. It reports false when it is known only while running.
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
	// InLayouts and OutLayouts are the layouts of operands; nil when all are plain.
	InLayouts, OutLayouts []device.Layout
	// Dynamic says that extents of outputs are inferred while running.
	Dynamic bool
	// Over is the index of the input whose memory output 0 takes over, or -1.
	Over int
	// Dead lists values made while running that no later step reads.
	Dead []int
}

// OnHost reports whether the step is Go.
func (s *Step) OnHost() bool { return s.Call != nil }

// isAlone reports whether the step is a segment of its own.
func (s *Step) isAlone() bool { return s.OnHost() || s.Fetches() }

// Offloaded reports whether an accelerator runs the step.
func (s *Step) Offloaded() bool {
	return slices.Contains(s.InLayouts, device.Offloaded) || slices.Contains(s.OutLayouts, device.Offloaded)
}

// Segment is steps that run in one call of a device: those from First up to End.
// A step on the host is a segment of its own, and so is one that fetches.
type Segment struct {
	First, End int
	Offloaded  bool // an accelerator runs the steps
	Recorded   []device.Recorded
	Owner      []int // the step of each command
	// Weights are constants to be held while the steps run, and Scattered those of which
	// they copy a few elements. None are there where all constants stay in memory.
	Weights, Scattered [][]byte
}

// Plan is a program for inputs of known extents: the steps in order and the slot of
// every value. A plan that ends where the extents of what follows are not known yet
// goes on with Next.
type Plan struct {
	Program  *Program
	Steps    []Step
	Segments []Segment
	Slots    []Slot // by value id; behind those of the program, values that the plan adds
	// ArenaBytes is the arena of one run, NaiveBytes what it would be if no two
	// values shared memory, ScratchBytes the most that a step takes beside, ResultBytes
	// the memory made for the caller.
	ArenaBytes, NaiveBytes, ScratchBytes, ResultBytes int
	// DeviceBytes is what a run takes of an accelerator's memory: values, and behind them
	// scratch from DeviceScratch on.
	DeviceBytes, DeviceScratch int
	// Bases is one more than the last base of a value.
	Bases int
	// Lengths has the symbols in extents, and the states; nil for a plan whose extents are
	// numbers.
	Lengths *Lengths

	added   []string    // names of the values that the plan adds
	stayed  []string    // by step: why an accelerator does not compute it
	values  []*op.Value // by id: what is known when the plan ends
	ready   []bool      // by id: the value is there when the plan ends
	late    []bool      // by id: what is known of the value follows from what an earlier stage of the run computed
	nodes   []placed    // in order: those of the steps, and views
	rest    []*Node     // left for the next stage
	exposed []int       // ids whose elements decide extents of the rest
	live    []int       // ids that the rest reads, other than constants
	next    planCache
}

// placed is a node in the order of the plan; step is -1 for a view, which nothing runs.
type placed struct {
	*Node
	step int
}

// Binding returns the node of a step with what is known of its operands.
func (pl *Plan) Binding(step int) *device.Binding {
	s := &pl.Steps[step]
	d := &device.Binding{
		Op: s.Op, Row: s.Row, Node: s.Node.Node, In: pl.operands(s.inputs()), Out: pl.operands(s.Out),
		InLayouts: s.InLayouts, OutLayouts: s.OutLayouts,
	}
	pl.Lengths.describe(d, s.Node)
	return d
}

// operands returns the known facts about values; nil for one that is left out.
func (pl *Plan) operands(ids []int) []*op.Value {
	list := make([]*op.Value, len(ids))
	for i, id := range ids {
		if id >= 0 {
			list[i] = pl.values[id]
		}
	}
	return list
}

// Done reports whether the plan ends with all results there.
func (pl *Plan) Done() bool { return len(pl.rest) == 0 }

// Live lists the values that the stages behind this one read.
func (pl *Plan) Live() []int { return pl.live }

// Ready reports whether value id is there when the plan ends.
func (pl *Plan) Ready(id int) bool { return pl.ready[id] }

// PeakBytes returns the memory that a run takes beside weights, inputs and what is
// made while running.
func (pl *Plan) PeakBytes() int { return pl.ArenaBytes + pl.ScratchBytes + pl.ResultBytes }

// Plan plans a run with inputs of those types, in the order of Inputs.
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

package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/stages"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// exposedLen bounds the elements of a value that decides extents. Shapes and counts are short.
const exposedLen = 1024

// builder makes one stage of a plan: it infers the nodes in order, keeps the nodes that results
// need, and binds them.
type builder struct {
	*Plan
	todo   []inferred
	expose map[int]bool
	moving map[int]*tensor.Tensor // by id: copies of constants that commands read in their place
	all    []*Node                // the nodes that the stage begins with

	// opening has the values that the opening of the stage reads and computes, by id, with the time of
	// a copy to the accelerator.
	opening map[int]int
}

// inferred is a node with inputs of known extents.
type inferred struct {
	*Node
	in, out []*op.Value
	dynamic bool // extents of outputs are known only while running
	needed  bool

	inLayouts, outLayouts []device.Layout // nil if all are plain

	early *device.Step // the step in plain layouts, if ask bound the node
	only  bool         // only the accelerator can compute the node

	opens     bool         // the node belongs to the opening of the stage
	unread    bool         // no device reads the inputs
	offloaded *device.Step // the accelerator's step, if it can compute the node
	most      []*op.Value  // outputs at their largest, if an accelerator counts the extents
	stays     string       // the reason why no accelerator computes the node
	defect    error        // error in the accelerator's rows
}

// facts is the knowledge about values, by id, when a stage begins.
type facts struct {
	values      []*op.Value
	ready, late []bool
}

// stage plans the nodes with inputs of known extents, and leaves the others to the next stage. The
// values in given already exist, in the given place. lengths holds the lengths and states that
// extents depend on, or nil. stage overwrites the lists of at.
func (p *Program) stage(
	ctx context.Context, at *facts, nodes []*Node, given []int, place Place, lengths *Lengths,
) (*Plan, error) {
	b := &builder{
		Plan: &Plan{
			Program: p, Slots: make([]Slot, len(at.values)), Bases: firstBase, Lengths: lengths,
			values: at.values, ready: at.ready, late: at.late,
		},
		expose: map[int]bool{}, moving: map[int]*tensor.Tensor{}, all: nodes,
	}
	if err := b.inferAll(ctx); err != nil {
		return nil, err
	}
	b.ask(ctx)
	b.chooseLayouts(ctx)
	if err := b.bindAll(ctx); err != nil {
		return nil, err
	}
	defer stages.From(ctx).Begin("plan: place")()
	if err := b.finish(given, place); err != nil {
		return nil, err
	}
	return b.Plan, nil
}

// inferAll infers the nodes and marks the needed ones.
func (b *builder) inferAll(ctx context.Context) error {
	defer stages.From(ctx).Begin("plan: infer")()
	for _, n := range b.all {
		if err := ctx.Err(); err != nil {
			return b.Program.fail(n.Node, err)
		}
		if err := b.infer(n); err != nil {
			return err
		}
	}
	b.prune()
	return nil
}

// chooseLayouts assigns layouts and joins nodes.
func (b *builder) chooseLayouts(ctx context.Context) {
	defer stages.From(ctx).Begin("plan: layouts")()
	b.assignLayouts()
	b.join()
}

// infer infers one node or leaves it to the next stage.
func (b *builder) infer(n *Node) error {
	for _, id := range n.In {
		if id >= 0 && !b.ready[id] {
			b.leave(n)
			return nil
		}
	}
	x := inferred{Node: n, in: make([]*op.Value, len(n.inputs()))}
	late := false
	for i, id := range n.inputs() {
		if id >= 0 {
			x.in[i] = b.values[id]
			late = late || b.late[id]
		}
	}
	var err error
	x.out, err = n.infer(x.in, b.values)
	if err == nil && !(late && b.generates(&x)) {
		err = foldNode(b.Program, n, x.in, x.out)
	}
	if err != nil {
		return b.Program.fail(n.Node, fmt.Errorf("%w; inputs %s", err, describe(x.in)))
	}
	known := true
	for i, id := range n.Out {
		if id < 0 {
			x.out[i] = nil
		} else {
			known = known && b.hasExtents(x.out[i])
		}
	}
	if !known && !n.Row.DynamicOutputs && !b.counts(n) && !b.Program.leavesToRun(n) && b.exposeInputs(n) {
		b.leave(n)
		return nil
	}
	x.dynamic = !known || n.Row.DynamicOutputs
	for i, id := range n.Out {
		if id >= 0 {
			b.values[id], b.ready[id], b.late[id] = x.out[i], b.hasExtents(x.out[i]), late
		}
	}
	b.todo = append(b.todo, x)
	return nil
}

// hasExtents reports whether a value has extents that are known when a run starts: numbers or
// expressions over lengths. It is true for a value that is not a tensor.
func (b *builder) hasExtents(v *op.Value) bool {
	if v.Kind != graph.TensorType {
		return true
	}
	_, ok := b.Lengths.most(v.Dims)
	return ok
}

// counts reports whether an accelerator may count the unknown extents of a node.
func (b *builder) counts(n *Node) bool {
	_, ok := n.Op.(kit.Counter)
	return ok && b.Program.device.Accelerator() != nil
}

// generates reports whether an accelerator can compute a node that fills a value from a few
// numbers. It is false for short integers, because shapes and indices may follow from them.
func (b *builder) generates(x *inferred) bool {
	a := b.Program.device.Accelerator()
	if a == nil || !x.Row.Generates {
		return false
	}
	v := x.out[0]
	shape, ok := v.Dims.Concrete()
	if !ok || v.DType.IsInteger() && shape.Len() <= op.MaxInts {
		return false
	}
	d := b.binding(x)
	if b.keptBack(x, d) != "" {
		return false
	}
	_, err := a.Bind(d)
	return err == nil
}

func (b *builder) leave(n *Node) { b.rest = append(b.rest, n) }

// exposeInputs asks for the elements of the inputs after the first, or else of the first: they may
// decide extents. It reports whether it found any.
func (b *builder) exposeInputs(n *Node) bool {
	found := false
	for i := len(n.inputs()) - 1; i >= 0; i-- {
		if i == 0 && found {
			break
		}
		if id := n.In[i]; id >= 0 && b.exposeValue(id) {
			found = true
		}
	}
	return found
}

// exposeValue asks for the elements of a value that is not constant. If they are known or too many,
// it reports false.
func (b *builder) exposeValue(id int) bool {
	if !b.isExposable(id) {
		return false
	}
	b.expose[id] = true
	return true
}

// isExposable reports whether the next stage can have the elements of a value.
func (b *builder) isExposable(id int) bool {
	if id < 0 || b.values[id].Const != nil || b.values[id].Kind != graph.TensorType {
		return false
	}
	shape, ok := b.values[id].Dims.Concrete()
	return ok && shape.Len() <= exposedLen
}

// prune marks the nodes that results or the next stage need, and drops nodes of the rest that
// nothing needs.
func (b *builder) prune() {
	needed := make([]bool, len(b.values))
	for _, id := range b.Program.Outputs {
		needed[id] = b.values[id].Const == nil
	}
	need := func(n *Node) bool {
		keep := false
		for _, id := range n.Out {
			keep = keep || id >= 0 && needed[id] && b.values[id].Const == nil
		}
		for _, id := range n.In {
			if keep && id >= 0 {
				needed[id] = true
			}
		}
		return keep
	}
	var rest []*Node
	for i := len(b.rest) - 1; i >= 0; i-- {
		if n := b.rest[i]; need(n) {
			rest = append(rest, n)
		}
	}
	for i, j := 0, len(rest)-1; i < j; i, j = i+1, j-1 {
		rest[i], rest[j] = rest[j], rest[i]
	}
	b.rest = rest
	for id := range b.expose {
		needed[id] = true
	}
	for i := len(b.todo) - 1; i >= 0; i-- {
		b.todo[i].needed = need(b.todo[i].Node)
	}
}

// bindAll makes the steps.
func (b *builder) bindAll(ctx context.Context) error {
	defer stages.From(ctx).Begin("plan: bind")()
	for _, x := range b.todo {
		if !x.needed {
			continue
		}
		if err := ctx.Err(); err != nil {
			return b.Program.fail(x.Node.Node, err)
		}
		if err := b.bind(&x); err != nil {
			return b.Program.fail(x.Node.Node, fmt.Errorf("%w; inputs %s", err, describe(x.in)))
		}
	}
	return nil
}

// bind makes a node a view, a step of a device, or a step on the host.
func (b *builder) bind(x *inferred) error {
	if !x.dynamic && x.Row.View && len(x.Out) == 1 && x.out[0].Kind == graph.TensorType {
		b.nodes = append(b.nodes, placed{x.Node, -1})
		return b.alignConst(x.In[0])
	}
	if x.defect != nil {
		return x.defect
	}
	step, err := x.early, error(nil)
	if step == nil || x.inLayouts != nil || x.outLayouts != nil {
		step, err = b.step(x, b.binding(x))
	}
	if err != nil {
		return err
	}
	if err := b.align(x, step); err != nil {
		return err
	}
	if b.Program.device.Accelerator() != nil {
		b.stayed = append(b.stayed, x.stays)
	}
	b.nodes = append(b.nodes, placed{x.Node, len(b.Steps)})
	b.Steps = append(b.Steps, Step{Node: x.Node, Step: step, InLayouts: x.inLayouts, OutLayouts: x.outLayouts, Over: -1,
		Dynamic: x.dynamic})
	return nil
}

func (b *builder) binding(x *inferred) *device.Binding {
	d := &device.Binding{
		Op: x.Op, Row: x.Row, Node: x.Node.Node, In: x.in, Out: x.out, InLayouts: x.inLayouts, OutLayouts: x.outLayouts,
	}
	b.Lengths.describe(d, x.Node)
	return d
}

// align places constants that a step reads where commands can read them. Constants in a mapped file may
// be unaligned.
func (b *builder) align(x *inferred, step *device.Step) error {
	if x.isOffloaded() {
		return nil
	}
	for i, id := range x.In {
		if id < 0 || b.values[id].Const == nil || step.Drops(i) || b.moving[id] != nil ||
			b.Program.device.InPlace(b.values[id].Const, step.Scatters(i)) {
			continue
		}
		if err := b.alignConst(id); err != nil {
			return err
		}
	}
	return nil
}

// alignConst makes commands read a copy of a constant, unless they can read it where it is. If the
// constant is aligned or moves, nodes that follow see the original.
func (b *builder) alignConst(id int) error {
	from := b.values[id].Const
	if from == nil || b.Program.device.InPlace(from, false) {
		return nil
	}
	t, err := b.Program.device.Aligned(from)
	if err != nil {
		return err
	}
	if w := b.Program.device.Weights(); from.IsAligned() || w != nil && w.Takes(t.Bytes()) > 0 {
		b.moving[id] = t
		return nil
	}
	v := *b.values[id]
	v.Const = t
	b.values[id] = &v
	return nil
}

// step makes the step of a node. A step on the host with extents that are expressions infers them
// when it runs.
func (b *builder) step(x *inferred, d *device.Binding) (*device.Step, error) {
	var refusal *device.Refusal
	if x.isOffloaded() {
		if x.offloaded != nil {
			return x.offloaded, nil
		}
		return b.Program.device.Accelerator().Bind(d)
	}
	if !x.dynamic {
		step, err := b.Program.device.Bind(d)
		if !errors.As(err, &refusal) || !d.IsPlain() {
			return step, err
		}
	}
	if b.Lengths.inRoom(x) {
		return nil, fmt.Errorf("%w: %w", guard.ErrInternal, errRoom)
	}
	x.dynamic = x.dynamic || !x.sized()
	return device.HostAfter(d, refusal)
}

// isOffloaded reports whether an accelerator computes the node.
func (x *inferred) isOffloaded() bool {
	return anyOffloaded(x.inLayouts) || anyOffloaded(x.outLayouts)
}

func anyOffloaded(list []device.Layout) bool {
	return slices.ContainsFunc(list, device.Layout.IsOffloaded)
}

// sized reports whether all extents of the outputs are numbers.
func (x *inferred) sized() bool {
	for _, v := range x.out {
		if v != nil && v.Kind == graph.TensorType {
			if _, ok := v.Dims.Concrete(); !ok {
				return false
			}
		}
	}
	return true
}

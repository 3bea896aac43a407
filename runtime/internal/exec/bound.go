package exec

import (
	"context"
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Bound is a plan with memory of its own for inputs, values and results. The memory stays from run
// to run. A plan that consists of commands runs without allocating. One run may be under way at a
// time.
type Bound struct {
	run     run
	frame   *frame
	memory  []byte // of inputs
	kept    int    // bytes of the shared memory that inputs take
	inputs  []*tensor.Tensor
	outputs []*tensor.Tensor
	pins    []device.Pinner // of outputs
	placed  []bool          // by output: commands write directly to it
	steps   *boundStream    // of a stream; nil for independent runs
}

// Bind makes memory for a plan. All its inputs and results must be tensors with known extents, and
// not of strings. Inputs hold zeros at first.
func (e *Executor) Bind(pl *plan.Plan) (*Bound, error) {
	b := &Bound{run: run{Executor: e, limited: e.limit > 0, budget: e.limit, bound: true}}
	for _, id := range append(append([]int(nil), pl.Program.Inputs...), pl.Program.Outputs...) {
		if s := &pl.Slots[id]; s.Shape == nil || s.Type.DType == tensor.String || !pl.Done() {
			return nil, b.run.fail(pl, nil, graph.Errorf(graph.ErrUnsupported,
				"value %q is %v; its memory is not known before a run, so use Run", pl.Program.Names[id], s.Type))
		}
	}
	f, err := b.run.frame(pl)
	if err != nil {
		b.run.unclaim()
		return nil, err
	}
	b.frame = f
	if err := b.makeInputs(pl); err != nil {
		b.Close()
		return nil, b.run.fail(pl, nil, err)
	}
	n := len(pl.Program.Outputs)
	b.outputs, b.placed, b.pins = make([]*tensor.Tensor, n), make([]bool, n), make([]device.Pinner, n)
	for i, id := range pl.Program.Outputs {
		s := &pl.Slots[id]
		if err := b.SetOutput(i, tensor.New(s.Type.DType, s.Shape...)); err != nil {
			b.Close()
			return nil, err
		}
	}
	return b, nil
}

// makeInputs places the inputs in one block outside Go's heap.
func (b *Bound) makeInputs(pl *plan.Plan) error {
	at := make([]int, len(pl.Program.Inputs)+1)
	for i, id := range pl.Program.Inputs {
		at[i+1] = at[i] + (pl.Slots[id].Bytes()+tensor.Align-1)/tensor.Align*tensor.Align
	}
	if err := b.grow(&b.memory, at[len(at)-1]); err != nil {
		return err
	}
	clear(b.memory)
	b.inputs = make([]*tensor.Tensor, len(pl.Program.Inputs))
	for i, id := range pl.Program.Inputs {
		s := &pl.Slots[id]
		t, err := tensor.FromBytes(s.Type.DType, s.Shape, b.memory[at[i]:at[i]+s.Bytes():at[i]+s.Bytes()])
		if err != nil {
			return err
		}
		b.inputs[i] = t
		b.frame.set(id, t)
	}
	return nil
}

// grow makes memory, of inputs, at least n bytes. It does not keep the elements.
func (b *Bound) grow(memory *[]byte, n int) error {
	more := n - len(*memory)
	if more <= 0 {
		return nil
	}
	if err := b.run.keep(more); err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	b.kept += more
	return b.frame.grow(memory, n, "inputs")
}

// Input returns the memory of input i. The caller fills it before a run.
func (b *Bound) Input(i int) *tensor.Tensor { return b.inputs[i] }

// Output returns the tensor that runs write result i to.
func (b *Bound) Output(i int) *tensor.Tensor { return b.outputs[i] }

// SetOutput makes the next runs write result i to t. The tensor t must have the element type and
// shape of the result, and must not overlap another operand.
func (b *Bound) SetOutput(i int, t *tensor.Tensor) error {
	pl := b.frame.plan
	id := pl.Program.Outputs[i]
	s := &pl.Slots[id]
	if t.DType() != s.Type.DType || !t.Shape().Equal(s.Shape) {
		return b.run.fail(pl, nil, graph.Errorf(graph.ErrShape, "output %q is %v%v and cannot be written to a tensor %v",
			pl.Program.Names[id], s.Type.DType, s.Shape, t))
	}
	if !t.IsAligned() {
		return b.run.fail(pl, nil, graph.Errorf(graph.ErrShape, "the memory for output %q is not aligned to its elements",
			pl.Program.Names[id]))
	}
	b.pins[i].Unpin()
	b.pins[i].Pin(t.Pointer())
	b.outputs[i] = t
	b.placed[i] = s.Place == plan.Result && firstOf(pl.Program.Outputs, id) == i
	if b.placed[i] {
		b.frame.values[id] = t
		b.frame.readdress(id, t)
	}
	return nil
}

func firstOf(list []int, id int) int {
	for i, x := range list {
		if x == id {
			return i
		}
	}
	return -1
}

// Run computes the results from the elements of the inputs. Runs with the same context share one
// stop flag.
func (b *Bound) Run(ctx context.Context, prof *Profile) (err error) {
	r := &b.run
	r.ctx, r.prof = ctx, prof
	if b.steps != nil {
		if err := b.begin(); err != nil {
			return err
		}
	}
	f := b.frame
	f.run = r
	r.budget += f.reserved
	f.reserved = 0
	if err := r.enter(f.plan, 0); err != nil {
		return err
	}
	defer func() { r.leave(err) }()
	if err := r.watch(); err != nil {
		return err
	}
	err = r.stage(f)
	if ended := ctx.Err(); err == nil && ended != nil {
		err = r.fail(f.plan, nil, ended)
	}
	if err != nil {
		if b.steps != nil {
			b.steps.stream.failed(f.plan)
		}
		return err
	}
	if b.steps != nil {
		b.end()
	}
	for i, id := range f.plan.Program.Outputs {
		if b.placed[i] || b.outputs[i] == nil {
			continue
		}
		t, ok := f.value(id).(*tensor.Tensor)
		if !ok || len(t.Bytes()) != len(b.outputs[i].Bytes()) {
			return r.fail(f.plan, nil, fmt.Errorf("result %q was not computed", f.plan.Program.Names[id]))
		}
		copy(b.outputs[i].Bytes(), t.Bytes())
		if p := f.plan.Slots[id].Place; p == plan.Dynamic || p == plan.View {
			f.values[id] = nil
		}
	}
	return nil
}

// Close frees the memory. Tensors returned by Input must not be used afterwards.
func (b *Bound) Close() {
	d := b.run.device
	b.run.unwatch()
	for i := range b.pins {
		b.pins[i].Unpin()
	}
	if b.steps != nil {
		b.steps.release(d)
	}
	if b.frame != nil {
		b.frame.reset()
		b.frame.free()
	}
	b.run.unclaim()
	b.run.move(-b.kept)
	d.Free(b.memory)
	b.frame, b.memory, b.inputs, b.kept = nil, nil, nil, 0
}

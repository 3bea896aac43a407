package exec

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// boundStream is the additional memory of a Bound that runs a stream.
type boundStream struct {
	stream *Stream
	given  []tensor.Value // the inputs that the memory was made for; nil for states
	pairs  []*statePair   // by state; nil for one in memory with room, or updated in place
	masks  []byte         // memory of inputs that grow with the length
	looked bool           // the plan has steps in Go, and they may read inputs
}

// statePair is two tensors of a state outside Go's heap: a run reads one and writes the other.
type statePair struct {
	memory  []byte
	now, to *tensor.Tensor
}

// Bind makes memory for runs of the stream on inputs with these extents. Extents that follow the
// length of the states keep following it. All elements of such an input must be equal, and keep
// their value. States must be in memory with room or have fixed extents, and the extents of results
// must not depend on lengths.
func (st *Stream) Bind(ctx context.Context, inputs []tensor.Value) (*Bound, error) {
	e := st.exec
	b := &Bound{run: run{Executor: e, limited: e.limit > 0, budget: e.limit, bound: true}}
	b.steps = &boundStream{stream: st, given: slices.Clone(inputs), pairs: make([]*statePair, len(st.states))}
	n := len(st.program.Outputs)
	b.outputs, b.placed, b.pins = make([]*tensor.Tensor, n), make([]bool, n), make([]device.Pinner, n)
	if err := b.replan(ctx); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// replan makes the memory for the plan of the next run. It keeps the elements of fixed inputs and
// the output tensors.
func (b *Bound) replan(ctx context.Context) error {
	st := b.steps.stream
	if b.frame != nil {
		b.steps.follow(b.frame.plan)
	}
	pl, err := st.prepare(ctx, slices.Clone(b.steps.given))
	if err != nil {
		return err
	}
	if err := b.steps.check(pl); err != nil {
		return b.run.fail(pl, nil, err)
	}
	if b.frame != nil {
		b.run.budget += b.frame.counted + b.frame.reserved
		b.frame.reset()
		b.frame.free()
	}
	if b.frame, err = b.run.frame(pl); err != nil {
		return err
	}
	b.steps.looked = slices.ContainsFunc(pl.Steps, func(s plan.Step) bool { return s.OnHost() })
	if err := b.fillInputs(pl); err != nil {
		return b.run.fail(pl, nil, err)
	}
	for i, id := range pl.Program.Outputs {
		s := &pl.Slots[id]
		switch {
		case st.Gives(i):
			continue
		case b.outputs[i] == nil:
			b.outputs[i] = tensor.New(s.Type.DType, s.Shape...)
		}
		if err := b.SetOutput(i, b.outputs[i]); err != nil {
			return err
		}
	}
	return nil
}

// follow gives the inputs that grow with the length their current extents.
func (s *boundStream) follow(pl *plan.Plan) {
	for i, id := range pl.Program.Inputs {
		slot := &pl.Slots[id]
		if s.given[i] == nil || slot.Shape != nil {
			continue
		}
		old := s.given[i].(*tensor.Tensor)
		shape := make(tensor.Shape, len(slot.Type.Dims))
		for a := range shape {
			shape[a], _ = slot.Extent(a, s.stream.lookup)
		}
		t := tensor.New(old.DType(), shape...)
		size := old.DType().Bits() / 8
		for at := 0; at < len(t.Bytes()); at += size {
			copy(t.Bytes()[at:], old.Bytes()[:size])
		}
		s.given[i] = t
	}
}

// check rejects plans with values that change their extents from run to run.
func (s *boundStream) check(pl *plan.Plan) error {
	if !pl.Done() {
		return graph.Errorf(graph.ErrUnsupported, "extents depend on elements; use Run of the stream")
	}
	for i, h := range s.stream.states {
		x := pl.Lengths.States[i]
		if x.Axis >= 0 && !x.InRoom {
			return graph.Errorf(graph.ErrUnsupported, "state %q is not in memory with room; use Run of the stream", h.name)
		}
		if x.Axis < 0 && pl.Slots[h.out].Shape == nil {
			return graph.Errorf(graph.ErrUnsupported,
				"extents of state %q are known only while running; use Run of the stream", h.name)
		}
	}
	for i, id := range pl.Program.Outputs {
		if v := &pl.Slots[id]; !s.stream.Gives(i) && (v.Shape == nil || v.Type.DType == tensor.String) {
			return graph.Errorf(graph.ErrUnsupported,
				"the extents %v of result %q depend on the length of the stream; use Run of the stream", v.Type,
				pl.Program.Names[id])
		}
	}
	return nil
}

// fillInputs gives the frame the inputs. Inputs of fixed extents are made once, with the caller's
// elements. Inputs that grow with the length are made again for every room.
func (b *Bound) fillInputs(pl *plan.Plan) error {
	fixed, going := b.steps.layOut(pl)
	if b.inputs == nil {
		if err := b.grow(&b.memory, max(fixed[len(fixed)-1], 1)); err != nil {
			return err
		}
		b.inputs = make([]*tensor.Tensor, len(pl.Program.Inputs))
	}
	if err := b.grow(&b.steps.masks, max(going[len(going)-1], 1)); err != nil {
		return err
	}
	for i, id := range pl.Program.Inputs {
		s, given := &pl.Slots[id], b.steps.given[i]
		switch {
		case given == nil:
		case s.Shape == nil:
			room := b.steps.masks[going[i]:][:s.Bytes()]
			if err := repeat(room, given.(*tensor.Tensor)); err != nil {
				return fmt.Errorf("input %q: %w", pl.Program.Names[id], err)
			}
			b.frame.readdressAt(id, room)
		default:
			if b.inputs[i] == nil {
				room := b.memory[fixed[i]:][:s.Bytes():s.Bytes()]
				copy(room, given.(*tensor.Tensor).Bytes())
				t, err := tensor.FromBytes(s.Type.DType, s.Shape, room)
				if err != nil {
					return err
				}
				b.inputs[i] = t
			}
			b.frame.set(id, b.inputs[i])
		}
	}
	return nil
}

// layOut returns the offsets of inputs of fixed extents in one block of memory, and of inputs that
// grow with the length in another. Both lists end with the size of their block.
func (s *boundStream) layOut(pl *plan.Plan) (fixed, going []int) {
	n := len(pl.Program.Inputs)
	fixed, going = make([]int, n+1), make([]int, n+1)
	for i, id := range pl.Program.Inputs {
		fixed[i+1], going[i+1] = fixed[i], going[i]
		switch slot := &pl.Slots[id]; {
		case s.given[i] == nil:
		case slot.Shape == nil:
			going[i+1] += device.AlignUp(slot.Bytes())
		default:
			fixed[i+1] += device.AlignUp(slot.Bytes())
		}
	}
	return fixed, going
}

// repeat fills memory with the first element of t. All elements of t must be equal.
func repeat(memory []byte, t *tensor.Tensor) error {
	size := t.DType().Bits() / 8
	if t.Len() == 0 || size == 0 {
		return graph.Errorf(graph.ErrUnsupported, "%v has no element to read its value from; use Run of the stream", t)
	}
	first := t.Bytes()[:size]
	for i := 0; i < len(t.Bytes()); i += size {
		if !bytes.Equal(t.Bytes()[i:i+size], first) {
			return graph.Errorf(graph.ErrUnsupported,
				"%v grows with the stream and its elements are not all equal; use Run of the stream", t)
		}
	}
	for i := 0; i < len(memory); i += size {
		copy(memory[i:], first)
	}
	return nil
}

// begin prepares the frame for the next run.
func (b *Bound) begin() error {
	s := b.steps
	if s.stream.spoilt || b.frame == nil || !s.fits(b.frame.plan) {
		if err := b.replan(b.run.ctx); err != nil {
			return err
		}
	}
	f := b.frame
	for i, h := range s.stream.states {
		if h.memory != nil || h.offloaded != nil {
			continue
		}
		if err := s.take(b.run.device, i); err != nil {
			return b.run.fail(f.plan, nil, err)
		}
		x := s.pairs[i]
		f.values[h.in] = x.now
		f.readdress(h.in, x.now)
		if f.plan.Slots[h.in].Place == plan.InState {
			f.values[h.out] = x.now
		} else if f.plan.Slots[h.out].Place == plan.Result {
			f.values[h.out] = x.to
			f.readdress(h.out, x.to)
		}
	}
	if err := s.stream.size(f); err != nil {
		return b.run.fail(f.plan, nil, err)
	}
	return b.look()
}

// look makes tensors of the inputs that grow with the length, for steps in Go.
func (b *Bound) look() error {
	if !b.steps.looked {
		return nil
	}
	f, at := b.frame, 0
	for i, id := range f.plan.Program.Inputs {
		s := &f.plan.Slots[id]
		if b.steps.given[i] == nil || s.Shape != nil {
			continue
		}
		shape := f.shape(id).Clone()
		t, err := tensor.FromBytes(s.Type.DType, shape, b.steps.masks[at:][:s.Type.DType.Bytes(shape.Len())])
		if err != nil {
			return err
		}
		f.values[id] = t
		at += device.AlignUp(s.Bytes())
	}
	return nil
}

// fits reports whether the states have room for the rows that the next run leaves, and the room that
// the plan was made for: other runs of the stream may have made it larger.
func (s *boundStream) fits(pl *plan.Plan) bool {
	for i, h := range s.stream.states {
		if h.shape == nil {
			return false
		}
		if h.group == nil {
			continue
		}
		if n, ok := pl.Slots[h.out].Extent(h.axis, s.stream.lookup); !ok || n > h.rows ||
			h.rows != pl.Lengths.States[i].Room || !h.inRoom(pl.Slots[h.in].Layout == device.Offloaded) {
			return false
		}
	}
	return true
}

// take moves state i into its pair of tensors.
func (s *boundStream) take(d device.Device, i int) error {
	h := s.stream.states[i]
	x := s.pairs[i]
	if x != nil && !x.now.Shape().Equal(h.value.Shape()) {
		d.Free(x.memory)
		x = nil
	}
	if x == nil {
		n := device.AlignUp(len(h.value.Bytes()))
		x = &statePair{memory: d.Alloc(max(2*n, 1))}
		if x.memory == nil {
			return fmt.Errorf("%w for state %q", graph.ErrMemory, h.name)
		}
		x.now, _ = tensor.Borrow(h.dtype, h.shape, x.memory[:len(h.value.Bytes())])
		x.to, _ = tensor.Borrow(h.dtype, h.shape, x.memory[n:n+len(h.value.Bytes())])
		s.pairs[i] = x
	}
	if h.value != x.now {
		copy(x.now.Bytes(), h.value.Bytes())
		h.value = x.now
	}
	return nil
}

// end makes the states and lengths that the run wrote the current ones.
func (b *Bound) end() {
	f, s := b.frame, b.steps
	for i, h := range s.stream.states {
		place := f.plan.Lengths.States[i]
		if place.InPlace || place.InRoom {
			continue
		}
		x := s.pairs[i]
		if f.plan.Slots[h.out].Place != plan.Result {
			if t, ok := f.value(h.out).(*tensor.Tensor); ok {
				copy(x.to.Bytes(), t.Bytes())
			}
		}
		x.now, x.to = x.to, x.now
		h.value = x.now
	}
	for _, g := range s.stream.groups {
		g.next = g.length
	}
	for _, h := range s.stream.states {
		if h.group != nil {
			h.group.next, _ = f.plan.Slots[h.out].Extent(h.axis, s.stream.lookup)
		}
	}
	for _, g := range s.stream.groups {
		g.length = g.next
	}
}

// release frees the memory. The stream gets copies of the states in it.
func (s *boundStream) release(d device.Device) {
	for i, x := range s.pairs {
		if x == nil {
			continue
		}
		if h := s.stream.states[i]; h.value == x.now {
			h.value = x.now.Clone()
		}
		d.Free(x.memory)
		s.pairs[i] = nil
	}
	d.Free(s.masks)
	s.masks = nil
}

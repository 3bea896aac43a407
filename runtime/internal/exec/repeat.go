package exec

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// repetition runs a body of the step's node repeatedly within the step. While the types of the
// inputs stay the same, it keeps the plan and the frame. Results that commands write are in buffers
// that later runs reuse.
type repetition struct {
	run   *run
	outer *frame
	at    *plan.Step
	attr  string
	body  *plan.Body
	in    []tensor.Value // of the body: its own inputs, then the captured values
	types []inputType    // of the body's own inputs in the last run

	plan    *plan.Plan
	frames  []*frame       // of the stages of the last run
	given   []tensor.Value // by id: the captured values
	pinned  device.Pinner  // captured values
	buffers [][]buffer     // by output
	out     []tensor.Value
	counted int   // bytes of results in Go's heap
	grown   *loop // growing states; nil for none
}

// inputType is the properties of an input that plans depend on.
type inputType struct {
	dtype tensor.DType // Invalid for a value that is no tensor
	shape tensor.Shape
	other bool // the value is no tensor
}

// buffer is memory of results. The tensor is the last that was made in it.
type buffer struct {
	memory []byte
	*tensor.Tensor
}

// is reports whether a value is of the type.
func (i *inputType) is(v tensor.Value) bool {
	t, ok := v.(*tensor.Tensor)
	if !ok {
		return v != nil && i.other
	}
	return !i.other && t.DType() == i.dtype && t.Shape().Equal(i.shape)
}

// repeat returns a repetition of a body of the step's node. It lasts to the end of the step.
func (r *run) repeat(f *frame, s *plan.Step, attr string) (*repetition, error) {
	b := s.Bodies[attr]
	if b == nil {
		return nil, graph.Errorf(graph.ErrFormat, "attribute %q, a graph, is missing", attr)
	}
	x := &repetition{run: r, outer: f, at: s, attr: attr, body: b}
	x.in = f.captured(b, make([]tensor.Value, len(b.Decl)))
	x.types = make([]inputType, len(b.Decl))
	x.buffers, x.out = make([][]buffer, len(b.Outputs)), make([]tensor.Value, len(b.Outputs))
	f.repeats = append(f.repeats, x)
	return x, nil
}

// endRepeats frees the memory of the repetitions of a step.
func (f *frame) endRepeats() {
	for _, x := range f.repeats {
		x.leave()
		for _, list := range x.buffers {
			for _, b := range list {
				x.free(b.memory)
			}
		}
	}
	f.repeats = nil
}

// Run runs the graph.
func (x *repetition) Run(in []tensor.Value) ([]tensor.Value, error) {
	r := x.run
	if err := r.ended(); err != nil {
		return nil, err
	}
	if err := x.choose(in); err != nil {
		return nil, err
	}
	if r.prof != nil {
		defer r.enterBody(x.at, x.attr)()
	}
	if err := x.once(); err != nil {
		return nil, err
	}
	if err := x.commit(); err != nil {
		return nil, err
	}
	r.garbage += bodyGarbage
	n := 0
	for _, v := range x.out {
		if v == nil {
			continue
		}
		if t, ok := v.(*tensor.Tensor); !ok || !t.IsBorrowed() {
			n += tensor.Footprint(v)
		}
	}
	n, x.counted = n-x.counted, n
	if n == 0 {
		return x.out, nil
	}
	return x.out, x.outer.Reserve(n)
}

// choose takes the inputs of a run and makes plan and frame fit their types.
func (x *repetition) choose(in []tensor.Value) error {
	if x.grown != nil {
		if grows, err := x.chooseGrown(in); grows || err != nil {
			return err
		}
		in = x.in[:len(in)]
	}
	same := len(x.frames) == 1 && len(in) == len(x.types) // later stages may be planned in another way
	for i := 0; same && i < len(in); i++ {
		same = x.types[i].is(in[i])
	}
	if same {
		copy(x.in, in)
		return nil
	}
	if _, err := bodyOf(x.at, x.attr, in, nil); err != nil {
		return err
	}
	copy(x.in, in)
	pl, err := x.body.Program.For(x.run.ctx, x.in)
	if err != nil {
		return err
	}
	for i, v := range in {
		t, ok := v.(*tensor.Tensor)
		x.types[i] = inputType{other: !ok}
		if ok {
			x.types[i] = inputType{dtype: t.DType(), shape: t.Shape()}
		}
	}
	return x.begin(pl)
}

// begin gets a frame for the plan, unless it has one.
func (x *repetition) begin(pl *plan.Plan) error {
	if pl == x.plan && x.frames != nil {
		return nil
	}
	x.leave()
	x.plan = pl
	f, err := x.add(pl)
	if err != nil {
		return err
	}
	own := len(x.types)
	for i, id := range pl.Program.Inputs[own:] {
		v := x.in[own+i]
		if t, ok := v.(*tensor.Tensor); ok {
			t = t.Aligned()
			v = t
			if pl.Slots[id].Base != 0 {
				x.pinned.Pin(t.Pointer())
				f.readdress(id, t)
			}
		}
		f.values[id] = v
	}
	x.given = append(x.given[:0], f.values...)
	return nil
}

// add gets a frame for the next stage.
func (x *repetition) add(pl *plan.Plan) (*frame, error) {
	f, err := x.run.frame(pl)
	if err != nil {
		return nil, err
	}
	// Buffers count by themselves.
	f.counted -= pl.ResultBytes
	x.run.budget += pl.ResultBytes
	x.frames = append(x.frames, f)
	return f, nil
}

// leave gives the frames back.
func (x *repetition) leave() {
	x.leaveFrom(0)
	x.pinned.Unpin()
	x.frames, x.plan = nil, nil
}

// leaveFrom gives back the frames of stage at and of later stages.
func (x *repetition) leaveFrom(at int) {
	for _, f := range x.frames[at:] {
		x.run.release(f)
		x.run.idle.put(f)
	}
	x.frames = x.frames[:at]
}

// once runs the stages of the plan, and takes their results.
func (x *repetition) once() error {
	r, at := x.run, 0
	for {
		f := x.frames[at]
		if err := x.enter(at); err != nil {
			return r.fail(f.plan, nil, err)
		}
		if err := r.stage(f); err != nil {
			return err
		}
		at++
		if f.plan.Done() {
			break
		}
		for _, id := range f.plan.Live() {
			f.value(id)
		}
		pl, err := f.plan.Next(r.ctx, f.values)
		if err != nil {
			return err
		}
		if at < len(x.frames) && x.frames[at].plan == pl {
			continue
		}
		x.leaveFrom(at)
		if _, err := x.add(pl); err != nil {
			return err
		}
	}
	for k, id := range x.plan.Program.Outputs {
		v, err := x.result(x.frames[:at], k, id)
		if err != nil {
			return r.fail(x.plan, nil, err)
		}
		x.out[k] = v
	}
	for _, f := range x.frames[:at] {
		f.pinned.Unpin()
		r.budget += f.reserved
		f.reserved = 0
	}
	return nil
}

// enter gives the frame of a stage its inputs, and memory for results.
func (x *repetition) enter(at int) error {
	f := x.frames[at]
	clear(f.shared)
	if at == 0 {
		copy(f.values, x.given)
		for i, id := range f.plan.Program.Inputs[:len(x.types)] {
			f.set(id, x.in[i])
		}
	} else {
		clear(f.values)
		f.inherit(x.frames[at-1])
	}
	if x.grown != nil {
		if err := x.grown.attach(f); err != nil {
			return err
		}
	}
	for k, id := range f.plan.Program.Outputs {
		s := &f.plan.Slots[id]
		if s.Place != plan.Result || f.values[id] != nil {
			continue
		}
		t, err := x.buffer(k, s.Type.DType, f.shape(id), s.Bytes())
		if err != nil {
			return err
		}
		f.values[id] = t
		f.readdress(id, t)
	}
	return nil
}

// result returns output k in memory that stays to the end of the next run.
func (x *repetition) result(stages []*frame, k, id int) (tensor.Value, error) {
	f := computes(stages, id)
	root := &f.plan.Slots[f.plan.Root(id)]
	if root.Place == plan.Earlier {
		id := f.plan.Root(id)
		from := computes(stages, id).plan
		root = &from.Slots[from.Root(id)]
	}
	if root.Place == plan.InState {
		return nil, nil
	}
	v := f.value(id)
	if v == nil {
		return nil, fmt.Errorf("output %q was not computed", x.plan.Program.Names[id])
	}
	t, ok := v.(*tensor.Tensor)
	switch root.Place {
	case plan.Const:
		if w := f.device.Weights(); w != nil {
			drop, err := holdConst(w, root.Const)
			if err != nil {
				return nil, err
			}
			defer drop()
			return t.Clone(), nil
		}
	case plan.Arena:
		return x.copied(k, t)
	case plan.Input:
		if ok && t.IsBorrowed() && x.overwritten(t) {
			return x.copied(k, t)
		}
	case plan.Dynamic:
		if ok && t.IsBorrowed() {
			return t.Clone(), nil
		}
	}
	return v, nil
}

// copied returns output k with the elements of t.
func (x *repetition) copied(k int, t *tensor.Tensor) (tensor.Value, error) {
	to, err := x.buffer(k, t.DType(), t.Shape(), t.Size())
	if err != nil {
		return nil, err
	}
	copy(to.Bytes(), t.Bytes())
	return to, nil
}

// overwritten reports whether the operator may write to t, an input of the body, before the next
// run, as Loop does with the iteration number. Buffers do not change while they are inputs.
func (x *repetition) overwritten(t *tensor.Tensor) bool {
	for _, list := range x.buffers {
		for _, b := range list {
			if t.Pointer() == unsafe.Pointer(unsafe.SliceData(b.memory)) {
				return false
			}
		}
	}
	for _, v := range x.in[:len(x.types)] {
		if in, ok := v.(*tensor.Tensor); ok && in.Pointer() == t.Pointer() {
			return true
		}
	}
	return false
}

// buffer returns memory for output k that is not an input of the run. A new buffer has space for at
// least most bytes.
func (x *repetition) buffer(k int, d tensor.DType, shape tensor.Shape, most int) (*tensor.Tensor, error) {
	list, n := x.buffers[k], d.Bytes(shape.Len())
	for i := range list {
		b := &list[i]
		if x.reads(b) {
			continue
		}
		if n > len(b.memory) {
			x.free(b.memory)
			list[i] = list[len(list)-1]
			x.buffers[k] = list[:len(list)-1]
			break
		}
		if b.DType() == d && b.Shape().Equal(shape) {
			return b.Tensor, nil
		}
		var err error
		b.Tensor, err = tensor.Borrow(d, shape, b.memory[:n])
		return b.Tensor, err
	}
	size := max(n, most, 1)
	if err := x.run.count(size); err != nil {
		return nil, err
	}
	memory := x.run.device.Alloc(size)
	if memory == nil {
		return nil, errors.Join(graph.ErrMemory, fmt.Errorf("no %d bytes for output %d of graph %q", size, k, x.attr))
	}
	t, err := tensor.Borrow(d, shape, memory[:n])
	if err != nil {
		x.run.device.Free(memory)
		return nil, err
	}
	x.run.take(x.outer, size)
	x.buffers[k] = append(x.buffers[k], buffer{memory, t})
	return t, nil
}

// reads reports whether the buffer is an input of the run.
func (x *repetition) reads(b *buffer) bool {
	for _, v := range x.in[:len(x.types)] {
		if t, ok := v.(*tensor.Tensor); ok && t.Pointer() == unsafe.Pointer(unsafe.SliceData(b.memory)) {
			return true
		}
	}
	return false
}

// free frees the memory of a buffer.
func (x *repetition) free(memory []byte) {
	x.run.take(x.outer, -len(memory))
	_ = x.run.count(-len(memory)) // giving bytes back cannot exceed the limit
	x.run.device.Free(memory)
}

package exec

import (
	"fmt"
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// frame is the memory of one run of one plan: the arena, scratch, the commands with their
// addresses, and the tensors that steps in Go read.
type frame struct {
	device   device.Device
	plan     *plan.Plan
	arena    []byte
	scratch  []byte
	memory   device.Memory    // of an accelerator; nil for none
	segments []device.Segment // by segment of the plan; nil for a step in Go or no command
	fixed    []*tensor.Tensor // by value id: tensors that stay from run to run
	values   []tensor.Value   // by value id: values that were asked for
	shared   []bool           // by value id: it may share memory with another
	lengths  func(symbol string) (int, bool)
	sizes    []tensor.Shape // by value id: extents over lengths, for values that were asked for
	pinned   device.Pinner
	more     scratch // for steps in Go
	call     op.Run
	loops    []*loop       // of the step that runs
	repeats  []*repetition // of the step that runs

	run      *run
	counted  int // bytes of the plan that count for the run's limit
	reserved int // bytes that steps took beside counted, and that count for the limit
	taken    int // bytes that the run took for the frame
	epoch    int // of the idle frames when the frame was taken from them
}

// setUp makes the frame fit the plan.
func (f *frame) setUp(pl *plan.Plan) error {
	f.freeSegments()
	f.plan = nil
	if err := f.grow(&f.arena, pl.ArenaBytes, "an arena"); err != nil {
		return err
	}
	if err := f.grow(&f.scratch, pl.ScratchBytes, "scratch"); err != nil {
		return err
	}
	if err := f.growMemory(pl.DeviceBytes); err != nil {
		return err
	}
	f.segments = make([]device.Segment, len(pl.Segments))
	for i := range pl.Segments {
		if len(pl.Segments[i].Recorded) == 0 {
			continue
		}
		s, err := f.record(&pl.Segments[i])
		if err != nil {
			return err
		}
		s.Rebase(plan.BaseArena, f.arena)
		s.Rebase(plan.BaseScratch, f.scratch)
		f.segments[i] = s
	}
	f.fixed = make([]*tensor.Tensor, len(pl.Slots))
	f.values = make([]tensor.Value, len(pl.Slots))
	f.shared = make([]bool, len(pl.Slots))
	f.sizes, f.lengths = nil, nil
	if pl.Lengths != nil {
		f.sizes = make([]tensor.Shape, len(pl.Slots))
	}
	f.plan = pl
	return nil
}

// resize sets the lengths that symbolic extents are computed from.
func (f *frame) resize(lengths func(symbol string) (int, bool)) error {
	f.lengths = lengths
	for _, s := range f.segments {
		if s != nil {
			if err := s.Resize(lengths); err != nil {
				return err
			}
		}
	}
	for id := range f.sizes {
		s := &f.plan.Slots[id]
		if s.Shape != nil {
			continue
		}
		f.sizes[id], f.fixed[id] = f.sizes[id][:0], nil
		if s.Place == plan.Arena || s.Place == plan.View {
			f.values[id] = nil // fix made it for the old lengths
		}
	}
	return nil
}

// shape returns the extents of a value, or nil if only a step determines them.
func (f *frame) shape(id int) tensor.Shape {
	s := &f.plan.Slots[id]
	if s.Most == nil || s.Shape != nil {
		return s.Shape
	}
	if len(f.sizes[id]) == 0 {
		for _, d := range s.Type.Dims {
			n, _ := d.Eval(f.lengths)
			f.sizes[id] = append(f.sizes[id], max(n, 0))
		}
	}
	return f.sizes[id]
}

func (f *frame) grow(b *[]byte, n int, what string) error {
	if len(*b) >= n {
		return nil
	}
	f.device.Free(*b)
	if *b = f.device.Alloc(n); *b == nil {
		return fmt.Errorf("%w for %s of %d bytes", graph.ErrMemory, what, n)
	}
	return nil
}

// growMemory makes the memory of an accelerator at least n bytes.
func (f *frame) growMemory(n int) (err error) {
	if n == 0 || f.memory != nil && f.memory.Bytes() >= n {
		return nil
	}
	f.freeMemory()
	f.memory, err = f.device.Accelerator().NewMemory(n)
	return err
}

func (f *frame) freeMemory() {
	if f.memory != nil {
		f.memory.Free()
		f.memory = nil
	}
}

// record lays out the commands of a segment on the device that runs them.
func (f *frame) record(seg *plan.Segment) (device.Segment, error) {
	if seg.Offloaded {
		return f.device.Accelerator().Record(seg.Recorded, f.memory)
	}
	return f.device.Record(seg.Recorded)
}

// set sets the value of id, an input of the frame.
func (f *frame) set(id int, v tensor.Value) {
	if t, ok := v.(*tensor.Tensor); ok {
		t = t.Aligned()
		v = t
		f.rebase(id, t)
	}
	f.values[id] = v
}

// rebase tells the commands the address of a value that the plan does not place, and pins it.
func (f *frame) rebase(id int, t *tensor.Tensor) {
	if f.plan.Slots[id].Base == 0 || len(f.segments) == 0 {
		return
	}
	f.pinned.Pin(t.Pointer())
	f.readdress(id, t)
}

// readdress is rebase for memory that does not move.
func (f *frame) readdress(id int, t *tensor.Tensor) { f.readdressAt(id, t.Bytes()) }

// attach tells the commands which memory of an accelerator holds a value.
func (f *frame) attach(id int, m device.Memory) {
	for _, s := range f.segments {
		if a, ok := s.(device.AcceleratorSegment); ok {
			a.Attach(f.plan.Slots[id].Base, m)
		}
	}
}

func (f *frame) readdressAt(id int, memory []byte) {
	base := f.plan.Slots[id].Base
	for _, s := range f.segments {
		if s != nil {
			s.Rebase(base, memory)
		}
	}
}

// inherit copies the values that this stage reads from the earlier stage.
func (f *frame) inherit(from *frame) {
	for id := range f.plan.Slots {
		if f.plan.Slots[id].Place == plan.Earlier {
			f.set(id, from.value(id))
			f.shared[id] = true
		}
	}
}

// value returns the value with this id as steps in Go see it, or nil if it is absent.
func (f *frame) value(id int) tensor.Value {
	if v := f.values[id]; v != nil {
		return v
	}
	t := f.fixed[id]
	if t == nil {
		if t = f.fix(id); t == nil {
			return nil
		}
	}
	f.values[id] = t
	return t
}

// fix makes the tensor of a value in the place that the plan gives it. It stays from run to run,
// except for a view of a value that does not.
func (f *frame) fix(id int) *tensor.Tensor {
	s := &f.plan.Slots[id]
	var t *tensor.Tensor
	switch s.Place {
	case plan.Const:
		t = s.Const
	case plan.Arena:
		if s.Layout != device.Plain {
			return nil
		}
		shape := f.shape(id).Clone()
		n := s.Type.DType.Bytes(shape.Len())
		t, _ = tensor.Borrow(s.Type.DType, shape, f.arena[s.Offset:s.Offset+n:s.Offset+n])
	case plan.View:
		from, _ := f.value(s.ViewOf).(*tensor.Tensor)
		if from == nil || s.Most == nil {
			return nil
		}
		if t = from; !t.Shape().Equal(f.shape(id)) {
			t, _ = from.Reshape(f.shape(id))
		}
		if p := f.plan.Slots[f.plan.Root(id)].Place; p != plan.Arena && p != plan.Const {
			return t
		}
	}
	f.fixed[id] = t
	return t
}

// segment returns segment i, after it has made the results that its commands write.
func (f *frame) segment(i int) (device.Segment, error) {
	seg := &f.plan.Segments[i]
	for at := seg.First; at < seg.End; at++ {
		for _, id := range f.plan.Steps[at].Out {
			if id < 0 || f.plan.Slots[id].Place != plan.Result || f.values[id] != nil {
				continue
			}
			s := &f.plan.Slots[id]
			t := f.run.memory.tensor(s.Type.DType, f.shape(id))
			f.run.take(f, len(t.Bytes()))
			f.set(id, t)
		}
	}
	return f.segments[i], nil
}

// bury forgets values that no later step reads.
func (f *frame) bury(step int) {
	for _, id := range f.plan.Steps[step].Dead {
		f.values[id] = nil
	}
}

// reset forgets everything that belongs to the run that ended.
func (f *frame) reset() {
	clear(f.values)
	clear(f.shared)
	f.pinned.Unpin()
	f.call.Forget()
	clear(f.call.In[:cap(f.call.In)])
	clear(f.call.Values[:cap(f.call.Values)])
	clear(f.call.Out[:cap(f.call.Out)])
	clear(f.call.Made[:cap(f.call.Made)])
	f.call.Body, f.call.BodyType, f.call.Stream, f.call.Repeat, f.call.Stop, f.call.Ctx = nil, nil, nil, nil, nil, nil
	f.run, f.taken, f.counted, f.reserved = nil, 0, 0, 0
}

// bytes returns the memory that the frame holds from run to run, outside Go's heap.
func (f *frame) bytes() int {
	n := len(f.arena) + len(f.scratch) + f.more.bytes()
	for _, s := range f.segments {
		if s != nil {
			n += s.Bytes()
		}
	}
	return n
}

func (f *frame) freeSegments() {
	for _, s := range f.segments {
		if s != nil {
			s.Free()
		}
	}
	f.segments = nil
}

func (f *frame) free() {
	f.freeSegments()
	f.device.Free(f.arena)
	f.device.Free(f.scratch)
	f.freeMemory()
	f.more.free(f.device)
	f.arena, f.scratch, f.plan = nil, nil, nil
}

// keep returns v in memory that outlives the frame's steps.
func (f *frame) keep(v tensor.Value) (tensor.Value, error) {
	size := tensor.Borrowed(v)
	if size == 0 {
		return v, nil
	}
	if err := f.Reserve(size); err != nil {
		return nil, err
	}
	if t, ok := v.(*tensor.Tensor); ok {
		return f.run.memory.clone(t), nil
	}
	return tensor.Own(v), nil
}

// holdConst holds a constant in memory until drop is called.
func holdConst(w device.Weights, t *tensor.Tensor) (drop func(), err error) {
	list := [][]byte{t.Bytes()}
	if w.Takes(list[0]) == 0 {
		return func() {}, nil
	}
	return func() { w.Drop(list) }, w.Hold(list)
}

// computes returns the last stage that computes a value. For a view of a value of an earlier stage
// it returns the last of all.
func computes(stages []*frame, id int) *frame {
	for k := len(stages) - 1; k >= 0; k-- {
		if p := stages[k].plan.Slots[stages[k].plan.Root(id)].Place; p != plan.Unused && p != plan.Earlier {
			return stages[k]
		}
	}
	return stages[len(stages)-1]
}

// collect returns the values of the program's outputs. No output shares memory with another, with
// an input, with a constant or with a frame. Results that are states in the stream's memory are
// nil. The stages of the run are in order.
func collect(stages []*frame, st *Stream) ([]tensor.Value, error) {
	last := stages[len(stages)-1]
	list := make([]tensor.Value, len(last.plan.Program.Outputs))
	taken := map[unsafe.Pointer]bool{}
	for i, id := range last.plan.Program.Outputs {
		f := computes(stages, id)
		root := f.plan.Root(id)
		if f.plan.Slots[root].Place == plan.InState && st != nil && st.Gives(i) {
			continue
		}
		v := f.value(id)
		if v == nil {
			return nil, fmt.Errorf("output %q was not computed", last.plan.Program.Names[id])
		}
		place := f.plan.Slots[root].Place
		if w := f.device.Weights(); w != nil && place == plan.Const {
			drop, err := holdConst(w, f.plan.Slots[root].Const)
			if err != nil {
				return nil, err
			}
			defer drop()
		}
		mine := place == plan.Result || place == plan.Dynamic
		if t, ok := v.(*tensor.Tensor); ok && t.Pointer() != nil {
			mine = mine && !taken[t.Pointer()]
			taken[t.Pointer()] = true
		}
		if !mine || f.shared[root] || f.shared[id] {
			if err := last.Reserve(tensor.Footprint(v)); err != nil {
				return nil, fmt.Errorf("output %q: %w", last.plan.Program.Names[id], err)
			}
			v = f.run.memory.cloneValue(v)
			if t, ok := v.(*tensor.Tensor); ok && place != plan.Dynamic {
				f.run.take(f, len(t.Bytes()))
			}
		}
		list[i] = v
	}
	return list, nil
}

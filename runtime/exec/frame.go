package exec

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// frame is the memory of one run: the arena, scratch, and the tensor of every
// value. Tensors over the arena and views of them are made once per plan.
type frame struct {
	plan    *plan.Plan
	arena   []byte
	scratch scratch
	fixed   []*tensor.Tensor // by value id: those that stay from run to run
	values  []tensor.Value   // by value id
	shared  []bool           // by value id: it may share memory with another
	run     op.Run
	limit   int // bytes that the run may take; 0 for no limit
	budget  int // of them, bytes left for results and values made while running
}

// stringHeader is what an empty string takes in a tensor, in bytes.
const stringHeader = 16

var errMemory = errors.New("no memory")

// setUp makes the frame fit the plan.
func (f *frame) setUp(pl *plan.Plan) error {
	if len(f.arena) < pl.ArenaBytes {
		bindings.Free(f.arena)
		if f.arena = bindings.Alloc(pl.ArenaBytes); f.arena == nil {
			return fmt.Errorf("%w for an arena of %d bytes", errMemory, pl.ArenaBytes)
		}
	}
	f.plan = pl
	f.fixed = make([]*tensor.Tensor, len(pl.Slots))
	for id := range pl.Slots {
		if err := f.fix(id); err != nil {
			return err
		}
	}
	f.values = make([]tensor.Value, len(pl.Slots))
	f.shared = make([]bool, len(pl.Slots))
	f.restore()
	return nil
}

// fix makes the tensor of a value that is the same in every run. A view stands
// after the value it views.
func (f *frame) fix(id int) (err error) {
	s := &f.plan.Slots[id]
	switch s.Place {
	case plan.Const:
		f.fixed[id] = s.Const
	case plan.Arena:
		b := f.arena[s.Offset : s.Offset+s.Bytes() : s.Offset+s.Bytes()]
		f.fixed[id], err = tensor.FromBytes(s.Type.DType, s.Shape, b)
	case plan.View:
		if from := f.fixed[s.ViewOf]; from != nil && s.Shape != nil {
			f.fixed[id], err = from.Reshape(s.Shape)
		}
	}
	return err
}

// reset forgets what belongs to the run that ended.
func (f *frame) reset() {
	f.restore()
	clear(f.shared)
	clear(f.run.In[:cap(f.run.In)])
	clear(f.run.Values[:cap(f.run.Values)])
	clear(f.run.Out[:cap(f.run.Out)])
	clear(f.run.Made[:cap(f.run.Made)])
	f.run.Body, f.run.BodyType = nil, nil
}

// restore sets the values that are the same in every run.
func (f *frame) restore() {
	for id, t := range f.fixed {
		f.values[id] = nil
		if t != nil {
			f.values[id] = t
		}
	}
}

func (f *frame) free() {
	bindings.Free(f.arena)
	f.arena = nil
	f.scratch.free()
}

// outputs makes the outputs of a step that are not fixed.
func (f *frame) outputs(s *plan.Step) error {
	shapes := func(i int) tensor.Shape {
		if s.Out[i] < 0 {
			return nil
		}
		return f.plan.Slots[s.Out[i]].Shape
	}
	dtype := func(i int) tensor.DType { return f.plan.Slots[s.Out[i]].Type.DType }
	if s.Row.Makes {
		shapes = func(int) tensor.Shape { return nil }
	} else if s.Dynamic {
		inferred, err := op.InferOutputs(s.Op, s.Node.Node, known(f.run.Values))
		if err != nil {
			return graph.Mark(graph.ErrShape, "%w", err)
		}
		shapes = func(i int) tensor.Shape {
			shape, _ := inferred[i].Dims.Concrete()
			return shape
		}
		dtype = func(i int) tensor.DType { return inferred[i].DType }
	}
	for i, id := range s.Out {
		f.run.Out, f.run.Made = append(f.run.Out, nil), append(f.run.Made, nil)
		if id < 0 {
			continue
		}
		if t := f.fixed[id]; t != nil && f.plan.Slots[id].Place != plan.Const {
			f.run.Out[i] = t
			continue
		}
		shape := shapes(i)
		if shape == nil {
			continue
		}
		var err error
		if i == 0 && s.Row.View {
			f.run.Out[i], err = f.run.In[0].Reshape(shape)
			f.values[id] = f.run.Out[i]
		} else {
			_, err = f.Output(i, dtype(i), shape)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Output makes output i of the step that runs, in Go's heap.
func (f *frame) Output(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if err := shape.Check(); err != nil {
		return nil, graph.Mark(graph.ErrShape, "output %d: %w", i, err)
	}
	n := d.Bytes(shape.Len())
	if d == tensor.String {
		n += stringHeader * shape.Len()
	}
	if err := f.spend(n); err != nil {
		return nil, fmt.Errorf("output %d, %v%v: %w", i, d, shape, err)
	}
	f.run.Out[i] = tensor.New(d, shape...)
	return f.run.Out[i], nil
}

// Scratch returns memory for the step that runs.
func (f *frame) Scratch(n int) ([]byte, error) {
	if left := f.budget - f.scratch.bytes(); f.limit > 0 && !f.scratch.has(n) && n > left {
		return nil, fmt.Errorf("scratch: %w", f.exceeds(n, left))
	}
	return f.scratch.take(n)
}

// Reserve counts n bytes.
func (f *frame) Reserve(n int) error { return f.spend(n) }

// spend counts n bytes against the limit, and reports the first that it does not
// allow.
func (f *frame) spend(n int) error {
	if f.limit == 0 {
		return nil
	}
	left := f.budget
	if f.budget -= n; f.budget < 0 {
		return f.exceeds(n, left)
	}
	return nil
}

// exceeds says by how much n bytes go beyond the limit, of which left bytes are free.
func (f *frame) exceeds(n, left int) error {
	return fmt.Errorf("takes %d bytes and %d of the memory limit of %d are left; the option MemoryLimit sets it", n, max(left, 0), f.limit)
}

// known describes the inputs of a step for its shape rule.
func known(in []tensor.Value) []*op.Value {
	list := make([]*op.Value, len(in))
	for i, v := range in {
		if v != nil {
			list[i] = op.Known(v)
		}
	}
	return list
}

// keep returns v in memory that outlives the frame's steps: tensors in the arena
// are copied.
func (f *frame) keep(v tensor.Value) tensor.Value {
	inArena := false
	tensor.Walk(v, func(t *tensor.Tensor) { inArena = inArena || f.owns(t) })
	if !inArena {
		return v
	}
	return tensor.Replace(v, func(t *tensor.Tensor) *tensor.Tensor {
		if f.owns(t) {
			return t.Clone()
		}
		return t
	})
}

// owns reports whether the elements lie in the arena.
func (f *frame) owns(t *tensor.Tensor) bool {
	if len(t.Bytes()) == 0 || len(f.arena) == 0 {
		return false
	}
	at, start := uintptr(t.Pointer()), uintptr(unsafe.Pointer(unsafe.SliceData(f.arena)))
	return at >= start && at < start+uintptr(len(f.arena))
}

// results returns the values of the program's outputs, none of which shares
// memory with another, with an input, with a constant or with the frame.
func (f *frame) results() []tensor.Value {
	list := make([]tensor.Value, len(f.plan.Program.Outputs))
	taken := map[int]bool{}
	for i, id := range f.plan.Program.Outputs {
		root := id
		for f.plan.Slots[root].Place == plan.View {
			root = f.plan.Slots[root].ViewOf
		}
		list[i] = f.values[id]
		place := f.plan.Slots[root].Place
		if taken[root] || f.shared[root] || place != plan.Result && place != plan.Dynamic {
			list[i] = tensor.Replace(list[i], (*tensor.Tensor).Clone)
		}
		taken[root] = true
	}
	return list
}

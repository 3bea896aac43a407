package exec

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// loop is a Stream of a body of the step's node, within a run.
type loop struct {
	*Stream
	run   *run
	frame *frame
	at    *plan.Step
	attr  string
	block []byte // spare block, for Gather
}

// loop returns a stream of a body of the step's node. Its memory lasts to the end of the step.
func (r *run) loop(f *frame, s *plan.Step, attr string, l *op.Loop) (op.Stream, error) {
	return r.newLoop(f, s, attr, l)
}

func (r *run) newLoop(f *frame, s *plan.Step, attr string, l *op.Loop) (*loop, error) {
	b := s.Bodies[attr]
	if b == nil {
		return nil, graph.Errorf(graph.ErrFormat, "attribute %q, a graph, is missing", attr)
	}
	x := &loop{Stream: r.newStream(b.Program, l.Room), run: r, frame: f, at: s, attr: attr}
	x.apart, x.count = true, x.take
	x.decl = b.LoopTypes(l)
	states, err := b.LoopStates(l)
	if err != nil {
		return nil, err
	}
	for i, s := range states {
		h := &streamState{name: s.Input, axis: s.Axis, input: l.States[i].In, in: b.Inputs[l.States[i].In],
			result: l.States[i].Out, out: b.Outputs[l.States[i].Out]}
		h.dims, h.dtype = l.States[i].Dims, l.States[i].DType
		if err := x.addState(h); err != nil {
			return nil, err
		}
	}
	f.loops = append(f.loops, x)
	return x, nil
}

// endLoops frees the memory of the streams of a step.
func (f *frame) endLoops() {
	for _, x := range f.loops {
		_ = x.take(-x.Bytes() - len(x.block)) // giving bytes back cannot exceed the limit
		x.Close()
		f.device.Free(x.block)
	}
	f.loops = nil
}

// take counts memory of states.
func (x *loop) take(n int) error {
	x.run.take(x.frame, n)
	return x.run.count(n)
}

// Run runs the graph and updates the states.
func (x *loop) Run(in []tensor.Value) ([]tensor.Value, error) {
	b, err := bodyOf(x.at, x.attr, in, x.Holds)
	if err != nil {
		return nil, err
	}
	if err := x.run.ended(); err != nil {
		return nil, err
	}
	return x.run.inner(x.frame, x.at, x.attr, func() ([]tensor.Value, error) {
		return x.step(x.run.ctx, x.frame.captured(b, in), func(pl *plan.Plan, in []tensor.Value) ([]tensor.Value, error) {
			return x.run.program(pl, in, x.Stream)
		})
	})
}

// Set replaces the states by values. The stream owns them from then on.
func (x *loop) Set(values []tensor.Value) error {
	if len(values) != len(x.states) {
		return graph.Errorf(graph.ErrFormat, "graph %q has %d states and is given %d", x.attr, len(x.states), len(values))
	}
	lengths := make([]int, len(values))
	for i, h := range x.states {
		t, ok := values[i].(*tensor.Tensor)
		if !ok || t.DType() != h.dtype || len(t.Shape()) != len(h.dims) {
			return graph.Errorf(graph.ErrShape, "state %q of graph %q is %v%v and is given %v", h.name, x.attr, h.dtype,
				h.dims, values[i])
		}
		h.shape = t.Shape().Clone()
		h.shape[h.axis] = 0
		for a, d := range h.dims {
			if n, ok := d.Value(); ok && n != t.Shape()[a] {
				return graph.Errorf(graph.ErrShape, "state %q of graph %q is %v%v and is given %v", h.name, x.attr, h.dtype,
					h.dims, t)
			}
		}
		if err := x.frame.Reserve(-tensor.Footprint(t)); err != nil {
			return err
		}
		if err := x.replace(h, t.Aligned()); err != nil {
			return err
		}
		lengths[i] = t.Shape()[h.axis]
		h.group.room = max(h.group.room, lengths[i])
	}
	return x.lengthen(lengths)
}

// move copies block from over block to. One of them may be spare.
type move struct{ to, from int }

// spare is the index of the extra block that holds a copy while blocks move in a circle.
const spare = -1

// moves returns copies, in order, that give each block i the elements of block from[i]. It needs no
// memory but the spare block.
func moves(from []int) []move {
	readers, free := make([]int, len(from)), []int{}
	for r, source := range from {
		if r != source {
			readers[source]++
		}
	}
	done := make([]bool, len(from))
	for r, source := range from {
		if done[r] = r == source; !done[r] && readers[r] == 0 {
			free = append(free, r)
		}
	}
	var list []move
	for len(free) > 0 {
		r := free[len(free)-1]
		free = free[:len(free)-1]
		source := from[r]
		list, done[r] = append(list, move{r, source}), true
		if readers[source]--; readers[source] == 0 && !done[source] {
			free = append(free, source)
		}
	}
	for first := range from {
		if done[first] {
			continue
		}
		list = append(list, move{spare, first})
		r := first
		for ; from[r] != first; r = from[r] {
			list, done[r] = append(list, move{r, from[r]}), true
		}
		list, done[r] = append(list, move{r, spare}), true
	}
	return list
}

// Gather replaces each block i along an axis of every state by block from[i], in place.
func (x *loop) Gather(axis int, from []int) error {
	for _, source := range from {
		if source < 0 || source >= len(from) {
			return graph.Errorf(graph.ErrShape, "there is no block %d of %d", source, len(from))
		}
	}
	list := moves(from)
	if list == nil {
		return nil
	}
	for _, h := range x.states {
		if h.shape == nil || axis >= h.axis || h.shape[axis] != len(from) {
			return graph.Errorf(graph.ErrShape, "state %q of graph %q, %v, has no %d blocks along axis %d", h.name, x.attr,
				h.shape, len(from), axis)
		}
		if err := x.gather(h, axis, list); err != nil {
			return fmt.Errorf("state %q: %w", h.name, err)
		}
	}
	return nil
}

// gather moves blocks of one state.
func (x *loop) gather(h *streamState, axis int, list []move) error {
	if err := h.leaveAccelerator(x.Stream); err != nil {
		return err
	}
	memory, room := h.memory, h.rows
	if h.value != nil {
		memory, room = h.value.Bytes(), h.group.length
	}
	_, row := h.blocks()
	heads := h.shape[axis+1 : h.axis].Len() // series of rows in a block
	size := heads * room * row
	if err := x.keep(size); err != nil {
		return err
	}
	for k := range h.shape[:axis].Len() {
		outer := memory[k*h.shape[axis]*size:]
		at := func(i int) []byte {
			if i == spare {
				return x.block
			}
			return outer[i*size:]
		}
		for _, m := range list {
			copyRows(at(m.to), at(m.from), heads, row, room, room, h.group.length)
		}
	}
	return nil
}

// keep makes the spare block at least n bytes.
func (x *loop) keep(n int) error {
	if len(x.block) >= n {
		return nil
	}
	if err := x.take(n - len(x.block)); err != nil {
		return err
	}
	x.frame.device.Free(x.block)
	if x.block = x.frame.device.Alloc(n); x.block == nil {
		return fmt.Errorf("%w for %d bytes of a block", graph.ErrMemory, n)
	}
	return nil
}

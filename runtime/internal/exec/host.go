package exec

import (
	"errors"
	"fmt"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// host sets up the operands of a step and runs it in Go.
func (r *run) host(f *frame, at int) error {
	s, c := &f.plan.Steps[at], &f.call
	c.Node, c.Mem, c.Ctx, c.Stop, c.Threads = s.Node.Node, f, r.ctx, nil, f.device.Threads()
	if r.stop != nil {
		c.Stop = r.stop
	}
	c.In, c.Values, c.Out, c.Made = c.In[:0], c.Values[:0], c.Out[:0], c.Made[:0]
	c.Sole = c.Sole[:0]
	for _, id := range s.In[:len(s.Inputs)] {
		var v tensor.Value
		if id >= 0 {
			v = f.value(id)
		}
		t, _ := v.(*tensor.Tensor)
		c.In, c.Values = append(c.In, t), append(c.Values, v)
	}
	c.Body, c.BodyType, c.Stream, c.Repeat = nil, nil, nil, nil
	if s.Bodies != nil {
		c.BodyType = func(attr string, i int) graph.Type { return s.Bodies[attr].DeclaredType(i) }
		c.Body = func(attr string, in []tensor.Value) ([]tensor.Value, error) { return r.body(f, s, attr, in) }
		c.Stream = func(attr string, l *op.Loop) (op.Stream, error) { return r.loop(f, s, attr, l) }
		c.Repeat = func(attr string) (op.Repeat, error) { return r.repeat(f, s, attr) }
	}
	var err error
	if r.prof == nil {
		err = r.hostRun(f, s)
	} else {
		err = r.prof.host(f, at, func() error { return r.hostRun(f, s) })
	}
	if err != nil {
		return err
	}
	f.bury(at)
	return nil
}

func (r *run) hostRun(f *frame, s *plan.Step) error {
	c := &f.call
	if err := s.Row.CheckKinds(c.Values); err != nil {
		return err
	}
	if s.Row.View && c.In[0] == nil {
		f.values[s.Out[0]], f.shared[s.Out[0]] = c.Values[0], true
		return nil
	}
	if err := f.outputs(s); err != nil {
		return err
	}
	// Runs after f.made has copied values from scratch and from the memory of repetitions.
	defer f.more.rewind(f.device)
	if s.Bodies != nil {
		defer f.endRepeats()
	}
	err := guard.Call(func() error { return callOperator(s, c) })
	f.endLoops()
	if errors.Is(err, op.ErrStopped) {
		return r.ctx.Err()
	}
	if err != nil {
		return err
	}
	for i, id := range s.Out {
		switch {
		case id < 0:
		case c.Made[i] != nil:
			if err := f.made(id, c.Made[i], c.Sole[i]); err != nil {
				return err
			}
		case c.Out[i] != nil:
			if f.plan.Slots[id].Place == plan.Dynamic {
				f.set(id, c.Out[i])
			}
		default:
			return fmt.Errorf("output %d was not computed", i)
		}
	}
	return nil
}

// made stores a value that a step allocated itself. If sole is true, nothing else refers to its
// memory.
func (f *frame) made(id int, v tensor.Value, sole bool) error {
	s := &f.plan.Slots[id]
	v = tensor.MarkBorrowed(v, f.call.In)
	if t, ok := v.(*tensor.Tensor); ok && s.Most != nil && (!t.Shape().Equal(f.shape(id)) || t.DType() != s.Type.DType) {
		return graph.Errorf(graph.ErrShape, "output %q is %v where %v%v was inferred", f.plan.Program.Names[id], t,
			s.Type.DType, f.shape(id))
	}
	if t, ok := v.(*tensor.Tensor); ok && t.IsBorrowed() {
		sole = true // keep copies it
	}
	v, err := f.keep(v)
	if err != nil {
		return err
	}
	f.set(id, v)
	f.shared[id] = !sole
	return nil
}

// outputs makes the outputs of a step that are not in the arena.
func (f *frame) outputs(s *plan.Step) error {
	var inferred []*op.Value
	if s.Dynamic && !s.Row.DynamicOutputs {
		var err error
		if inferred, err = kit.InferOutputs(s.Op, s.Node.Node, f.call.Known()); err != nil {
			return graph.Errorf(graph.ErrShape, "%w", err)
		}
	}
	for i, id := range s.Out {
		f.call.Out, f.call.Made = append(f.call.Out, nil), append(f.call.Made, nil)
		f.call.Sole = append(f.call.Sole, false)
		if id < 0 || s.Row.DynamicOutputs {
			continue
		}
		slot := &f.plan.Slots[id]
		d, shape := slot.Type.DType, f.shape(id)
		if inferred != nil {
			d = inferred[i].DType
			shape, _ = inferred[i].Dims.Concrete()
		}
		var err error
		switch {
		case slot.Place == plan.Arena, slot.Place == plan.View && slot.Most != nil:
			f.call.Out[i], _ = f.value(id).(*tensor.Tensor)
		case slot.Type.Kind != graph.TensorType || shape == nil:
		case i == 0 && s.Row.View:
			if f.call.Out[i], err = f.call.In[0].Reshape(shape); err == nil {
				f.set(id, f.call.Out[i])
			}
		case slot.Place == plan.Result && f.values[id] != nil:
			f.call.Out[i], _ = f.values[id].(*tensor.Tensor)
		case slot.Place == plan.Result: // the plan counts it
			f.call.Out[i] = f.heap(d, shape)
			f.run.take(f, len(f.call.Out[i].Bytes()))
			f.set(id, f.call.Out[i])
		default:
			if _, err = f.Output(i, d, shape); err == nil {
				f.set(id, f.call.Out[i])
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Output makes output i of the current step, in Go's heap.
func (f *frame) Output(i int, d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if err := shape.Check(); err != nil {
		return nil, graph.Errorf(graph.ErrShape, "output %d: %w", i, err)
	}
	if err := f.Reserve(tensor.SizeOf(d, shape)); err != nil {
		return nil, fmt.Errorf("output %d, %v%v: %w", i, d, shape, err)
	}
	f.call.Out[i] = f.heap(d, shape)
	return f.call.Out[i], nil
}

// Tensor makes a tensor in Go's heap, and counts its bytes.
func (f *frame) Tensor(d tensor.DType, shape tensor.Shape) (*tensor.Tensor, error) {
	if err := f.Reserve(tensor.SizeOf(d, shape)); err != nil {
		return nil, err
	}
	return f.heap(d, shape), nil
}

// heap returns a tensor in Go's heap. Its elements are not set unless they are strings.
func (f *frame) heap(d tensor.DType, shape tensor.Shape) *tensor.Tensor {
	if d == tensor.String {
		return tensor.New(d, shape...)
	}
	return f.run.memory.tensor(d, shape)
}

// Scratch returns memory for the current step.
func (f *frame) Scratch(n int) ([]byte, error) {
	if left := f.run.budget - f.more.bytes(); f.run.limited && !f.more.has(n) && n > left {
		return nil, fmt.Errorf("scratch: %w", f.run.exceeds(n, left))
	}
	return f.more.take(f.device, n)
}

// Reserve counts n bytes until the frame's run ends. If n is negative, it gives bytes of Go's heap
// back.
func (f *frame) Reserve(n int) error {
	f.reserved += n
	if n < 0 {
		f.run.garbage -= n
	}
	return f.run.count(n)
}

// scratch hands out memory for one step in Go. Blocks are kept for the next step, and several are
// replaced by one, so that later steps need no new blocks.
type scratch struct {
	blocks [][]byte
	used   int // of the last block
	want   int // bytes that one step took in all, if more than a block
}

// take returns n bytes, aligned to 64, that no other call in the step gets.
func (s *scratch) take(d device.Device, n int) ([]byte, error) {
	size := device.AlignUp(n)
	if !s.has(n) {
		b := d.Alloc(max(size, s.want))
		if b == nil {
			return nil, errors.Join(graph.ErrMemory, fmt.Errorf("no %d bytes of scratch", n))
		}
		s.blocks, s.used, s.want = append(s.blocks, b), 0, 0
	}
	b := s.blocks[len(s.blocks)-1][s.used : s.used+n : s.used+n]
	s.used += size
	return b, nil
}

// has reports whether take(n) needs no new block.
func (s *scratch) has(n int) bool {
	return len(s.blocks) > 0 && device.AlignUp(n) <= len(s.blocks[len(s.blocks)-1])-s.used
}

// bytes returns the bytes of all blocks.
func (s *scratch) bytes() int {
	total := 0
	for _, b := range s.blocks {
		total += len(b)
	}
	return total
}

// rewind ends a step: everything taken may be handed out again.
func (s *scratch) rewind(d device.Device) {
	if len(s.blocks) > 1 {
		s.want = s.bytes()
		s.free(d)
	}
	s.used = 0
}

func (s *scratch) free(d device.Device) {
	for _, b := range s.blocks {
		d.Free(b)
	}
	s.blocks = nil
}

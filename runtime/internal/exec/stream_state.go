package exec

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// takes reports whether a value of this shape can be the state.
func (h *streamState) takes(shape tensor.Shape) bool {
	if len(shape) != len(h.shape) {
		return false
	}
	for i, n := range shape {
		if i != h.axis && n != h.shape[i] {
			return false
		}
	}
	return true
}

// blocks returns the number of blocks of rows, and the bytes of a row in a block.
func (h *streamState) blocks() (count, row int) {
	return h.shape[:h.axis].Len(), h.dtype.Bytes(h.shape[h.axis+1:].Len())
}

// inRoom reports whether the state is in memory with the room of its group: memory of the
// accelerator if offloaded, else of the session.
func (h *streamState) inRoom(offloaded bool) bool {
	return h.rows == h.group.room && (h.memory != nil && !offloaded || h.offloaded != nil && offloaded)
}

// enterRoom moves the state into memory with the room of its group.
func (h *streamState) enterRoom(st *Stream, offloaded bool) error {
	if h.inRoom(offloaded) {
		return nil
	}
	count, row := h.blocks()
	n, ok := product(count, row, h.group.room)
	if !ok {
		return graph.Errorf(graph.ErrMemory, "state %q with %d rows is too large", h.name, h.group.room)
	}
	if st.count != nil {
		if err := st.count(n); err != nil {
			return fmt.Errorf("state %q with %d rows: %w", h.name, h.group.room, err)
		}
	} else if limit := st.exec.limit; limit > 0 && n > limit {
		return graph.Errorf(graph.ErrMemory, "state %q with %d rows takes %d bytes, more than the memory limit of %d bytes",
			h.name, h.group.room, n, limit)
	}
	src, rows, err := h.content()
	if err != nil {
		return err
	}
	if err := st.claim(n); err != nil {
		return fmt.Errorf("state %q with %d rows: %w", h.name, h.group.room, err)
	}
	b := st.exec.device.Alloc(max(n, 1))
	if b == nil {
		return fmt.Errorf("%w for %d bytes of state %q", graph.ErrMemory, n, h.name)
	}
	copyRows(b, src, count, row, h.group.room, rows, h.group.length)
	var m device.Memory
	if offloaded {
		m, err = st.offload(b)
		st.exec.device.Free(b)
		if b = nil; err != nil {
			return fmt.Errorf("state %q: %w", h.name, err)
		}
	}
	if st.count != nil {
		_ = st.count(-len(src)) // giving bytes back cannot exceed the limit
	}
	h.release(st)
	h.memory, h.offloaded, h.rows, h.value = b, m, h.group.room, nil
	return nil
}

// enterAccelerator moves a state without a growing axis to memory of the accelerator.
func (h *streamState) enterAccelerator(st *Stream) error {
	if h.offloaded != nil {
		return nil
	}
	m, err := st.offload(h.value.Bytes())
	if err != nil {
		return fmt.Errorf("state %q: %w", h.name, err)
	}
	h.offloaded, h.value = m, nil
	return nil
}

// offload returns memory of the accelerator with a copy of b.
func (st *Stream) offload(b []byte) (device.Memory, error) {
	m, err := st.exec.device.Accelerator().NewMemory(len(b))
	if err != nil {
		return nil, err
	}
	if err := m.Write(0, b); err != nil {
		m.Free()
		return nil, err
	}
	return m, nil
}

// release frees the memory with room.
func (h *streamState) release(st *Stream) {
	st.exec.device.Free(h.memory)
	if h.offloaded != nil {
		h.offloaded.Free()
	}
	h.memory, h.offloaded, h.rows = nil, nil, 0
}

// content returns the bytes of the state, and the rows that each of its blocks has room for.
func (h *streamState) content() (b []byte, rows int, err error) {
	switch {
	case h.value != nil:
		rows = 0
		if h.group != nil {
			rows = h.group.length
		}
		return h.value.Bytes(), rows, nil
	case h.offloaded != nil && h.group == nil:
		b = make([]byte, h.dtype.Bytes(h.shape.Len()))
		return b, 0, h.offloaded.Read(0, b)
	case h.offloaded != nil:
		count, row := h.blocks()
		b = make([]byte, count*row*h.rows)
		return b, h.rows, h.offloaded.Read(0, b)
	}
	return h.memory, h.rows, nil
}

// leaveRoom moves the state into a tensor of its own.
func (h *streamState) leaveRoom(st *Stream) error {
	if h.memory == nil && h.offloaded == nil {
		return nil
	}
	t, err := h.tensor()
	if err != nil {
		return err
	}
	return st.replace(h, t)
}

// leaveAccelerator moves the state into memory of the session.
func (h *streamState) leaveAccelerator(st *Stream) error {
	if h.offloaded == nil {
		return nil
	}
	return h.enterRoom(st, false)
}

// tensor returns a copy of the state.
func (h *streamState) tensor() (*tensor.Tensor, error) {
	if h.value != nil {
		return h.value.Clone(), nil
	}
	src, rows, err := h.content()
	if err != nil {
		return nil, err
	}
	shape := slices.Clone(h.shape)
	if h.group == nil {
		return tensor.FromBytes(h.dtype, shape, src)
	}
	shape[h.axis] = h.group.length
	t := tensor.New(h.dtype, shape...)
	count, row := h.blocks()
	copyRows(t.Bytes(), src, count, row, h.group.length, rows, h.group.length)
	return t, nil
}

// copyRows copies the first rows of each block of src to dst. A block has room for from rows in
// src, and for to rows in dst.
func copyRows(dst, src []byte, blocks, row, to, from, rows int) {
	for i := range blocks {
		copy(dst[i*to*row:(i*to+rows)*row], src[i*from*row:(i*from+rows)*row])
	}
}

func product(list ...int) (int, bool) {
	n := 1
	for _, x := range list {
		if x != 0 && n > math.MaxInt/x {
			return 0, false
		}
		n *= x
	}
	return n, true
}

// Reset empties the states: growing ones have no rows, others hold zeros. The next inputs determine
// their extents again.
func (st *Stream) Reset() {
	for _, h := range st.states {
		h.release(st)
		h.value, h.shape = nil, nil
	}
	for _, g := range st.groups {
		g.length, g.room = 0, max(g.room, st.room)
	}
	st.spoilt = false
	st.recount()
}

// claim takes n bytes of the shared memory, by which the states are about to grow.
func (st *Stream) claim(n int) error {
	if st.count != nil || n <= 0 {
		return nil
	}
	if err := st.exec.keep(n); err != nil {
		return err
	}
	st.kept += n
	return nil
}

// recount counts the bytes of the shared memory that the states take now.
func (st *Stream) recount() {
	if st.count != nil {
		return
	}
	n := 0
	for _, h := range st.states {
		n += h.bytes()
	}
	if n != st.kept {
		st.exec.move(n - st.kept)
		st.kept = n
	}
}

// bytes returns the memory of the state outside an accelerator.
func (h *streamState) bytes() int {
	n := len(h.memory)
	if h.value != nil {
		n += h.value.Size()
	}
	return n
}

// Truncate cuts the growing states to their first n rows. All states must grow, and have at least n
// rows.
func (st *Stream) Truncate(n int) error {
	for _, h := range st.states {
		switch {
		case h.axis < 0:
			return st.program.Fail("run", nil,
				graph.Errorf(graph.ErrState, "state %q does not grow, and cannot go back", h.name))
		case n < 0 || n > h.group.length:
			return st.program.Fail("run", nil,
				graph.Errorf(graph.ErrState, "state %q has %d rows, and cannot be cut to %d", h.name, h.group.length, n))
		}
	}
	for _, h := range st.states {
		if h.value == nil || h.shape == nil {
			continue
		}
		shape := slices.Clone(h.shape)
		shape[h.axis] = n
		t := tensor.New(h.dtype, shape...)
		count, row := h.blocks()
		copyRows(t.Bytes(), h.value.Bytes(), count, row, n, h.group.length, n)
		h.value = t
	}
	for _, g := range st.groups {
		g.length = n
	}
	st.recount()
	return nil
}

// Fork returns a stream with a copy of the states.
func (st *Stream) Fork() (*Stream, error) {
	specs := make([]State, len(st.states))
	for i, h := range st.states {
		specs[i] = State{h.input, h.result, h.axis}
	}
	out, err := st.exec.NewStream(st.program, specs, st.room)
	if err != nil {
		return nil, err
	}
	if err := out.claim(st.kept); err != nil {
		return nil, st.program.Fail("run", nil, err)
	}
	out.numbers, out.spoilt = st.numbers, st.spoilt
	for i, g := range st.groups {
		out.groups[i].length, out.groups[i].room = g.length, g.room
	}
	for i, h := range st.states {
		to := out.states[i]
		to.shape = h.shape
		if err := to.copy(h, out); err != nil {
			out.Close()
			return nil, st.program.Fail("run", nil, err)
		}
	}
	out.recount()
	return out, nil
}

// copy makes the state a copy of from, a state with the same extents.
func (h *streamState) copy(from *streamState, st *Stream) error {
	if from.value != nil {
		h.value = from.value.Clone()
		return nil
	}
	if from.memory == nil && from.offloaded == nil {
		return nil
	}
	src, rows, err := from.content()
	if err != nil {
		return err
	}
	if from.group == nil {
		h.value, err = tensor.FromBytes(h.dtype, slices.Clone(h.shape), src)
		return err
	}
	b := st.exec.device.Alloc(len(src))
	if b == nil {
		return fmt.Errorf("%w for a copy of state %q", graph.ErrMemory, h.name)
	}
	count, row := h.blocks()
	copyRows(b, src, count, row, rows, rows, from.group.length)
	h.memory, h.rows = b, rows
	return nil
}

// State returns a copy of the state that an input reads, or nil before its extents are known.
func (st *Stream) State(input int) (*tensor.Tensor, error) {
	h, err := st.find(input)
	if err != nil || h.shape == nil {
		return nil, err
	}
	t, err := h.tensor()
	if err != nil {
		return nil, st.program.Fail("run", nil, err)
	}
	return t, nil
}

// SetState copies t to the state that the next run reads as this input. If the model gives states
// the same length, set them together: the last one sets the length of all.
func (st *Stream) SetState(input int, t *tensor.Tensor) error {
	h, err := st.find(input)
	if err != nil {
		return err
	}
	if t.DType() != h.dtype || len(t.Shape()) != len(h.dims) {
		return st.program.Fail("run", nil,
			graph.Errorf(graph.ErrShape, "state %q is %v%v and is given %v", h.name, h.dtype, h.dims, t))
	}
	for i, d := range h.dims {
		if n, ok := d.Value(); ok && i != h.axis && n != t.Shape()[i] {
			return st.program.Fail("run", nil,
				graph.Errorf(graph.ErrShape, "state %q is %v%v and is given %v", h.name, h.dtype, h.dims, t))
		}
	}
	h.release(st)
	h.value = t.Clone()
	defer st.recount()
	h.shape = slices.Clone(t.Shape())
	if h.axis >= 0 {
		h.group.length = t.Shape()[h.axis]
		h.group.room = max(h.group.room, h.group.length)
		h.shape[h.axis] = 0
	}
	return nil
}

func (st *Stream) find(input int) (*streamState, error) {
	i := slices.IndexFunc(st.states, func(h *streamState) bool { return h.input == input })
	if i < 0 {
		return nil, st.program.Fail("run", nil, graph.Errorf(graph.ErrMissing, "input %d is no state", input))
	}
	return st.states[i], nil
}

// Bytes returns the memory of the states, in bytes.
func (st *Stream) Bytes() int {
	n := 0
	for _, h := range st.states {
		if n += h.bytes(); h.offloaded != nil {
			n += h.offloaded.Bytes()
		}
	}
	return n
}

// Close frees the memory of the states.
func (st *Stream) Close() { st.Reset() }

package plan

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Lengths has the lengths of a run and the states that the run updates. Symbols in extents stand
// for lengths.
type Lengths struct {
	// Bounds is the upper limit of each length, by symbol.
	Bounds map[string]int
	// States lists the states. The input of a growing state has a length as its extent along Axis.
	States []State
}

// State is a value that a run reads and the value that the next run reads instead.
type State struct {
	In, Out int // ids: an input and a result
	Axis    int // the axis along which Out may be longer than In; -1 for none
	Room    int // extent of the memory along Axis
	// InRoom says that both values are in memory with space for Room rows: steps add rows without
	// moving the past. Otherwise each run makes a new tensor.
	InRoom bool
	// InPlace says that a state without a growing axis is updated in its own memory.
	InPlace bool
	// Offloaded says that a state without a growing axis stays in an accelerator's memory. A run
	// copies value from, the next state, there unless a step computes it there.
	Offloaded bool
	from      int
}

// bound returns the upper limit of a length.
func (l *Lengths) bound(symbol string) (int, bool) {
	n, ok := l.Bounds[symbol]
	return n, ok
}

// most returns upper limits of extents. If there are none, it reports false.
func (l *Lengths) most(d graph.Dims) (tensor.Shape, bool) {
	if l == nil {
		return d.Concrete()
	}
	if d == nil {
		return nil, false
	}
	s := make(tensor.Shape, len(d))
	for i, x := range d {
		_, n, ok := x.Interval(func(symbol string) (int, int, bool) {
			n, ok := l.Bounds[symbol]
			return 0, n, ok
		})
		if !ok || n < 0 {
			return nil, false
		}
		s[i] = n
	}
	return s, true
}

// of returns the index of the state in memory with room that contains value id, or -1.
func (l *Lengths) of(id int) int {
	if l == nil || id < 0 {
		return -1
	}
	return slices.IndexFunc(l.States, func(s State) bool { return s.InRoom && (s.In == id || s.Out == id) })
}

// inRoom reports whether an operand of a node is in memory with room.
func (l *Lengths) inRoom(x *inferred) bool {
	has := func(id int) bool { return l.of(id) >= 0 }
	return slices.ContainsFunc(x.In, has) || slices.ContainsFunc(x.Out, has)
}

// demote moves the states that a node touches to tensors without room.
func (l *Lengths) demote(x *inferred) {
	for _, id := range slices.Concat(x.In, x.Out) {
		if i := l.of(id); i >= 0 {
			l.States[i].InRoom = false
		}
	}
}

// describe sets the bounds of lengths and the room of operands in a binding.
func (l *Lengths) describe(d *device.Binding, n *Node) {
	if l == nil {
		return
	}
	d.Bound = l.bound
	d.InRoom, d.OutRoom = l.rooms(n.inputs(), d.In), l.rooms(n.Out, d.Out)
	if d.OutRoom != nil {
		return
	}
	// If no axis before the growing one is longer than 1, the room does not separate rows.
	spread := false
	for i, id := range n.inputs() {
		if d.InRoom == nil || d.InRoom[i] == nil {
			continue
		}
		if l.States[l.of(id)].isOneBlock(d.In[i].Dims) {
			d.InRoom[i] = nil
		}
		spread = spread || d.InRoom[i] != nil
	}
	if !spread {
		d.InRoom = nil
	}
}

// isOneBlock reports whether the rows of a value with extents d are adjacent in memory.
func (s *State) isOneBlock(d graph.Dims) bool {
	return !slices.ContainsFunc(d[:s.Axis], func(n graph.Dim) bool { return !n.Is(1) })
}

func (l *Lengths) rooms(ids []int, values []*op.Value) []graph.Dims {
	var list []graph.Dims
	for i, id := range ids {
		s := l.of(id)
		if s < 0 || values[i] == nil || values[i].Dims == nil {
			continue
		}
		if list == nil {
			list = make([]graph.Dims, len(ids))
		}
		list[i] = slices.Clone(values[i].Dims)
		list[i][l.States[s].Axis] = graph.Known(l.States[s].Room)
	}
	return list
}

// checkRooms takes states out of memory with room if this stage cannot add their rows in place.
func (b *builder) checkRooms() {
	if b.Lengths == nil {
		return
	}
	for i := range b.Lengths.States {
		if s := &b.Lengths.States[i]; s.InRoom && !b.grows(s) {
			s.InRoom = false
		}
	}
}

// grows reports whether this stage computes the result of a state, and the result is the input with
// more rows.
func (b *builder) grows(s *State) bool {
	in, out := b.values[s.In], b.values[s.Out]
	if !b.Done() || s.In == s.Out || !b.adds(s) || out.Const != nil ||
		len(in.Dims) != len(out.Dims) || in.DType != out.DType {
		return false
	}
	for i := range in.Dims {
		if i == s.Axis && !out.Dims[i].Sub(in.Dims[i]).NonNegative() || i != s.Axis && !in.Dims[i].Same(out.Dims[i]) {
			return false
		}
	}
	return true
}

// adds reports whether the node that computes the result of a state reads its input.
func (b *builder) adds(s *State) bool {
	return slices.ContainsFunc(b.todo, func(x inferred) bool {
		return slices.Contains(x.Out, s.Out) && slices.Contains(x.In, s.In)
	})
}

// place puts the values of states into the memory of the states.
func (l *Lengths) place(pl *Plan) {
	if l == nil {
		return
	}
	for i := range l.States {
		s := &l.States[i]
		if !s.InRoom && !s.Offloaded {
			continue
		}
		s.InPlace = s.InPlace || s.Offloaded
		in, out := &pl.Slots[s.In], &pl.Slots[s.Out]
		in.Place, out.Place, out.Base = InState, InState, in.Base
	}
}

// updates puts a result of a step over the state that it replaces. The step must be able to compute
// it there, and nothing may read the state afterwards.
func (p *placer) updates(step, id int) bool {
	if p.Lengths == nil {
		return false
	}
	for i := range p.Lengths.States {
		s := &p.Lengths.States[i]
		out := s.Out
		if s.Offloaded {
			out = s.from
		}
		if s.Axis >= 0 || out != id || !p.replaces(step, s, out) {
			continue
		}
		s.InPlace = true
		in := &p.Slots[s.In]
		in.Place, p.Slots[id].Place, p.Slots[id].Base = InState, InState, in.Base
		return true
	}
	return false
}

// replaces reports whether a step may compute value id, the next value of a state, over the state's
// input.
func (p *placer) replaces(step int, s *State, id int) bool {
	st, in, out := &p.Steps[step], &p.Slots[s.In], &p.Slots[id]
	if st.OnHost() || st.Out[0] != id || p.last[s.In] != step || in.Shape == nil || !in.Shape.Equal(out.Shape) ||
		in.Type.DType != out.Type.DType {
		return false
	}
	found := 0
	for i, id := range st.In {
		if id >= 0 && p.root(id) == s.In {
			if id != s.In || !slices.Contains(st.InPlace, i) {
				return false
			}
			found++
		}
	}
	return found == 1
}

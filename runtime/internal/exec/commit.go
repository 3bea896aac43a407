package exec

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// commit makes the results of a run the states of the next.
func (st *Stream) commit(pl *plan.Plan, results []tensor.Value) error {
	next := make([]int, len(st.states))
	for i, h := range st.states {
		place := pl.Lengths.States[i]
		switch {
		case place.InPlace:
		case place.InRoom:
			n, ok := pl.Slots[h.out].Extent(h.axis, st.lookup)
			if !ok {
				return fmt.Errorf("the length of state %q is not known", h.name)
			}
			next[i] = n
		default:
			t, ok := results[h.result].(*tensor.Tensor)
			if !ok || t.DType() != h.dtype || !h.takes(t.Shape()) {
				return graph.Errorf(graph.ErrShape, "state %q, %v%v, becomes %v", h.name, h.dtype, h.shape, results[h.result])
			}
			if err := st.replace(h, t); err != nil {
				return err
			}
			if h.axis >= 0 {
				next[i] = t.Shape()[h.axis]
			}
		}
	}
	return st.lengthen(next)
}

// replace makes t the state, and counts the change of its memory.
func (st *Stream) replace(h *streamState, t *tensor.Tensor) error {
	n := len(t.Bytes()) - len(h.memory)
	if h.value != nil {
		n -= len(h.value.Bytes())
	}
	if h.offloaded != nil {
		n -= h.offloaded.Bytes()
	}
	h.release(st)
	h.value = t
	if st.count != nil {
		return st.count(n)
	}
	return nil
}

// lengthen sets the lengths of groups to the lengths of their states. If states of one group
// differ, it fails, or gives each state a group if st.apart allows it.
func (st *Stream) lengthen(lengths []int) error {
	set := map[*group]bool{}
	for i, h := range st.states {
		if h.group == nil {
			continue
		}
		if set[h.group] && h.group.next != lengths[i] {
			if st.apart {
				return st.part(lengths)
			}
			return graph.Errorf(graph.ErrShape, "state %q has %d rows and others that are called as long %d", h.name,
				lengths[i], h.group.next)
		}
		set[h.group], h.group.next = true, lengths[i]
	}
	for g := range set {
		g.length = g.next
	}
	return nil
}

// part gives each state a group and a length of its own. Extents are numbers from then on.
func (st *Stream) part(lengths []int) error {
	st.numbers = graph.Errorf(graph.ErrShape, "states differ in length")
	for i, h := range st.states {
		if h.group == nil {
			continue
		}
		h.group.length = lengths[i] // leaveRoom copies this many rows
		if err := h.leaveRoom(st); err != nil {
			return err
		}
		h.group = &group{symbol: fmt.Sprintf("rows of %d", i), room: st.room, length: lengths[i]}
	}
	st.groups = nil
	for _, h := range st.states {
		if h.group != nil {
			st.groups = append(st.groups, h.group)
		}
	}
	return nil
}

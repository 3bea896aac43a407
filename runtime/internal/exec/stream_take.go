package exec

import "github.com/nacre-ml/nacre/runtime/graph"

// Take moves the states of another stream here, without copies. The other one is then as after Reset.
// The states must have the same names, types and extents, and the programs the same device.
func (st *Stream) Take(from *Stream) error {
	same := len(st.states) == len(from.states) && st.exec.device == from.exec.device
	for i := 0; same && i < len(st.states); i++ {
		a, b := st.states[i], from.states[i]
		same = a.name == b.name && a.dtype == b.dtype && a.axis == b.axis && a.dims.String() == b.dims.String()
	}
	if !same {
		return st.program.Fail("run", nil, graph.Errorf(graph.ErrState, "the streams do not have the same states"))
	}
	st.Reset()
	for i, h := range from.states {
		to := st.states[i]
		to.shape, to.value, to.memory, to.rows, to.offloaded = h.shape, h.value, h.memory, h.rows, h.offloaded
		h.value, h.memory, h.rows, h.offloaded = nil, nil, 0, nil
	}
	for i, g := range from.groups {
		st.groups[i].length, st.groups[i].room = g.length, g.room
	}
	st.spoilt = from.spoilt
	from.Reset()
	st.recount()
	return nil
}

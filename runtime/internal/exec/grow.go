package exec

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Grow moves growing states into a stream, if one plan serves all their lengths.
func (x *repetition) Grow(states []op.LoopState, in []tensor.Value, room int) (bool, error) {
	l := &op.Loop{States: states, Room: room}
	if _, err := x.body.LoopStates(l); err != nil {
		return false, nil
	}
	copy(x.in, in)
	values := make([]tensor.Value, len(states))
	for i, s := range states {
		v := in[s.In]
		if err := x.outer.Reserve(tensor.Footprint(v)); err != nil {
			return false, err
		}
		if values[i] = tensor.Own(v); values[i] == v { // the stream changes its states in place
			values[i] = v.(*tensor.Tensor).Clone()
		}
	}
	g, err := x.run.newLoop(x.outer, x.at, x.attr, l)
	if err != nil {
		return false, err
	}
	if err := g.Set(values); err != nil {
		return false, err
	}
	x.grown = g
	for _, s := range states {
		x.in[s.In] = nil
	}
	grows, err := x.chooseGrown(in)
	return grows, err
}

// chooseGrown is choose while states grow. If the plan for the inputs does not grow them, it
// returns false and makes the states inputs again.
func (x *repetition) chooseGrown(in []tensor.Value) (grows bool, err error) {
	g := x.grown
	for i, v := range in {
		if !g.Holds(i) {
			x.in[i] = v
		}
	}
	pl := g.planned(x.in)
	if pl == nil {
		if _, err := bodyOf(x.at, x.attr, in, g.Holds); err != nil {
			return false, err
		}
		if pl, err = g.prepare(x.run.ctx, x.in); err == nil && g.grows(pl) {
			return true, x.begin(pl)
		}
		if err != nil && x.run.ctx.Err() != nil {
			return false, err
		}
		for _, h := range g.states {
			if x.in[h.input], err = x.State(h.input); err != nil {
				return false, err
			}
		}
		x.leave()
		_ = g.take(-g.Bytes()) // giving bytes back cannot exceed the limit
		g.Close()
		x.grown = nil
		return false, nil
	}
	g.fill(x.in)
	return true, x.begin(pl)
}

// State returns a copy of the state at an input.
func (x *repetition) State(input int) (tensor.Value, error) {
	i := slices.IndexFunc(x.grown.states, func(h *streamState) bool { return h.input == input })
	if i < 0 {
		return nil, graph.Errorf(graph.ErrState, "input %d of graph %q is no state", input, x.attr)
	}
	h := x.grown.states[i]
	shape := slices.Clone(h.shape)
	shape[h.axis] = h.group.length
	if err := x.outer.Reserve(tensor.SizeOf(h.dtype, shape)); err != nil {
		return nil, err
	}
	return h.tensor()
}

// commit makes the growing states that the run wrote the current ones.
func (x *repetition) commit() error {
	if x.grown == nil {
		return nil
	}
	if err := x.grown.commit(x.plan, x.out); err != nil {
		return x.body.Fail("run", nil, err)
	}
	for _, h := range x.grown.states {
		x.out[h.result] = nil
	}
	return nil
}

// grows reports whether the plan serves all lengths of the states up to their rooms, and keeps
// their other extents.
func (st *Stream) grows(pl *plan.Plan) bool {
	if st.numbers != nil || !pl.Done() {
		return false
	}
	return !slices.ContainsFunc(st.states, func(h *streamState) bool {
		out := &pl.Slots[h.out]
		if len(out.Type.Dims) != len(h.shape) || out.Type.DType != h.dtype || out.Most == nil {
			return true
		}
		for a, d := range out.Type.Dims {
			if a != h.axis && !d.Is(h.shape[a]) {
				return true
			}
		}
		return false
	})
}

// planned returns the plan of the last run if it fits these inputs and the rooms hold the rows that
// a run of it leaves. Otherwise it returns nil.
func (st *Stream) planned(inputs []tensor.Value) *plan.Plan {
	pl := st.last
	if pl == nil || st.numbers != nil || st.spoilt {
		return nil
	}
	for _, g := range st.groups {
		if pl.Lengths.Bounds[g.symbol] != g.room {
			return nil
		}
	}
	for i, id := range pl.Program.Inputs {
		t, ok := inputs[i].(*tensor.Tensor)
		if !ok || st.Holds(i) {
			continue
		}
		s := &pl.Slots[id]
		if t.DType() != s.Type.DType || len(t.Shape()) != len(s.Type.Dims) {
			return nil
		}
		for a, d := range s.Type.Dims {
			if n, ok := d.Eval(st.lookup); !ok || n != t.Shape()[a] {
				return nil
			}
		}
	}
	for i, h := range st.states {
		if h.group == nil {
			return nil
		}
		n, ok := pl.Slots[h.out].Extent(h.axis, st.lookup)
		if !ok || n > h.group.room || pl.Lengths.States[i].InRoom != (h.memory != nil && h.rows == h.group.room) {
			return nil
		}
	}
	return pl
}

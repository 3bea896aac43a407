package runtime

import (
	"context"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Stream is consecutive runs of a session, like exec.Stream.
type Stream struct {
	*exec.Stream
	session *Session
}

// NewStream returns a stream with empty states. Room is the number of rows that the memory of
// growing states has at first.
func (s *Session) NewStream(states []graph.State, room int) (*Stream, error) {
	s.use.RLock()
	defer s.use.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	st, err := s.exec.NewStream(s.program, states, room)
	if err != nil {
		return nil, err
	}
	return &Stream{st, s}, nil
}

// Run computes the results that are not states, by name, and updates the states. It takes the
// inputs that are not states. Inputs for which Implies is true may be left out.
func (st *Stream) Run(ctx context.Context, inputs map[string]tensor.Value, prof *Profile) (map[string]tensor.Value, error) {
	s := st.session
	s.use.RLock()
	defer s.use.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	list, err := st.order(inputs)
	if err == nil {
		err = s.elements(list)
	}
	if err != nil {
		return nil, err
	}
	results, err := st.Stream.Run(ctx, list, prof)
	if err != nil {
		return nil, err
	}
	out := make(map[string]tensor.Value, len(results))
	for i, v := range results {
		if v != nil {
			out[s.outputs[i].Name] = v
		}
	}
	return out, nil
}

// Plan returns the plan of the next run on these inputs.
func (st *Stream) Plan(ctx context.Context, inputs map[string]tensor.Value) (*Plan, error) {
	list, err := st.order(inputs)
	if err != nil {
		return nil, err
	}
	return st.Stream.Plan(ctx, list)
}

// Bind makes memory for runs of the stream on inputs of these extents. Every run sets the implied
// inputs.
func (st *Stream) Bind(inputs map[string]tensor.Value) (*Bound, error) {
	s := st.session
	s.use.RLock()
	defer s.use.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	list, err := st.order(inputs)
	if err != nil {
		return nil, err
	}
	b, err := st.Stream.Bind(list)
	if err != nil {
		return nil, err
	}
	return &Bound{Bound: b, session: s, before: st.moving(b, inputs)}, nil
}

// order puts the inputs in the program's order, with the implied ones added.
func (st *Stream) order(inputs map[string]tensor.Value) ([]tensor.Value, error) {
	s := st.session
	all := st.implied(inputs)
	for name, v := range inputs {
		all[name] = v
	}
	for i, v := range s.program.Decl {
		if st.Holds(i) && all[v.Name] != nil {
			return nil, s.reject(graph.ErrState, "input %q is a state of the stream, which keeps it", v.Name)
		}
	}
	return orderWith(s, all, itself, st.Extents(), st.Holds)
}

// Fork returns a stream with a copy of the states.
func (st *Stream) Fork() (*Stream, error) {
	st.session.use.RLock()
	defer st.session.use.RUnlock()
	if st.session.closed {
		return nil, ErrClosed
	}
	out, err := st.Stream.Fork()
	if err != nil {
		return nil, err
	}
	return &Stream{out, st.session}, nil
}

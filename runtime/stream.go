package runtime

import (
	"context"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// State is an input of a program and the output that replaces it for the next run, by position.
// Axis is the axis along which the state grows; -1 for a state of fixed extents.
type State = exec.State

// StreamOptions say what inputs of a stream are, by position.
type StreamOptions struct {
	States []State
	// Room is the number of rows that the memory of growing states has at first.
	Room int
	// Rows are inputs with the batch and the new rows as their first two axes. The first one that
	// a run is given tells the size of the run.
	Rows []int
	// Implied are inputs that runs may leave out, because they follow from the size of the run.
	Implied []Implied
}

// Stream is consecutive runs of a session, like exec.Stream. Inputs and results are in the order of
// the session, and nil for states.
type Stream struct {
	*exec.Stream
	session *Session
	rows    []int
	implied []Implied
}

// NewStream returns a stream with empty states.
func (s *Session) NewStream(o StreamOptions) (*Stream, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	e, err := s.exec.NewStream(s.program, o.States, o.Room)
	if err != nil {
		return nil, err
	}
	st := &Stream{Stream: e, session: s, rows: o.Rows}
	if e.Grows() && len(o.Rows) > 0 {
		for _, x := range o.Implied {
			if one := (Step{Batch: 1, Rows: 1}); !e.Holds(x.Input) && x.tensor(s.program.Decl[x.Input].Type, one) != nil {
				st.implied = append(st.implied, x)
			}
		}
	}
	return st, nil
}

// Run computes the results that are not states, and updates the states. Run writes the time of
// every step to prof, unless prof is nil.
func (st *Stream) Run(ctx context.Context, inputs []tensor.Value, prof *Profile) ([]tensor.Value, error) {
	s := st.session
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	inputs, err := st.complete(inputs)
	if err != nil {
		return nil, err
	}
	if err := s.elements(inputs); err != nil {
		return nil, err
	}
	return st.Stream.Run(ctx, inputs, prof)
}

// Plan returns the plan of the next run on these inputs.
func (st *Stream) Plan(ctx context.Context, inputs []tensor.Value) (*Plan, error) {
	inputs, err := st.complete(inputs)
	if err != nil {
		return nil, err
	}
	pl, err := st.Stream.Plan(ctx, inputs)
	return st.session.told(ctx, pl, err)
}

// Bind makes memory for runs of the stream on inputs of these extents. Every run sets the implied
// inputs that are left out here.
func (st *Stream) Bind(ctx context.Context, inputs []tensor.Value) (*Bound, error) {
	s := st.session
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	all, err := st.complete(inputs)
	if err != nil {
		return nil, err
	}
	b, err := st.Stream.Bind(ctx, all)
	if err != nil {
		return nil, err
	}
	return &Bound{Bound: b, session: s, before: st.moving(b, inputs)}, nil
}

// complete returns the inputs with the implied ones, and checks them.
func (st *Stream) complete(inputs []tensor.Value) ([]tensor.Value, error) {
	s := st.session
	for i, v := range inputs {
		if v != nil && st.Holds(i) {
			return nil, s.reject(graph.ErrState, "input %q is a state of the stream, which keeps it", s.program.Decl[i].Name)
		}
	}
	all := st.imply(inputs)
	return all, s.acceptWith(all, st.Extents(), st.Holds)
}

// Take moves the states of another stream here. The other one is then as after Reset.
func (st *Stream) Take(from *Stream) error {
	if err := st.session.enter(); err != nil {
		return err
	}
	defer st.session.leave()
	return st.Stream.Take(from.Stream)
}

// Fork returns a stream with a copy of the states.
func (st *Stream) Fork() (*Stream, error) {
	if err := st.session.enter(); err != nil {
		return nil, err
	}
	defer st.session.leave()
	e, err := st.Stream.Fork()
	if err != nil {
		return nil, err
	}
	return &Stream{e, st.session, st.rows, st.implied}, nil
}

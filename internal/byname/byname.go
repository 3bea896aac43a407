// Package byname runs the engine with inputs and results by name, for tests.
package byname

import (
	"context"
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Session is a session of the engine.
type Session struct{ *runtime.Session }

// New makes a session of a validated model.
func New(m *graph.Model, o runtime.Options) (Session, error) {
	s, err := runtime.New(m, o)
	return Session{s}, err
}

// Run computes results that are tensors.
func (s Session) Run(ctx context.Context, inputs map[string]*tensor.Tensor) (map[string]*tensor.Tensor, error) {
	results, err := s.RunValues(ctx, Values(inputs))
	if err != nil {
		return nil, err
	}
	out := make(map[string]*tensor.Tensor, len(results))
	for name, v := range results {
		t, ok := v.(*tensor.Tensor)
		if !ok {
			return nil, fmt.Errorf("output %q is %v, no tensor", name, v)
		}
		out[name] = t
	}
	return out, nil
}

// RunValues computes results of all kinds.
func (s Session) RunValues(ctx context.Context, inputs map[string]tensor.Value) (map[string]tensor.Value, error) {
	return s.run(ctx, inputs, nil)
}

// Profile is RunValues with the time of every step.
func (s Session) Profile(
	ctx context.Context, inputs map[string]tensor.Value,
) (map[string]tensor.Value, *runtime.Profile, error) {
	p := &runtime.Profile{}
	out, err := s.run(ctx, inputs, p)
	return out, p, err
}

func (s Session) run(
	ctx context.Context, inputs map[string]tensor.Value, prof *runtime.Profile,
) (map[string]tensor.Value, error) {
	list, err := ordered(s.Inputs(), inputs)
	if err != nil {
		return nil, err
	}
	results, err := s.Session.Run(ctx, list, prof)
	if err != nil {
		return nil, err
	}
	return named(s.Outputs(), results), nil
}

// Plan returns the plan of a run.
func (s Session) Plan(ctx context.Context, inputs map[string]*tensor.Tensor) (*runtime.Plan, error) {
	list, err := ordered(s.Inputs(), Values(inputs))
	if err != nil {
		return nil, err
	}
	return s.Session.Plan(ctx, list)
}

// NewStream returns a stream with empty states, which runs are not given.
func (s Session) NewStream(states []graph.State, room int) (Stream, error) {
	o := runtime.StreamOptions{Room: room}
	for _, st := range states {
		o.States = append(o.States, runtime.State{Input: index(s.Inputs(), st.Input), Output: index(s.Outputs(), st.Output),
			Axis: st.Axis})
	}
	st, err := s.Session.NewStream(o)
	return Stream{st, s}, err
}

// Stream is a stream of the engine.
type Stream struct {
	*runtime.Stream
	session Session
}

// Run computes the results that are not states, and updates the states.
func (st Stream) Run(ctx context.Context, inputs map[string]tensor.Value) (map[string]tensor.Value, error) {
	list, err := ordered(st.session.Inputs(), inputs)
	if err != nil {
		return nil, err
	}
	results, err := st.Stream.Run(ctx, list, nil)
	if err != nil {
		return nil, err
	}
	return named(st.session.Outputs(), results), nil
}

// Plan returns the plan of the next run.
func (st Stream) Plan(ctx context.Context, inputs map[string]tensor.Value) (*runtime.Plan, error) {
	list, err := ordered(st.session.Inputs(), inputs)
	if err != nil {
		return nil, err
	}
	return st.Stream.Plan(ctx, list)
}

// Bind makes memory for runs of the stream.
func (st Stream) Bind(ctx context.Context, inputs map[string]tensor.Value) (*runtime.Bound, error) {
	list, err := ordered(st.session.Inputs(), inputs)
	if err != nil {
		return nil, err
	}
	return st.Stream.Bind(ctx, list)
}

// Fork returns a stream with a copy of the states.
func (st Stream) Fork() (Stream, error) {
	other, err := st.Stream.Fork()
	return Stream{other, st.session}, err
}

// State returns a copy of the state that the next run reads as this input.
func (st Stream) State(input string) (*tensor.Tensor, error) {
	return st.Stream.State(index(st.session.Inputs(), input))
}

// SetState copies t to the state that the next run reads as this input.
func (st Stream) SetState(input string, t *tensor.Tensor) error {
	return st.Stream.SetState(index(st.session.Inputs(), input), t)
}

// Values returns tensors as values.
func Values(tensors map[string]*tensor.Tensor) map[string]tensor.Value {
	out := make(map[string]tensor.Value, len(tensors))
	for name, t := range tensors {
		if t != nil {
			out[name] = t
		}
	}
	return out
}

// ordered returns values in the order of a list. Those that are missing are nil.
func ordered(list []*graph.Value, values map[string]tensor.Value) ([]tensor.Value, error) {
	out := make([]tensor.Value, len(list))
	for name, v := range values {
		at := index(list, name)
		if at < 0 {
			return nil, fmt.Errorf("there is no input %q", name)
		}
		out[at] = v
	}
	return out, nil
}

// named returns values by name, without those that are nil.
func named(list []*graph.Value, values []tensor.Value) map[string]tensor.Value {
	out := make(map[string]tensor.Value, len(values))
	for i, v := range values {
		if v != nil {
			out[list[i].Name] = v
		}
	}
	return out
}

// index returns the place of a name in a list; -1 if it is not there.
func index(list []*graph.Value, name string) int {
	return slices.IndexFunc(list, func(v *graph.Value) bool { return v.Name == name })
}

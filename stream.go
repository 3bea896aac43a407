package nacre

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// State is an input of a model and the output that replaces it for the next run, such as the
// past and the present of a cache of keys, or the hidden state of a recurrent network.
type State struct {
	// Input and Output are names of tensors of one element type.
	Input, Output string
	// Axis is the axis along which the state grows; -1 for a state of fixed extents.
	Axis int
}

// States returns the states that a genai_config.json in the model's folder names. Without
// such a file it finds states by names and types of inputs and outputs: past_key_values.*
// with present.*, past_* with present_*, state with stateN, h with hn, and the like.
func (m *Model) States() []State {
	if !m.made() {
		return nil
	}
	n, err := m.network()
	if err != nil {
		return nil
	}
	return statesOf(n)
}

// statesOf returns the states of a network.
func statesOf(n *graph.Model) []State {
	found := n.States
	if found == nil {
		found = graph.FindStates(n.Graph)
	}
	list := make([]State, len(found))
	for i, s := range found {
		list[i] = State(s)
	}
	return list
}

// StreamOptions choose the states of a stream and their memory. The zero value takes the
// states of Model.States.
type StreamOptions struct {
	// States are the states of the model; nil for Model.States.
	States []State
	// Room is how many rows the memory of growing states has at first; 0 for 256. Full
	// memory doubles.
	Room int
	// Override names constant inputs, of Session.Overridable, that runs of the stream may
	// override. A run that leaves one out takes the model's value.
	Override []string
}

// Stream is a sequence of runs of a session. It holds the states of the model, and every run
// reads and updates them: a decoder needs new tokens only, and a network that listens needs
// the next frame only.
//
// The memory of a growing state, such as a cache of keys and values, has room for more rows.
// Attention and concatenation add rows there without moving earlier ones, so a token costs
// the arithmetic of a token. Until Close a stream takes the memory of its states, with room
// for up to twice their rows.
//
// The methods of a Stream may be called from one goroutine at a time. A session may have
// many streams. Streams do not keep their session open: after Session.Close their methods
// return ErrClosed, and Close still frees their memory.
type Stream struct {
	mu      sync.Mutex
	session *Session
	engine  *runtime.Stream           // nil after Close
	states  map[string]bool           // inputs that the stream holds
	implied map[string]bool           // inputs that Run makes if they are left out
	initial map[string]*tensor.Tensor // the model's values of states
}

// NewStream returns a stream at its start. A state with a value in the model holds it; any
// other growing state has no rows, and any other state of fixed extents holds zeros.
//
// The error is ErrOption for a model without states, for a negative room, and for a state that
// is named twice, has no input, no computed output, an output of another type, or no such axis.
// It is ErrUnsupported for a state of strings, of elements narrower than a byte or of an open
// number of axes, and ErrClosed after Close.
func (s *Session) NewStream(o StreamOptions) (_ *Stream, err error) {
	defer s.enter().end(&err)
	file := s.model.source.File
	if s.closed.Load() {
		return nil, s.closedError()
	}
	states := o.States
	if states == nil {
		states = statesOf(s.program.network)
	}
	switch {
	case len(states) == 0:
		return nil, markf(ErrOption, "%s: no names of inputs and outputs show that they are states; StreamOptions.States says which are", file)
	case o.Room < 0:
		return nil, markf(ErrOption, "%s: option Room is %d; it must not be negative", file, o.Room)
	}
	s, err = s.forStream(states, o.Override)
	if err != nil {
		return nil, err
	}
	list := make([]graph.State, len(states))
	for i, st := range states {
		list[i] = graph.State(st)
	}
	room := o.Room
	if room == 0 {
		room = 256
	}
	e, err := s.engine.NewStream(list, room)
	switch {
	case errors.Is(err, runtime.ErrClosed):
		return nil, s.closedError()
	case errors.Is(err, graph.ErrUnsupported):
		return nil, mark(ErrUnsupported, err)
	case err != nil:
		return nil, mark(ErrOption, err)
	}
	st, err := newStream(s, e)
	if err == nil {
		err = st.start()
	}
	if err != nil {
		return nil, public(err)
	}
	return st, nil
}

// forStream returns the session for the runs of a stream. They override the constant inputs
// that are states or named by override.
func (s *Session) forStream(states []State, override []string) (*Session, error) {
	var taken []string
	for _, st := range states {
		if s.program.overrides(st.Input) {
			taken = append(taken, st.Input)
		}
	}
	for _, name := range override {
		switch _, taken := s.program.unused[name]; {
		case s.program.overrides(name):
		case taken:
			const text = "%s: option Override: input %q has no value in the model, or no output needs it"
			return nil, markf(ErrOption, text, s.model.source.File, name)
		default:
			return nil, mark(ErrOption, fmt.Errorf("option Override: %w", s.unknown(name, s.Overridable())))
		}
		taken = append(taken, name)
	}
	if taken == nil {
		return s, nil
	}
	return s.taking(context.Background(), taken)
}

func newStream(s *Session, e *runtime.Stream) (*Stream, error) {
	st := &Stream{session: s, engine: e, states: map[string]bool{}, implied: map[string]bool{}}
	st.initial = map[string]*tensor.Tensor{}
	for i, v := range s.engine.Inputs() {
		st.states[v.Name], st.implied[v.Name] = e.Holds(i), e.Implies(i)
		if !st.states[v.Name] || !s.program.taken[v.Name] {
			continue
		}
		t, err := s.program.valueOf(v.Name, s.options.MemoryLimit)
		if err != nil {
			return nil, err
		}
		st.initial[v.Name] = t
	}
	return st, nil
}

// start sets states to the model's values.
func (s *Stream) start() error {
	for name, t := range s.initial {
		if err := s.engine.SetState(name, t); err != nil {
			return err
		}
	}
	return nil
}

// Inputs describes the inputs of runs of the stream, in the order of the model and in a new
// slice: the inputs of the session without states. Inputs that Run implies for a decoder are
// not required.
func (s *Stream) Inputs() []Info {
	if !s.made() {
		return nil
	}
	list := slices.DeleteFunc(s.session.Inputs(), func(in Info) bool { return s.states[in.Name] })
	for i, in := range list {
		list[i].Required = in.Required && !s.implied[in.Name]
	}
	return list
}

// Run computes the outputs from the inputs, both by name and without states, and updates the
// states. Inputs and outputs are as for Session.Run.
//
// A run of a decoder may leave out inputs of these names: attention_mask is then ones for
// all rows, position_ids and cache_position continue from the rows of the states,
// use_cache_branch reports whether there are rows, and seqlens_k and total_sequence_length
// count them. The tokens of input_ids or inputs_embeds are new rows.
//
// The error is as for Session.Run, or ErrState. A failed run leaves the states as they were.
// The exception is a state of fixed extents that an operator updates in place: then further
// runs are ErrState until Reset.
func (s *Stream) Run(ctx context.Context, inputs map[string]*Tensor) (_ map[string]*Tensor, err error) {
	defer s.enter().end(&err)
	return s.run(ctx, inputs, nil)
}

// Profile is Run, and also returns the time of every step.
func (s *Stream) Profile(ctx context.Context, inputs map[string]*Tensor) (_ map[string]*Tensor, _ *Profile, err error) {
	defer s.enter().end(&err)
	p := &runtime.Profile{}
	out, err := s.run(ctx, inputs, p)
	if err != nil {
		return nil, nil, err
	}
	return out, &Profile{p}, nil
}

func (s *Stream) run(ctx context.Context, inputs map[string]*Tensor, prof *runtime.Profile) (map[string]*Tensor, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, err := s.accept(ctx, inputs)
	if err != nil {
		return nil, err
	}
	out, err := s.engine.Run(ctx, in, prof)
	if err != nil {
		return nil, public(err)
	}
	return s.session.tensors(out, "a stream returns tensors only")
}

// open returns ErrClosed if the stream or its session is closed.
func (s *Stream) open() error {
	if s.engine == nil {
		return markf(ErrClosed, "%s: the stream is closed", s.session.model.source.File)
	}
	if s.session.closed.Load() {
		return s.session.closedError()
	}
	return nil
}

// accept checks the names of inputs, and returns the inputs for the engine.
func (s *Stream) accept(ctx context.Context, inputs map[string]*Tensor) (map[string]tensor.Value, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	if err := s.session.usable(ctx); err != nil {
		return nil, err
	}
	in := make(map[string]tensor.Value, len(inputs))
	for name, t := range inputs {
		if t == nil || s.session.program.unused[name] {
			continue
		}
		if _, known := s.session.program.unused[name]; !known && s.session.program.overrides(name) {
			const text = "%s: input %q has a value in the model, which runs of the stream keep; " +
				"StreamOptions.Override lets them give another"
			return nil, markf(ErrUnknownInput, text, s.session.model.source.File, name)
		} else if !known {
			return nil, s.session.unknown(name, s.Inputs())
		}
		in[name] = &t.t
	}
	if err := s.session.fill(in); err != nil {
		return nil, err
	}
	for name := range s.initial {
		if inputs[name] == nil {
			delete(in, name)
		}
	}
	return in, nil
}

// Bind makes memory for runs of the stream on inputs of these element types and shapes, and
// copies the elements. Before each run it updates the inputs that Run implies. An input with
// an extent that follows the length of the stream keeps following it; all its elements must
// be equal. Bound.Input and Bound.Output return nil for states. Runs allocate only when the
// memory of states doubles. The error is ErrUnsupported if the extents of a result change
// from run to run, or if a growing state cannot have memory with room.
func (s *Stream) Bind(inputs map[string]*Tensor) (_ *Bound, err error) {
	defer s.enter().end(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	in, err := s.accept(context.Background(), inputs)
	if err != nil {
		return nil, err
	}
	e, err := s.engine.Bind(in)
	if err != nil {
		return nil, public(err)
	}
	b := newBound(s.session, e, &s.mu)
	b.stream = s
	return b, nil
}

// Plan returns the plan of the next run on inputs of these types and shapes. It runs nothing,
// and states stay as they are. The error is as for Run.
func (s *Stream) Plan(inputs map[string]*Tensor) (*Plan, error) {
	return s.PlanContext(context.Background(), inputs)
}

// PlanContext is Plan that ends with the context's error when the context is done.
func (s *Stream) PlanContext(ctx context.Context, inputs map[string]*Tensor) (_ *Plan, err error) {
	defer s.enter().end(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	in, err := s.accept(ctx, inputs)
	if err != nil {
		return nil, err
	}
	p, err := s.engine.Plan(ctx, in)
	if err != nil {
		return nil, public(err)
	}
	return &Plan{p}, nil
}

// Len returns the number of rows, such as tokens, of the growing states; 0 if no state grows.
func (s *Stream) Len() int {
	if !s.made() {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.engine == nil {
		return 0
	}
	return s.engine.Length()
}

// Reset returns the states to their start, as NewStream makes them, and frees their memory. The
// next inputs may have other extents, such as another batch.
func (s *Stream) Reset() {
	if !s.made() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.engine != nil {
		s.engine.Reset()
		_ = s.start() // NewStream was given the same
	}
}

// Truncate cuts the states to their first n rows, the past of the next run. The error is
// ErrState if a state does not grow or has fewer rows, or if n is negative.
func (s *Stream) Truncate(n int) (err error) {
	defer s.enter().end(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	return public(s.engine.Truncate(n))
}

// Fork returns a stream with a copy of the states, for beams and for shared prefixes. The
// two streams share no memory, and each needs its own Close. The error is ErrMemory if the
// copy exceeds the rest of Options.MemoryBudget.
func (s *Stream) Fork() (_ *Stream, err error) {
	defer s.enter().end(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return nil, err
	}
	e, err := s.engine.Fork()
	if err != nil {
		return nil, public(err)
	}
	return &Stream{session: s.session, engine: e, states: s.states, implied: s.implied, initial: s.initial}, nil
}

// State returns a copy of the state that the next run reads as this input; nil if its
// extents are not known before the first run. The error is ErrUnknownInput if there is no
// such state, and ErrClosed after Close.
func (s *Stream) State(input string) (_ *Tensor, err error) {
	defer s.enter().end(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return nil, err
	}
	t, err := s.engine.State(input)
	if err != nil {
		return nil, mark(ErrUnknownInput, err)
	}
	if t == nil {
		return nil, nil
	}
	return &Tensor{*t}, nil
}

// SetState copies t to the state that the next run reads as this input. States that grow
// together must be set together. The error is ErrUnknownInput if there is no such state,
// ErrShape if t differs from the model's declaration, and ErrClosed after Close.
func (s *Stream) SetState(input string, t *Tensor) (err error) {
	defer s.enter().end(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	if t == nil {
		return markf(ErrShape, "%s: the tensor for state %q is nil", s.session.model.source.File, input)
	}
	return public(s.engine.SetState(input, &t.t))
}

// Close gives back the memory of the states. Further calls do nothing.
func (s *Stream) Close() (err error) {
	defer s.enter().end(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.engine != nil {
		s.engine.Close()
		s.engine = nil
	}
	return nil
}

package nacre

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/exec"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// State is a value that a run reads and leaves changed for the next run: an input of a
// model and the output that takes its place, such as the past and the present of a
// cache of keys, or the hidden state of a recurrent network.
type State struct {
	// Input and Output are names of tensors of one element type.
	Input, Output string
	// Axis is the axis along which the state grows; -1 for a state of fixed extents.
	Axis int
}

// States returns the states that a genai_config.json in the model's folder names, or else
// those that the names and types of the model's inputs and outputs tell:
// past_key_values.* with present.*, past_* with present_*, state with stateN, h with hn,
// and the like.
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

// StreamOptions choose the states of a stream and their memory. The zero value is for the
// states that Model.States finds.
type StreamOptions struct {
	// States are those of the model; nil for those that Model.States finds.
	States []State
	// Room is the rows that the memory of growing states has at first; 0 for 256. It
	// doubles when it is full.
	Room int
	// Override names inputs that have a value in the model and that runs may give another, of
	// those that Session.Overridable describes. A run that leaves one out has the model's value.
	Override []string
}

// Stream is a sequence of runs of a session. It holds the states of the model, which
// every run reads and updates: a decoder is given new tokens only, and a network that
// listens to a stream the next frame only.
//
// States that grow, such as caches of keys and values, lie in memory with room where
// attention, or a concatenation with new rows, adds rows without moving those that are
// there: a token costs the arithmetic of a token. The memory of a stream is that of its
// states, with up to twice the rows that they have, until Close.
//
// The methods of a Stream may be called from one goroutine at a time. A session may have
// many streams. Streams do not keep their session open: after Session.Close their methods
// are ErrClosed, and Close still gives back their memory.
type Stream struct {
	mu      sync.Mutex
	session *Session
	engine  *runtime.Stream           // nil after Close
	states  map[string]bool           // inputs that the stream holds
	implied map[string]bool           // inputs that Run makes when they are left out
	initial map[string]*tensor.Tensor // values that the model has for states
}

// NewStream returns a stream whose states hold the values that the model has for them. Of
// the others, those that grow have no rows, and the rest hold zeros.
//
// The error is ErrOption for a model without states, for a state that names no input or none of
// the outputs that the session computes, has no such axis, is named twice or has an output of
// another type, and for a negative room; ErrUnsupported for a state whose elements are strings or
// narrower than a byte, or whose number of axes is open; and ErrClosed after Close.
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

// forStream returns the session whose runs take, beside the inputs of s, those that have a
// value in the model and are states or named by override.
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

// start gives states the values that the model has for them.
func (s *Stream) start() error {
	for name, t := range s.initial {
		if err := s.engine.SetState(name, t); err != nil {
			return err
		}
	}
	return nil
}

// Inputs describes the inputs that runs of the stream may be given, in the order of the
// model and in a new slice: those of the session that are no states. Those that Run
// implies for a decoder are not required.
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

// Run computes the outputs that are no states from the inputs that are no states, by
// name, and moves the states on. Inputs and outputs are as those of Session.Run.
//
// Of a decoder, inputs with these names may be left out: attention_mask is then ones for
// all rows, position_ids and cache_position count on from the rows that are there,
// use_cache_branch tells whether there are any, and seqlens_k and total_sequence_length
// count them. New rows are those of input_ids or of inputs_embeds.
//
// The error is that of Session.Run, or ErrState. A run that fails leaves the states as
// they were, but for states of fixed extents that an operator updates in place: then the
// stream is of no use before Reset, and further runs are ErrState.
func (s *Stream) Run(ctx context.Context, inputs map[string]*Tensor) (_ map[string]*Tensor, err error) {
	defer s.enter().end(&err)
	return s.run(ctx, inputs, nil)
}

// Profile is Run that also returns the time of every step.
func (s *Stream) Profile(ctx context.Context, inputs map[string]*Tensor) (_ map[string]*Tensor, _ *Profile, err error) {
	defer s.enter().end(&err)
	p := &exec.Profile{}
	out, err := s.run(ctx, inputs, p)
	if err != nil {
		return nil, nil, err
	}
	return out, &Profile{p}, nil
}

func (s *Stream) run(ctx context.Context, inputs map[string]*Tensor, prof *exec.Profile) (map[string]*Tensor, error) {
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

// open reports a stream that is closed, or whose session is.
func (s *Stream) open() error {
	if s.engine == nil {
		return markf(ErrClosed, "%s: the stream is closed", s.session.model.source.File)
	}
	if s.session.closed.Load() {
		return s.session.closedError()
	}
	return nil
}

// accept checks what a method is given.
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

// Bind makes memory for runs of the stream on inputs of the element types and shapes of
// those given, whose elements it copies, as Session.Bind does for runs that do not follow
// each other. Inputs that Run implies are kept up to date. An input whose extent goes
// with the length of the stream goes on doing so, and all its elements must be equal.
// The tensors of states are nil, as the stream keeps them; runs allocate only when the
// memory of states doubles. The error is ErrUnsupported for results whose extents change
// from run to run, and for growing states that cannot lie in memory with room.
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

// Plan returns the plan of the next run on inputs of those types and shapes. Nothing is
// run, and the states stay as they are. The error is that of Run.
func (s *Stream) Plan(inputs map[string]*Tensor) (_ *Plan, err error) {
	defer s.enter().end(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	in, err := s.accept(context.Background(), inputs)
	if err != nil {
		return nil, err
	}
	p, err := s.engine.Plan(in)
	if err != nil {
		return nil, public(err)
	}
	return &Plan{p}, nil
}

// Len returns how many rows the growing states have, such as tokens; 0 if none grows.
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

// Reset has the states begin anew, as NewStream does, and frees their memory. The extents of the
// next inputs, such as the batch, may differ from those before.
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

// Truncate cuts the states to their first n rows, which then are those of the next run's
// past. The error is ErrState if a state does not grow or has fewer rows, or if n is
// negative.
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
// two streams share no memory, and each is closed by itself. The error is ErrMemory if
// Options.MemoryBudget has no room for the copy.
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

// State returns a copy of the state that the next run reads as the input of that name;
// nil if its extents are not known before the first run. The error is ErrUnknownInput if
// there is no such state.
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

// SetState has the next run read a copy of t as the input of that name. States that grow
// together must be set together. The error is ErrUnknownInput if there is no such state,
// and ErrShape if t is not as the model declares.
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

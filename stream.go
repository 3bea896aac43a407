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
	engine  *runtime.Stream        // nil after Close
	isState []bool                 // by input: a state
	implied []bool                 // by input: Run makes it if it is left out
	initial map[int]*tensor.Tensor // the model's values of states, by input
}

// NewStream returns a stream at its start. A state with a value in the model holds it; any
// other growing state has no rows, and any other state holds zeros. The first run gives a state its
// open extents: one with a name has the extent of that name among the inputs, and one without a name
// the batch, the first extent of the first input of two axes or more. A state with two extents
// without names needs SetState, also after Reset.
//
// The error is ErrOption for a nil context, for a model without states, for a negative room, and
// for a state that is named twice, has no input, no computed output, an output of another type, or
// no such axis. It is ErrUnsupported for a state of strings, of elements narrower than a byte or
// of an open number of axes, ErrClosed after Close, and the context's error when it is done.
func (s *Session) NewStream(ctx context.Context, o StreamOptions) (_ *Stream, err error) {
	defer s.enter().end(&err)
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	file := s.model.source.File
	states := o.States
	if states == nil {
		states = statesOf(s.program.network)
	}
	switch {
	case len(states) == 0:
		return nil, markf(ErrOption,
			"%s: no names of inputs and outputs show that they are states; StreamOptions.States says which are", file)
	case o.Room < 0:
		return nil, markf(ErrOption, "%s: option Room is %d; it must not be negative", file, o.Room)
	}
	if s, err = s.forStream(ctx, states, o.Override); err != nil {
		return nil, err
	}
	below := runtime.StreamOptions{Room: o.Room}
	if below.Room == 0 {
		below.Room = 256
	}
	if below.States, err = s.program.states(states); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	below.Rows, below.Implied = s.program.implied()
	e, err := s.engine.NewStream(below)
	switch {
	case errors.Is(err, ErrClosed), errors.Is(err, ErrUnsupported):
		return nil, err
	case err != nil:
		return nil, markf(ErrOption, "%w", err)
	}
	return newStream(s, e)
}

// states returns states by position.
func (p *program) states(list []State) ([]runtime.State, error) {
	below := make([]runtime.State, len(list))
	for i, st := range list {
		x := p.named[st.Input]
		if x == nil || x.role != given {
			return nil, markf(ErrOption, "there is no input %q for a state; a run takes %s", st.Input,
				describe(p.engine.Inputs()))
		}
		out := slices.Index(p.results, st.Output)
		if out < 0 {
			return nil, markf(ErrOption, "there is no output %q for state %q; a run computes %s", st.Output, st.Input,
				describe(p.engine.Outputs()))
		}
		below[i] = runtime.State{Input: x.at, Output: out, Axis: st.Axis}
	}
	return below, nil
}

// forStream returns the session for the runs of a stream. They override the constant inputs
// that are states or named by override.
func (s *Session) forStream(ctx context.Context, states []State, override []string) (*Session, error) {
	var taken []string
	for _, st := range states {
		if x := s.program.named[st.Input]; x != nil && x.role == kept {
			taken = append(taken, st.Input)
		}
	}
	for _, name := range override {
		switch x, err := s.input(name, s.Overridable); {
		case err != nil:
			return nil, markf(ErrOption, "option Override: %w", err)
		case x.role != kept:
			const text = "%s: option Override: input %q has no value in the model, or no output needs it"
			return nil, markf(ErrOption, text, s.model.source.File, name)
		}
		taken = append(taken, name)
	}
	if taken == nil {
		return s, nil
	}
	return s.taking(ctx, taken)
}

// newStream returns a stream of the session. States with a value in the model hold it.
func newStream(s *Session, e *runtime.Stream) (*Stream, error) {
	n := len(s.program.takes)
	st := &Stream{session: s, engine: e, isState: make([]bool, n), implied: make([]bool, n),
		initial: map[int]*tensor.Tensor{}}
	for at, x := range s.program.takes {
		st.isState[at], st.implied[at] = e.Holds(at), e.Implies(at)
		if !st.isState[at] || x.spare == nil {
			continue
		}
		t, err := x.spare(s.options.MemoryLimit)
		if err != nil {
			return nil, err
		}
		st.initial[at] = t
	}
	return st, st.start()
}

// start sets states to the model's values.
func (s *Stream) start() error {
	for at, t := range s.initial {
		if err := s.engine.SetState(at, t); err != nil {
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
	list := slices.DeleteFunc(s.session.Inputs(), func(in Info) bool { return s.state(in.Name) >= 0 })
	for i, in := range list {
		x := s.session.program.named[in.Name]
		list[i].Required = in.Required && !s.implied[x.at]
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
	s.mu.Lock()
	defer s.mu.Unlock()
	in, err := acceptNext(ctx, s, inputs, belowTensor)
	if err != nil {
		return nil, err
	}
	out, err := s.engine.Run(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	return s.session.tensors(out, "Profile returns it")
}

// Profile is Run for values of all kinds, and also returns the time of every step.
func (s *Stream) Profile(ctx context.Context, inputs map[string]Value) (_ map[string]Value, _ *Profile, err error) {
	defer s.enter().end(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	in, err := acceptNext(ctx, s, inputs, below)
	if err != nil {
		return nil, nil, err
	}
	p := &runtime.Profile{}
	out, err := s.engine.Run(ctx, in, p)
	if err != nil {
		return nil, nil, err
	}
	return s.session.values(out), &Profile{p}, nil
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

// acceptNext returns the inputs of the next run of a stream in the order of the engine. It reports
// inputs that are unknown or missing. The engine makes the inputs that it implies, and checks types
// and shapes.
func acceptNext[V any](
	ctx context.Context, s *Stream, inputs map[string]V, below func(V) (tensor.Value, error),
) ([]tensor.Value, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	if err := s.session.usable(ctx); err != nil {
		return nil, err
	}
	p, file := s.session.program, s.session.model.source.File
	in := make([]tensor.Value, len(p.takes))
	for name, v := range inputs {
		value, err := below(v)
		if err != nil {
			return nil, markf(ErrShape, "%s: input %q: %w", file, name, err)
		}
		if value == nil {
			continue
		}
		x, err := s.session.input(name, s.Inputs)
		if err != nil {
			return nil, err
		}
		switch {
		case x.role == kept:
			const text = "%s: input %q has a value in the model, which runs of the stream keep; " +
				"StreamOptions.Override lets them give another"
			return nil, markf(ErrUnknownInput, text, file, name)
		case x.role == given && s.isState[x.at]:
			return nil, markf(ErrState, "%s: input %q is a state of the stream, which keeps it", file, name)
		case x.role == given:
			in[x.at] = value
		}
	}
	for at, x := range p.takes {
		if in[at] != nil || s.isState[at] || s.implied[at] {
			continue
		}
		var err error
		if in[at], err = s.session.spare(x, s.Inputs); err != nil {
			return nil, err
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
func (s *Stream) Bind(ctx context.Context, inputs map[string]*Tensor) (_ *Bound, err error) {
	defer s.enter().end(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	in, err := acceptNext(ctx, s, inputs, belowTensor)
	if err != nil {
		return nil, err
	}
	e, err := s.engine.Bind(ctx, in)
	if err != nil {
		return nil, err
	}
	b := newBound(s.session, e, &s.mu)
	b.stream = s
	return b, nil
}

// Plan returns the plan of the next run on inputs of these types and shapes. It runs nothing,
// and states stay as they are. The error is as for Run.
func (s *Stream) Plan(ctx context.Context, inputs map[string]*Tensor) (_ *Plan, err error) {
	defer s.enter().end(&err)
	s.mu.Lock()
	defer s.mu.Unlock()
	in, err := acceptNext(ctx, s, inputs, belowTensor)
	if err != nil {
		return nil, err
	}
	p, err := s.engine.Plan(ctx, in)
	if err != nil {
		return nil, err
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
	return s.engine.Truncate(n)
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
		return nil, err
	}
	return &Stream{session: s.session, engine: e, isState: s.isState, implied: s.implied, initial: s.initial}, nil
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
	at := s.state(input)
	if at < 0 {
		return nil, s.noState(input)
	}
	t, err := s.engine.State(at)
	if t == nil {
		return nil, err
	}
	return &Tensor{*t}, nil
}

// state returns the place of the input that reads a state; -1 if there is no such state.
func (s *Stream) state(input string) int {
	x := s.session.program.named[input]
	if x == nil || x.role != given || !s.isState[x.at] {
		return -1
	}
	return x.at
}

func (s *Stream) noState(input string) error {
	return markf(ErrUnknownInput, "%s: input %q is no state", s.session.model.source.File, input)
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
	at := s.state(input)
	if at < 0 {
		return s.noState(input)
	}
	return s.engine.SetState(at, &t.t)
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

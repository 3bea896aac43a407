package nacre

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// program is a program of the engine and the inputs of its runs. Its fields are valid once
// made is closed.
type program struct {
	made    chan struct{}
	network *graph.Model
	engine  *runtime.Program
	// unused names inputs of the model that no chosen output needs, fixed names constant
	// inputs, and taken names constant inputs that runs of this program override.
	unused, fixed, taken map[string]bool
	listed               []*graph.Value // inputs that runs take
	defaulted            []*graph.Value // constant inputs that runs of another program override
	defaults             *defaults
	err                  error
	stopped              bool // the context of the caller that made it ended
}

// wait returns when the program is made, or with the context's error.
func (p *program) wait(ctx context.Context) error {
	select {
	case <-p.made:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ended reports whether the program is made or could not be.
func (p *program) ended() bool {
	select {
	case <-p.made:
		return true
	default:
		return false
	}
}

// make makes the program of a model. Its runs override the constant inputs named by taken.
func (p *program) make(ctx context.Context, m *Model, o Options, taken []string) {
	defer close(p.made)
	limit := o.MemoryLimit
	if limit == 0 {
		limit = runtime.DefaultMemoryLimit()
	}
	network, made, err := m.lowered(ctx, o.lowering(), limit)
	if err != nil {
		p.err, p.stopped = err, ctx.Err() != nil
		return
	}
	source, err := withOutputs(network, o.Outputs)
	if err != nil {
		p.err = err
		return
	}
	p.network = network
	p.defaults = &defaults{from: formats.ProgramDefaults(network)}
	p.splitInputs(source.Graph.Inputs, taken)
	below := o.below(m.packsOf(network, o.WeightBudget))
	below.Made = made
	if below.Accelerator, err = m.accelerator(o.Device); err != nil {
		p.err = public(err)
		return
	}
	p.engine, err = runtime.Compile(ctx, withoutDefaults(source, taken), below)
	p.err, p.stopped = public(err), err != nil && ctx.Err() != nil
}

// Session is a model made ready to run. Its methods may be called from many
// goroutines at once.
//
// Each run under way has memory of its own, about Plan.PeakBytes beside its inputs. The
// process has at most as many runs under way as the machine has CPUs. Another run waits for
// its turn, first come, first served, until its context ends; Options.MaxWaiting and MaxWait
// bound the wait. A run that an operator starts takes the turn of the operator's run.
//
// After a run a session keeps the run's memory for later ones, until Trim or Close: for each
// plan, as many runs' memory as may be under way. All sessions share the threads of the
// process. Few threads and many goroutines give the most answers per second; many threads
// and few goroutines give each answer soonest.
//
// The first run with inputs of new shapes makes a plan. Later runs with inputs of the same
// shapes use it again, unless many other shapes came between. Warm makes plans before the
// first run.
type Session struct {
	model   *Model
	program *program
	engine  *runtime.Session
	options Options
	closed  atomic.Bool

	mu         sync.Mutex
	rows       map[string]*Session // returned by LastRows, by its arguments
	overriding map[string]*Session // returned by taking, by the inputs that they override
	of         *Session            // the session that LastRows derived this one from, or nil
	last       []string            // the arguments of that LastRows
}

func newSession(m *Model, p *program, o Options) (*Session, error) {
	e, err := p.engine.NewSession(o.below(m.packs))
	if err != nil {
		return nil, public(err)
	}
	return &Session{model: m, program: p, engine: e, options: o}, nil
}

// Close waits for all runs that are under way or wait to begin, and frees the session's
// memory. Further calls do nothing. Results of runs stay valid. Streams and Bounds of the
// session cannot run any more; their own Close, before or after this one, frees their memory.
func (s *Session) Close() (err error) {
	defer s.enter().end(&err)
	first := !s.closed.Swap(true)
	s.each((*Session).Close)
	err = s.engine.Close()
	if first && s.of == nil {
		s.model.leave()
	}
	return public(err)
}

// Model returns the model that the session runs.
func (s *Session) Model() *Model {
	if !s.made() {
		return nil
	}
	return s.model
}

// Inputs describes the inputs of runs, in the order of the model and in a new slice. A run
// needs every required input. An input is not required if no chosen output needs it
// (Options.Outputs), or if it is a dynamic variable of a program of OpenInfer. Constant
// inputs are left out; Overridable describes the constant inputs that runs may override.
func (s *Session) Inputs() []Info {
	if !s.made() {
		return nil
	}
	return infos(s.program.listed, func(name string) bool { return !s.program.unused[name] && !s.program.defaults.has(name) })
}

// Outputs describes the results of runs as far as the model tells, in the order of
// Options.Outputs or of the model and in a new slice.
func (s *Session) Outputs() []Info {
	if !s.made() {
		return nil
	}
	return infos(s.engine.Outputs(), never)
}

// Run computes the outputs, by name, from the inputs, by name. It only reads inputs, so many
// runs may share them, and ignores inputs that are not required. Outputs belong to the
// caller: they share no memory with inputs, with the session or with each other.
//
// When the context is cancelled or its deadline passes, the run ends with the context's
// error between two pieces of work, also within a node that takes long. If the run was still
// waiting for its turn, the message says so.
//
// The error is
//   - ErrMissingInput if a required input is missing or nil;
//   - ErrUnknownInput if neither Inputs nor Overridable lists an input;
//   - ErrShape if the type or shape of an input is not the one that the model declares or an
//     operator needs, or if elements are out of range, such as token ids beyond the
//     vocabulary;
//   - ErrMemory if the run exceeds Options.MemoryLimit, or the rest of Options.MemoryBudget;
//   - ErrBusy if the run would exceed Options.MaxWaiting or MaxWait;
//   - ErrUnsupported if an output is no tensor (see RunValues);
//   - ErrOption if ctx is nil;
//   - ErrClosed after Close.
//
// The error names the file and, if a node failed, the node, its operator and its inputs.
func (s *Session) Run(ctx context.Context, inputs map[string]*Tensor) (_ map[string]*Tensor, err error) {
	defer s.enter().end(&err)
	s, in, err := accept(ctx, s, inputs, belowTensor)
	if err != nil {
		return nil, err
	}
	out, err := s.engine.RunValues(ctx, in)
	if err != nil {
		return nil, public(err)
	}
	return s.tensors(out, "RunValues returns it")
}

// tensors returns the results of a run. A result that is no tensor is ErrUnsupported;
// otherwise is the way out that the message gives.
func (s *Session) tensors(results map[string]tensor.Value, otherwise string) (map[string]*Tensor, error) {
	out := make(map[string]*Tensor, len(results))
	for name, v := range results {
		t, ok := v.(*tensor.Tensor)
		if !ok {
			return nil, markf(ErrUnsupported, "%s: output %q is %v, no tensor; %s", s.model.source.File, name, v, otherwise)
		}
		out[name] = &Tensor{*t}
	}
	return out, nil
}

// RunValues is Run for models with inputs or outputs that are sequences, optionals or maps.
func (s *Session) RunValues(ctx context.Context, inputs map[string]Value) (_ map[string]Value, err error) {
	defer s.enter().end(&err)
	s, in, err := accept(ctx, s, inputs, below)
	if err != nil {
		return nil, err
	}
	out, err := s.engine.RunValues(ctx, in)
	if err != nil {
		return nil, public(err)
	}
	return aboveAll(out), nil
}

// Profile is RunValues, and also returns the time of every step.
func (s *Session) Profile(ctx context.Context, inputs map[string]Value) (_ map[string]Value, _ *Profile, err error) {
	defer s.enter().end(&err)
	s, in, err := accept(ctx, s, inputs, below)
	if err != nil {
		return nil, nil, err
	}
	out, p, err := s.engine.Profile(ctx, in)
	if err != nil {
		return nil, nil, public(err)
	}
	return aboveAll(out), &Profile{p}, nil
}

// Plan returns the plan of a run with inputs of these types and shapes; their
// elements do not matter. A later run with such inputs uses the plan. The error is as for
// Run, except that the memory limit does not matter.
func (s *Session) Plan(inputs map[string]*Tensor) (*Plan, error) {
	return s.PlanContext(context.Background(), inputs)
}

// PlanContext is Plan that ends with the context's error when the context is done.
func (s *Session) PlanContext(ctx context.Context, inputs map[string]*Tensor) (_ *Plan, err error) {
	defer s.enter().end(&err)
	s, in, err := accept(ctx, s, inputs, belowTensor)
	if err != nil {
		return nil, err
	}
	tensors := make(map[string]*tensor.Tensor, len(in))
	for name, v := range in {
		tensors[name] = v.(*tensor.Tensor)
	}
	p, err := s.engine.Plan(ctx, tensors)
	if err != nil {
		return nil, public(err)
	}
	return &Plan{p}, nil
}

// PlanTypes is Plan for types in place of tensors: the Infos of Inputs, with a number for
// every extent. Inputs that are not required may be left out.
func (s *Session) PlanTypes(inputs []Info) (*Plan, error) {
	return s.PlanTypesContext(context.Background(), inputs)
}

// PlanTypesContext is PlanTypes that ends with the context's error when the context is done.
func (s *Session) PlanTypesContext(ctx context.Context, inputs []Info) (_ *Plan, err error) {
	defer s.enter().end(&err)
	s, types, err := s.types(ctx, inputs)
	if err != nil {
		return nil, err
	}
	p, err := s.engine.PlanTypes(ctx, types)
	if err != nil {
		return nil, public(err)
	}
	return &Plan{p}, nil
}

// types returns the types of inputs for the engine, and the session that has the engine.
func (s *Session) types(ctx context.Context, inputs []Info) (*Session, map[string]graph.Type, error) {
	named := make(map[string]Info, len(inputs))
	for _, v := range inputs {
		named[v.Name] = v
	}
	types := map[string]graph.Type{}
	s, in, err := accept(ctx, s, named, func(v Info) (tensor.Value, error) {
		if !s.program.unused[v.Name] {
			types[v.Name] = v.below()
		}
		return &tensor.Tensor{}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	for _, v := range s.program.listed {
		if _, given := types[v.Name]; !given && in[v.Name] != nil {
			types[v.Name] = v.Type
		}
	}
	return s, types, nil
}

// belowTensor is below for tensors.
func belowTensor(t *Tensor) (tensor.Value, error) {
	if t == nil {
		return nil, nil
	}
	return &t.t, nil
}

func aboveAll(values map[string]tensor.Value) map[string]Value {
	out := make(map[string]Value, len(values))
	for name, v := range values {
		out[name] = above(v)
	}
	return out
}

// accept checks the names of the inputs of a run, and returns the inputs for the engine and
// the session that has the engine: s, or the session that overrides constant inputs among
// them. The engine checks types and shapes.
func accept[V any](
	ctx context.Context, s *Session, inputs map[string]V, below func(V) (tensor.Value, error),
) (*Session, map[string]tensor.Value, error) {
	file := s.model.source.File
	if err := s.usable(ctx); err != nil {
		return nil, nil, err
	}
	in := make(map[string]tensor.Value, len(inputs))
	var overridden []string
	for name, v := range inputs {
		value, err := below(v)
		if err != nil {
			return nil, nil, markf(ErrShape, "%s: input %q: %w", file, name, err)
		}
		if unused, known := s.program.unused[name]; value == nil || unused {
			continue
		} else if !known && s.program.overrides(name) {
			overridden = append(overridden, name)
		} else if !known {
			return nil, nil, s.unknown(name, s.Inputs())
		}
		in[name] = value
	}
	if overridden != nil {
		var err error
		if s, err = s.taking(ctx, overridden); err != nil {
			return nil, nil, err
		}
	}
	if err := s.fill(in); err != nil {
		return nil, nil, err
	}
	for _, v := range s.program.listed {
		if in[v.Name] == nil && !s.program.unused[v.Name] {
			const text = "%s: input %q is missing; the model takes %s"
			return nil, nil, markf(ErrMissingInput, text, file, v.Name, names(s.Inputs()))
		}
	}
	return s, in, nil
}

// usable reports a closed session and a nil context.
func (s *Session) usable(ctx context.Context) error {
	switch {
	case s.closed.Load():
		return s.closedError()
	case ctx == nil:
		return markf(ErrOption, "%s: the context of a run is nil", s.model.source.File)
	}
	return nil
}

func (s *Session) closedError() error {
	return markf(ErrClosed, "%s: the session is closed", s.model.source.File)
}

// unknown returns the error of an input that no run takes.
func (s *Session) unknown(name string, takes []Info) error {
	switch {
	case s.program.fixed[name] && s.program.network.IR > 0:
		const text = "%s: input %q has a value in the model, which is a constant before IR version %d; " +
			"in a file of a later ir_version runs may give another"
		return markf(ErrUnknownInput, text, s.model.source.File, name, overridableIR)
	case s.program.fixed[name]:
		return markf(ErrUnknownInput, "%s: input %q has a value in the model and cannot be given", s.model.source.File, name)
	}
	return markf(ErrUnknownInput, "%s: the model takes no input %q; it takes %s", s.model.source.File, name, names(takes))
}

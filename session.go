package nacre

import (
	"context"
	"sync"
	"sync/atomic"

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
	inputs  []*input          // of the network
	named   map[string]*input // inputs by name
	takes   []*input          // inputs of a run, in the order of the engine
	results []string          // names of the results, in the order of the engine
	err     error
	stopped bool // the context of the caller that made it ended
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
	if o.CacheType != Invalid {
		if network, err = runtime.NarrowCaches(network, tensor.DType(o.CacheType)); err != nil {
			p.err = err
			return
		}
	}
	source, err := withOutputs(network, o.Outputs)
	if err != nil {
		p.err = err
		return
	}
	p.network = network
	p.splitInputs(source.Graph.Inputs, taken)
	below := o.below(m.packsOf(network, o.WeightBudget, o.Logger))
	below.Made = made
	if below.Accelerator, err = m.accelerator(o.Device); err != nil {
		p.err = err
		return
	}
	p.engine, err = runtime.Compile(ctx, withoutDefaults(source, taken), below)
	if p.err, p.stopped = err, err != nil && ctx.Err() != nil; err == nil {
		p.number()
	}
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
	ending  chan struct{} // closed by Close
	joining sync.RWMutex  // held for reading by callers in batchers

	mu         sync.Mutex
	rows       map[string]*Session                               // returned by LastRows and LastTop, by their arguments
	overriding map[string]*Session                               // returned by taking, by the inputs that they override
	of         *Session                                          // the session that LastRows or LastTop derived this one from, or nil
	again      func(context.Context, *Session) (*Session, error) // derives the same of another session
}

func newSession(m *Model, p *program, o Options) (*Session, error) {
	e, err := p.engine.NewSession(o.below(m.packs))
	if err != nil {
		return nil, err
	}
	return &Session{model: m, program: p, engine: e, options: o, ending: make(chan struct{})}, nil
}

// Close waits for all runs that are under way or wait to begin, also of callers that gather in
// a Batcher, and frees the session's memory. Further calls do nothing. Results of runs stay
// valid. Streams and Bounds of the session cannot run any more; their own Close, before or
// after this one, frees their memory.
func (s *Session) Close() (err error) {
	defer s.enter().end(&err)
	first := !s.closed.Swap(true)
	if first {
		close(s.ending)
	}
	s.joining.Lock() // waits for callers in batchers
	defer s.joining.Unlock()
	s.each((*Session).Close)
	err = s.engine.Close()
	if first && s.of == nil {
		s.model.leave()
	}
	return err
}

// Model returns the model that the session runs.
func (s *Session) Model() *Model {
	if !s.made() {
		return nil
	}
	return s.model
}

// Device returns the device that Options.Device names; nil if the CPU alone computes.
func (s *Session) Device() Device {
	if !s.made() {
		return nil
	}
	return s.options.Device
}

// Inputs describes the inputs of runs, in the order of the model and in a new slice. A run
// needs every required input. An input is not required if no chosen output needs it
// (Options.Outputs), or if it is a dynamic variable of a program of OpenInfer. Constant
// inputs are left out; Overridable describes the constant inputs that runs may override.
func (s *Session) Inputs() []Info {
	if !s.made() {
		return nil
	}
	list := make([]Info, 0, len(s.program.inputs))
	for _, x := range s.program.inputs {
		if x.listed {
			list = append(list, infoOf(x.Value, x.role == given && x.spare == nil))
		}
	}
	return list
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
	out, err := s.engine.Run(ctx, in, nil)
	if err != nil {
		return nil, err
	}
	return s.tensors(out, "RunValues returns it")
}

// tensors returns the results of a run by name. A result that is no tensor is ErrUnsupported;
// otherwise is the way out that the message gives. Results that are nil are left out.
func (s *Session) tensors(results []tensor.Value, otherwise string) (map[string]*Tensor, error) {
	out := make(map[string]*Tensor, len(results))
	for i, v := range results {
		switch v := v.(type) {
		case nil:
		case *tensor.Tensor:
			out[s.program.results[i]] = &Tensor{*v}
		default:
			return nil, markf(ErrUnsupported, "%s: output %q is %v, no tensor; %s", s.model.source.File, s.program.results[i],
				v, otherwise)
		}
	}
	return out, nil
}

// RunValues is Run for models with inputs or outputs that are sequences, optionals or maps.
func (s *Session) RunValues(ctx context.Context, inputs map[string]Value) (_ map[string]Value, err error) {
	defer s.enter().end(&err)
	return s.runValues(ctx, inputs, nil)
}

// Profile is RunValues, and also returns the time of every step.
func (s *Session) Profile(ctx context.Context, inputs map[string]Value) (_ map[string]Value, _ *Profile, err error) {
	defer s.enter().end(&err)
	p := &runtime.Profile{}
	out, err := s.runValues(ctx, inputs, p)
	if err != nil {
		return nil, nil, err
	}
	return out, &Profile{p}, nil
}

func (s *Session) runValues(
	ctx context.Context, inputs map[string]Value, prof *runtime.Profile,
) (map[string]Value, error) {
	s, in, err := accept(ctx, s, inputs, below)
	if err != nil {
		return nil, err
	}
	out, err := s.engine.Run(ctx, in, prof)
	if err != nil {
		return nil, err
	}
	return s.values(out), nil
}

// values returns the results of a run by name. Results that are nil are left out.
func (s *Session) values(results []tensor.Value) map[string]Value {
	out := make(map[string]Value, len(results))
	for i, v := range results {
		if v != nil {
			out[s.program.results[i]] = above(v)
		}
	}
	return out
}

// Plan returns the plan of a run with inputs of these types and shapes; their
// elements do not matter. A later run with such inputs uses the plan. The error is as for
// Run, except that the memory limit does not matter.
func (s *Session) Plan(ctx context.Context, inputs map[string]*Tensor) (_ *Plan, err error) {
	defer s.enter().end(&err)
	s, in, err := accept(ctx, s, inputs, belowTensor)
	if err != nil {
		return nil, err
	}
	p, err := s.engine.Plan(ctx, in)
	if err != nil {
		return nil, err
	}
	return &Plan{p}, nil
}

// PlanTypes is Plan for types in place of tensors: the Infos of Inputs, with a number for
// every extent. Inputs that are not required may be left out.
func (s *Session) PlanTypes(ctx context.Context, inputs []Info) (_ *Plan, err error) {
	defer s.enter().end(&err)
	s, types, err := s.types(ctx, inputs)
	if err != nil {
		return nil, err
	}
	p, err := s.engine.PlanTypes(ctx, types)
	if err != nil {
		return nil, err
	}
	return &Plan{p}, nil
}

// belowTensor is below for tensors.
func belowTensor(t *Tensor) (tensor.Value, error) {
	if t == nil {
		return nil, nil
	}
	return &t.t, nil
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

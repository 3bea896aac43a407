package runtime

import (
	"context"
	"fmt"
	"sync"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Session is a program with its options and memory, ready to run. Inputs are in the order of
// Inputs, and results in the order of Outputs. Its methods may be called from many goroutines at
// once.
type Session struct {
	use     sync.RWMutex // held for reading by runs
	closed  bool
	program *plan.Program
	exec    *exec.Executor
	packs   *cpu.Packs // to be closed with the session; nil when shared
	outputs []*graph.Value
	limits  []limit
}

// NewSession makes a session that runs the program. It reads only the options that bound runs. The
// program's computed constants are subtracted from the memory limit of a run.
func (p *Program) NewSession(o Options) (*Session, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	limits := o.limits()
	if limits.Run > 0 {
		if p.made >= limits.Run {
			return nil, &graph.Error{Stage: "plan", File: p.model.File, Offset: -1, Kind: graph.ErrMemory, Err: fmt.Errorf(
				"the constants that the model has computed take %d bytes of the memory limit of %d bytes; the option "+
					"MemoryLimit sets it", p.made, limits.Run)}
		}
		limits.Run -= p.made
	}
	return &Session{program: p.program, outputs: p.outputs, limits: p.limits, exec: exec.New(p.device, limits)}, nil
}

// New makes a session of a validated model. The model's tensors must stay valid until Close. The
// model is not changed.
func New(m *graph.Model, o Options) (*Session, error) {
	var own *cpu.Packs
	if o.Packs == nil {
		own = cpu.NewPacks()
		o.Packs = own
	}
	p, err := Compile(context.Background(), m, o)
	var s *Session
	if err == nil {
		s, err = p.NewSession(o)
	}
	if err != nil {
		if own != nil {
			own.Close()
		}
		return nil, err
	}
	s.packs = own
	return s, nil
}

// enter keeps the session open until leave. The error is graph.ErrClosed after Close.
func (s *Session) enter() error {
	s.use.RLock()
	if s.closed {
		s.use.RUnlock()
		return s.reject(graph.ErrClosed, "the session is closed")
	}
	return nil
}

func (s *Session) leave() { s.use.RUnlock() }

// Close waits for the runs under way and frees the session's memory. Further calls do nothing.
func (s *Session) Close() error {
	s.use.Lock()
	defer s.use.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.exec.Close()
	if s.packs != nil {
		s.packs.Close()
	}
	return nil
}

// Trim frees the memory of ended runs and forgets all plans, also plans that other sessions of the
// program made.
func (s *Session) Trim() error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.exec.Trim()
	s.program.Forget()
	return nil
}

// Stats returns the current load of the session, and its counts since it was made.
func (s *Session) Stats() Stats { return s.exec.Stats() }

// Plans returns the number of plans that the program keeps for later runs.
func (s *Session) Plans() int { return s.program.Plans() }

// Inputs returns the name and type of every value that Run must be given.
func (s *Session) Inputs() []*graph.Value { return s.program.Decl }

// Outputs returns the name and type of every result, as far as they follow from the model.
func (s *Session) Outputs() []*graph.Value { return s.outputs }

// Run computes the results. It does not write inputs, and results share no memory with inputs. If
// the context is cancelled, the run ends, also within a step. Run writes the time of every step to
// prof, unless prof is nil.
func (s *Session) Run(ctx context.Context, inputs []tensor.Value, prof *Profile) ([]tensor.Value, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	if err := s.Check(inputs); err != nil {
		return nil, err
	}
	pl, err := s.program.For(ctx, inputs)
	if err != nil {
		return nil, err
	}
	return s.exec.Run(ctx, pl, inputs, prof)
}

// Check returns the error that inputs have in Run before it plans.
func (s *Session) Check(inputs []tensor.Value) error {
	if err := s.accept(inputs); err != nil {
		return err
	}
	return s.elements(inputs)
}

// Plan returns the plan for inputs of these types and extents. The elements do not matter.
func (s *Session) Plan(ctx context.Context, inputs []tensor.Value) (*Plan, error) {
	if err := s.accept(inputs); err != nil {
		return nil, err
	}
	pl, err := s.program.For(ctx, inputs)
	return s.told(ctx, pl, err)
}

// told logs a plan that was made without an error.
func (s *Session) told(ctx context.Context, pl *Plan, err error) (*Plan, error) {
	if err == nil {
		s.exec.TellPlan(ctx, pl)
	}
	return pl, err
}

// PlanTypes is Plan for inputs of these types. The extents of tensors must be numbers.
func (s *Session) PlanTypes(ctx context.Context, types []graph.Type) (*Plan, error) {
	if err := s.acceptTypes(types); err != nil {
		return nil, err
	}
	pl, err := s.program.ForTypes(ctx, types)
	return s.told(ctx, pl, err)
}

// Warm makes the plan of PlanTypes, and memory for one run of it.
func (s *Session) Warm(ctx context.Context, types []graph.Type) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	pl, err := s.PlanTypes(ctx, types)
	if err != nil {
		return err
	}
	return s.exec.Warm(pl)
}

// Compare times all ways to compute the steps of a plan, as exec.Executor.Compare does.
func (s *Session) Compare(ctx context.Context, pl *Plan, node string, rounds int) ([]Comparison, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.exec.Compare(ctx, pl, node, rounds)
}

// Bind makes memory for runs with inputs of these types and extents, and copies the inputs to it.
// Inputs and results must be tensors.
func (s *Session) Bind(ctx context.Context, inputs []tensor.Value) (*Bound, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	pl, err := s.Plan(ctx, inputs)
	if err != nil {
		return nil, err
	}
	b, err := s.exec.Bind(pl)
	if err != nil {
		return nil, err
	}
	for i, v := range inputs {
		copy(b.Input(i).Bytes(), v.(*tensor.Tensor).Bytes())
	}
	return &Bound{Bound: b, session: s}, nil
}

// Bound is runs of one plan with memory of their own. One may be under way at a time.
type Bound struct {
	*exec.Bound
	session *Session
	before  func() // sets inputs for the next run; may be nil
}

// Run computes the results from the current elements of the inputs.
func (b *Bound) Run(ctx context.Context) error {
	if err := b.session.enter(); err != nil {
		return err
	}
	defer b.session.leave()
	if b.before != nil {
		b.before()
	}
	return b.Bound.Run(ctx, nil)
}

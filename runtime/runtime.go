// Package runtime runs graphs: it optimises a model's graph, binds it to operators, plans a run for
// each set of input extents, and executes.
package runtime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/stages"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/internal/optimize"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Session is a model made ready to run. Its methods may be called from many goroutines at once.
type Session struct {
	use     sync.RWMutex // held for reading by runs
	closed  bool
	program *plan.Program
	exec    *exec.Executor
	packs   *cpu.Packs // to be closed with the session; nil when shared
	outputs []*graph.Value
	limits  []graph.Limit
}

// Optimize returns the model with its graphs rewritten as a session with these options runs them.
// With NoOptimize it only replaces constructs that no operator implements. The model is not
// changed.
func Optimize(m *graph.Model, o Options) (*graph.Model, error) {
	o, isa, err := o.complete(m)
	if err != nil {
		return nil, err
	}
	return o.optimize(context.Background(), m, isa, nil)
}

// complete checks the options and fills in the registry.
func (o Options) complete(m *graph.Model) (Options, bindings.ISA, error) {
	if err := bindings.Available(); err != nil {
		return o, 0, &graph.Error{Stage: "plan", File: m.File, Offset: -1, Kind: graph.ErrDevice, Err: err}
	}
	if err := o.Validate(); err != nil {
		return o, 0, err
	}
	if o.Registry == nil {
		o.Registry = standard.Registry()
	}
	isa, err := o.isa()
	return o, isa, err
}

// optimize rewrites the graphs. It ends when ctx is done, which also sets stop.
func (o Options) optimize(ctx context.Context, m *graph.Model, isa bindings.ISA, stop device.Flag) (*graph.Model, error) {
	passes := optimize.Passes()
	if o.NoOptimize {
		passes = optimize.Required()
	}
	return optimize.Run(m, passes, o.rewriting(ctx, m, isa, stop))
}

// checked is optimize, with a check of every node before the optional passes. A model's errors
// therefore do not depend on passes that would remove the faulty nodes.
func (o Options) checked(ctx context.Context, m *graph.Model, d device.Device, isa bindings.ISA, stop device.Flag) (*graph.Model, error) {
	c := o.rewriting(ctx, m, isa, stop)
	m, err := optimize.Run(m, optimize.Required(), c)
	if err != nil {
		return nil, err
	}
	end := stages.From(ctx).Begin("check")
	m, err = plan.Check(m, o.Registry, d)
	end()
	if err != nil || o.NoOptimize {
		return m, err
	}
	return optimize.Run(m, optimize.Optional(), c)
}

// rewriting returns the context of passes, with the operators to compute constants. Passes end when
// ctx is done, which also sets stop.
func (o Options) rewriting(ctx context.Context, m *graph.Model, isa bindings.ISA, stop device.Flag) optimize.Context {
	made := o.making(ctx, m)
	eval := func(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return cpu.EvalUntil(stop, o.Registry, n, isa, in)
	}
	return optimize.Context{
		Registry: o.Registry, Eval: eval, Budget: made, Accelerated: o.Accelerator != nil, Done: ctx.Err, Stages: stages.From(ctx),
	}
}

// Program is a model's graph, rewritten and bound to operators. All sessions that run it share one
// program, and may be used from many goroutines.
type Program struct {
	program *plan.Program
	device  *cpu.Device
	outputs []*graph.Value
	limits  []graph.Limit
	model   *graph.Model // as rewritten
	options Options
	made    int // bytes of the constants that are not from the file
}

// Compile makes a program of a validated model. The model's tensors and o.Packs, which must not be
// nil, must stay valid while the program is in use. The model is not changed. MemoryLimit, or
// Memory if it is lower, bounds the constants that Compile computes beside the file's. If ctx is
// done, Compile returns its error.
func Compile(ctx context.Context, m *graph.Model, o Options) (*Program, error) {
	o, isa, err := o.complete(m)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	pool, err := bindings.SharedPool()
	if err != nil {
		return nil, err
	}
	d, err := cpu.New(isa, pool, o.threads(), o.Packs)
	if err != nil {
		return nil, err
	}
	d = d.WithBudget(o.packing(m)).WithStages(stages.From(ctx))
	stop, err := device.Watch(ctx, d)
	if err != nil {
		return nil, err
	}
	defer stop.End()
	source := m
	kept := o
	o.Registry = o.Registry.Once()
	if m, err = o.checked(ctx, m, d, isa, stop.Flag()); err != nil {
		return nil, err
	}
	releaseUnused(source.Graph, m.Graph)
	if d.Weights() != nil {
		releaseUnused(source.Graph, &graph.Graph{})
	}
	p, err := o.program(ctx, m, d.WithLayouts(o.Layouts).WithDirectConv(o.DirectConv).WithAccelerator(o.Accelerator))
	if err == nil {
		p.options, p.made = kept, o.Made+madeOf(source.Graph, m.Graph)
	}
	return p, err
}

// program binds a rewritten model to the device.
func (o Options) program(ctx context.Context, m *graph.Model, d *cpu.Device) (p *Program, err error) {
	p = &Program{device: d, limits: m.Limits, model: m, options: o}
	end := stages.From(ctx).Begin("compile")
	p.program, err = plan.Compile(m, o.Registry, d)
	end()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := p.program.Static(ctx); err != nil {
		return nil, err
	}
	for i, v := range m.Graph.Outputs {
		inferred := *v
		if t := p.program.Type(p.program.Outputs[i]); t.Kind != graph.NoType {
			inferred.Type = t
		}
		p.outputs = append(p.outputs, &inferred)
	}
	return p, nil
}

// LastRows makes a program with the named outputs cut to their last row along the last axis but
// one. It shares all constants with p.
func (p *Program) LastRows(ctx context.Context, outputs []string) (*Program, error) {
	o, isa, err := p.options.complete(p.model)
	if err != nil {
		return nil, err
	}
	stop, err := device.Watch(ctx, p.device)
	if err != nil {
		return nil, err
	}
	defer stop.End()
	m, err := optimize.LastRows(p.model, outputs, o.rewriting(ctx, p.model, isa, stop.Flag()))
	if err != nil {
		return nil, err
	}
	last, err := o.program(ctx, m, p.device)
	if err == nil {
		last.made = p.made
	}
	return last, err
}

// releaseUnused gives back the memory of weights that the rewritten graph no longer has.
func releaseUnused(source, rewritten *graph.Graph) {
	kept := map[*tensor.Tensor]bool{}
	for _, init := range rewritten.Initializers {
		kept[init.Tensor] = true
	}
	for _, init := range source.Initializers {
		if !kept[init.Tensor] {
			init.Tensor.Forget()
		}
	}
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
				"the constants that the model has computed take %d bytes of the memory limit of %d; the option MemoryLimit sets it", p.made, limits.Run)}
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

// ErrClosed reports the use of a session after its Close.
var ErrClosed = errors.New("the session is closed")

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
	s.use.RLock()
	defer s.use.RUnlock()
	if s.closed {
		return ErrClosed
	}
	s.exec.Trim()
	s.program.Forget()
	return nil
}

// Stats returns the current load of the session, and its counts since it was made.
func (s *Session) Stats() Stats { return s.exec.Stats() }

// Plans returns the number of plans that the program keeps for later runs.
func (s *Session) Plans() int { return s.program.Plans() }

// Warm makes the plan of PlanTypes, and memory for one run of it.
func (s *Session) Warm(ctx context.Context, types map[string]graph.Type) error {
	s.use.RLock()
	defer s.use.RUnlock()
	if s.closed {
		return ErrClosed
	}
	pl, err := s.PlanTypes(ctx, types)
	if err != nil {
		return err
	}
	return s.exec.Warm(pl)
}

// Inputs returns the name and type of every tensor that Run must be given.
func (s *Session) Inputs() []*graph.Value { return s.program.Decl }

// Outputs returns the name and type of every result, as far as they follow from the model.
func (s *Session) Outputs() []*graph.Value { return s.outputs }

// Run computes the results of a model with tensors as inputs and outputs, by name. Inputs are not
// written, and results share no memory with them. Cancelling the context ends the run, also within
// a step.
func (s *Session) Run(ctx context.Context, inputs map[string]*tensor.Tensor) (map[string]*tensor.Tensor, error) {
	results, err := run(ctx, s, inputs, asValue, nil)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*tensor.Tensor, len(results))
	for i, v := range results {
		t, ok := v.(*tensor.Tensor)
		if !ok {
			return nil, s.reject(graph.ErrShape, "output %q is %v, no tensor; RunValues returns it", s.outputs[i].Name, v)
		}
		out[s.outputs[i].Name] = t
	}
	return out, nil
}

// RunValues is Run for models with sequences, optionals or maps as inputs or outputs.
func (s *Session) RunValues(ctx context.Context, inputs map[string]tensor.Value) (map[string]tensor.Value, error) {
	return s.named(run(ctx, s, inputs, itself, nil))
}

// named returns the results by name.
func (s *Session) named(results []tensor.Value, err error) (map[string]tensor.Value, error) {
	if err != nil {
		return nil, err
	}
	out := make(map[string]tensor.Value, len(results))
	for i, v := range results {
		out[s.outputs[i].Name] = v
	}
	return out, nil
}

// Profile is RunValues with the time of every step.
func (s *Session) Profile(ctx context.Context, inputs map[string]tensor.Value) (map[string]tensor.Value, *Profile, error) {
	p := &Profile{}
	out, err := s.named(run(ctx, s, inputs, itself, p))
	return out, p, err
}

// Compare times all ways to compute the steps of a plan, as exec.Executor.Compare does.
func (s *Session) Compare(ctx context.Context, pl *Plan, node string, rounds int) ([]Comparison, error) {
	s.use.RLock()
	defer s.use.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	return s.exec.Compare(ctx, pl, node, rounds)
}

// asValue returns t as a value. A nil tensor becomes a nil value.
func asValue(t *tensor.Tensor) tensor.Value {
	if t == nil {
		return nil
	}
	return t
}

func itself(v tensor.Value) tensor.Value { return v }

// Plan returns the plan for inputs of these types and extents. The elements do not matter.
func (s *Session) Plan(ctx context.Context, inputs map[string]*tensor.Tensor) (*Plan, error) {
	list, err := order(s, inputs, asValue)
	if err != nil {
		return nil, err
	}
	return s.program.For(ctx, list)
}

// Bind makes memory for runs with inputs of these types and extents, and copies the inputs to it.
func (s *Session) Bind(inputs map[string]*tensor.Tensor) (*Bound, error) {
	s.use.RLock()
	defer s.use.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	list, err := order(s, inputs, asValue)
	if err != nil {
		return nil, err
	}
	pl, err := s.program.For(context.Background(), list)
	if err != nil {
		return nil, err
	}
	b, err := s.exec.Bind(pl)
	if err != nil {
		return nil, err
	}
	for i, v := range list {
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
	b.session.use.RLock()
	defer b.session.use.RUnlock()
	if b.session.closed {
		return ErrClosed
	}
	if b.before != nil {
		b.before()
	}
	return b.Bound.Run(ctx, nil)
}

// PlanTypes is Plan for inputs of these types. The extents of tensors must be numbers.
func (s *Session) PlanTypes(ctx context.Context, types map[string]graph.Type) (*Plan, error) {
	list := make([]graph.Type, len(s.program.Decl))
	symbols := map[string]int{}
	for i, v := range s.program.Decl {
		t, ok := types[v.Name]
		if !ok {
			return nil, s.reject(graph.ErrMissing, "input %q is missing; the model needs %s", v.Name, describe(s.program.Decl))
		}
		if err := acceptsType(v.Type, t, symbols); err != nil {
			return nil, s.reject(graph.ErrShape, "input %q is %v and the model takes %v: %w", v.Name, t, v.Type, err)
		}
		list[i] = t
	}
	for name := range types {
		if !s.needs(name) {
			return nil, s.reject(graph.ErrShape, "the model takes no input %q; it needs %s", name, describe(s.program.Decl))
		}
	}
	return s.program.ForTypes(ctx, list)
}

// run returns the results in the order of the outputs.
func run[V any](ctx context.Context, s *Session, inputs map[string]V, value func(V) tensor.Value, prof *Profile) ([]tensor.Value, error) {
	s.use.RLock()
	defer s.use.RUnlock()
	if s.closed {
		return nil, ErrClosed
	}
	list, err := order(s, inputs, value)
	if err == nil {
		err = s.elements(list)
	}
	if err != nil {
		return nil, err
	}
	pl, err := s.program.For(ctx, list)
	if err != nil {
		return nil, err
	}
	return s.exec.Run(ctx, pl, list, prof)
}

// order puts the inputs in the program's order and checks them against the model's declarations.
func order[V any](s *Session, inputs map[string]V, value func(V) tensor.Value) ([]tensor.Value, error) {
	return orderWith(s, inputs, value, map[string]int{}, func(int) bool { return false })
}

// orderWith is order with known extents of symbols. It leaves out the inputs for which without is
// true.
func orderWith[V any](s *Session, inputs map[string]V, value func(V) tensor.Value, symbols map[string]int, without func(i int) bool) ([]tensor.Value, error) {
	list := make([]tensor.Value, len(s.program.Decl))
	given := 0
	for i, v := range s.program.Decl {
		if without(i) {
			continue
		}
		given++
		t := value(inputs[v.Name])
		if t == nil {
			return nil, s.reject(graph.ErrMissing, "input %q is missing; a run takes %s", v.Name, s.taken(without))
		}
		if err := accepts(v.Type, t, symbols); err != nil {
			return nil, s.reject(graph.ErrShape, "input %q is %v and the model takes %v: %w", v.Name, t, v.Type, err)
		}
		list[i] = t
	}
	if len(inputs) > given {
		for name, v := range inputs {
			if value(v) != nil && !s.needs(name) {
				return nil, s.reject(graph.ErrShape, "the model takes no input %q; a run takes %s", name, s.taken(without))
			}
		}
	}
	if err := s.extents(symbols); err != nil {
		return nil, err
	}
	return list, nil
}

// taken lists the inputs of a run, except inputs for which without is true.
func (s *Session) taken(without func(i int) bool) string {
	var list []*graph.Value
	for i, v := range s.program.Decl {
		if !without(i) {
			list = append(list, v)
		}
	}
	return describe(list)
}

func (s *Session) needs(name string) bool {
	for _, v := range s.program.Decl {
		if v.Name == name {
			return true
		}
	}
	return false
}

func (s *Session) reject(kind error, format string, args ...any) error {
	return &graph.Error{Stage: "run", File: s.program.File, Offset: -1, Kind: kind, Err: fmt.Errorf(format, args...)}
}

// accepts checks a value against a declared type. Symbols collects the extents of named axes, so
// that one name means one extent.
func accepts(want graph.Type, v tensor.Value, symbols map[string]int) error {
	t, ok := v.(*tensor.Tensor)
	if !ok {
		if op.TypeOf(v).Kind != want.Kind {
			return errKinds
		}
		return nil
	}
	return acceptsTensor(want, t.DType(), t.Shape(), symbols)
}

var errKinds = errors.New("these are different kinds of values")

// acceptsType is accepts for a value of type have.
func acceptsType(want, have graph.Type, symbols map[string]int) error {
	if have.Kind != want.Kind {
		return errKinds
	}
	if have.Kind != graph.TensorType {
		return nil
	}
	shape, ok := have.Dims.Concrete()
	if !ok {
		return errors.New("its extents are not all numbers")
	}
	if err := shape.Check(); err != nil {
		return err
	}
	return acceptsTensor(want, have.DType, shape, symbols)
}

func acceptsTensor(want graph.Type, d tensor.DType, shape tensor.Shape, symbols map[string]int) error {
	if want.Kind != graph.TensorType {
		return errKinds
	}
	if d != want.DType {
		return errors.New("element types differ")
	}
	if want.Dims == nil {
		return nil
	}
	if len(want.Dims) != len(shape) {
		return fmt.Errorf("it has %d axes, not %d", len(shape), len(want.Dims))
	}
	for i, d := range want.Dims {
		have := shape[i]
		n, known := d.Value()
		if !known && !d.IsUnknown() {
			n, known = symbols[d.String()]
			symbols[d.String()] = have
		}
		if known && n != have {
			return fmt.Errorf("axis %d has extent %d, not %d", i, have, n)
		}
	}
	return nil
}

func describe(values []*graph.Value) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = fmt.Sprintf("%q %v", v.Name, v.Type)
	}
	return strings.Join(parts, ", ")
}

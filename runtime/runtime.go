// Package runtime runs graphs: it optimises a model's graph, binds it to operators, plans a run for
// each set of input extents, and executes. It is the engine of package nacre, and no API for other
// programs: it may change with any version. Inputs and results are in the order of the program.
package runtime

import (
	"context"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/stages"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/optimize"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// complete checks the options and fills in the registry.
func (o Options) complete(m *graph.Model) (Options, bindings.ISA, error) {
	if err := o.Check(); err != nil {
		return o, 0, &graph.Error{Stage: "plan", File: m.File, Offset: -1, Err: err}
	}
	if o.Registry == nil {
		o.Registry = standard.Registry()
	}
	isa, err := o.isa()
	return o, isa, err
}

// checked returns the model with its graphs rewritten as a session runs them. With NoOptimize it
// only replaces constructs that no operator implements. It checks every node before the optional
// passes, so that a model's errors do not depend on passes that would remove the faulty nodes. It
// ends when ctx is done, which also sets stop.
func (o Options) checked(
	ctx context.Context, m *graph.Model, d device.Device, isa bindings.ISA, stop device.Flag,
) (*graph.Model, error) {
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
		Registry: o.Registry, Eval: eval, Budget: made, Accelerated: o.Accelerator != nil, Done: ctx.Err,
		Stages: stages.From(ctx),
	}
}

// Program is a model's graph, rewritten and bound to operators. All sessions that run it share one
// program, and may be used from many goroutines.
type Program struct {
	program *plan.Program
	device  *cpu.Device
	outputs []*graph.Value
	limits  []limit
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
	p, err := o.program(ctx, m, d.WithLayouts(o.Layouts).WithDirectConv(o.DirectConv).WithAccuracy(o.Accuracy).WithAccelerator(o.Accelerator))
	if err == nil {
		p.options, p.made = kept, o.Made+madeOf(source.Graph, m.Graph)
	}
	return p, err
}

// program binds a rewritten model to the device.
func (o Options) program(ctx context.Context, m *graph.Model, d *cpu.Device) (p *Program, err error) {
	p = &Program{device: d, model: m, options: o}
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
	p.limits = limitsOf(m, p.program.Decl)
	for i, v := range m.Graph.Outputs {
		inferred := *v
		if t := p.program.Type(p.program.Outputs[i]); t.Kind != graph.NoType {
			inferred.Type = t
		}
		p.outputs = append(p.outputs, &inferred)
	}
	return p, nil
}

// Inputs returns the name and type of every value that a run must be given.
func (p *Program) Inputs() []*graph.Value { return p.program.Decl }

// Outputs returns the name and type of every result, as far as they follow from the model.
func (p *Program) Outputs() []*graph.Value { return p.outputs }

// LastRows makes a program with these outputs cut to their last row along the last axis but
// one. It shares all constants with p.
func (p *Program) LastRows(ctx context.Context, outputs []int) (*Program, error) {
	names := make([]string, len(outputs))
	for i, at := range outputs {
		names[i] = p.outputs[at].Name
	}
	return p.derive(ctx, func(c optimize.Context) (*graph.Model, error) { return optimize.LastRows(p.model, names, c) })
}

// LastTop makes a program that computes, in place of an output, the k largest elements of its last row
// along the last axis but one, best first, and as a further output their indices. It shares all
// constants with p.
func (p *Program) LastTop(ctx context.Context, output, k int) (*Program, error) {
	return p.derive(ctx, func(c optimize.Context) (*graph.Model, error) {
		return optimize.LastTop(p.model, p.outputs[output].Name, k, c)
	})
}

// derive makes the program of a model that rewrite makes of p's.
func (p *Program) derive(ctx context.Context, rewrite func(optimize.Context) (*graph.Model, error)) (*Program, error) {
	o, isa, err := p.options.complete(p.model)
	if err != nil {
		return nil, err
	}
	stop, err := device.Watch(ctx, p.device)
	if err != nil {
		return nil, err
	}
	defer stop.End()
	m, err := rewrite(o.rewriting(ctx, p.model, isa, stop.Flag()))
	if err != nil {
		return nil, err
	}
	made, err := o.program(ctx, m, p.device)
	if err == nil {
		made.made = p.made
	}
	return made, err
}

// Items returns, by output, the axis along which items of a batch are apart, or -1 if the output is the
// same for every item. Inputs lists the axis of items by the names of inputs that have one. The error
// is graph.ErrOption, with the node, if the program may mix items.
func (p *Program) Items(ctx context.Context, inputs map[string]int) ([]int, error) {
	o, isa, err := p.options.complete(p.model)
	if err != nil {
		return nil, err
	}
	stop, err := device.Watch(ctx, p.device)
	if err != nil {
		return nil, err
	}
	defer stop.End()
	return optimize.Items(p.model, inputs, o.rewriting(ctx, p.model, isa, stop.Flag()))
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

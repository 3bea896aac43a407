// Package optimize rewrites the graphs of a model so that they compute the same
// results in less time. A pass reads one graph and returns an Edit. Run applies
// the edit and continues with the subgraphs of the edited graph. The model passed
// in is never changed.
package optimize

import (
	"fmt"
	"slices"
	"sync"

	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/stages"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Pass is a named rewriting of a graph.
type Pass struct {
	Name string
	// Run returns the changes to make to a graph.
	Run func(s *Scope) (*Edit, error)
}

// run is the Run of a pass.
type run = func(s *Scope) (*Edit, error)

// Context gives passes the meaning of operators.
type Context struct {
	// Registry finds operators.
	Registry *op.Registry
	// Eval computes a node from constant inputs. An omitted input is nil. If Eval fails, passes
	// leave the node as it is.
	Eval func(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error)
	// Accelerated reports that a device beside the CPU computes the nodes that it can. It may have
	// kernels of operators that the CPU composes of others, so these operators stay whole.
	Accelerated bool
	// Budget counts the bytes of constants that passes compute; nil for no limit.
	Budget *budget.Budget
	// Done returns an error once passes must end; nil for never.
	Done func() error
	// Stages measures the passes; nil for none.
	Stages *stages.Times
}

// take counts the bytes of a constant before it is made. If the budget lacks them, it returns an
// error.
func (c *Context) take(bytes int) error {
	if err := c.Budget.Bytes(int64(bytes)); err != nil {
		return fmt.Errorf("%w; the option MemoryLimit sets the limit", err)
	}
	return nil
}

// done returns the error of a context that ended.
func (c *Context) done() error {
	if c.Done == nil {
		return nil
	}
	return c.Done()
}

// Required returns the passes that replace constructs without an operator: function calls, Gradient
// nodes and sparse constants.
func Required() []Pass {
	return []Pass{
		{"inline_functions", inlineFunctions},
		{"unfold_sparse", unfoldSparse},
		{"expand_gradient", expandGradient},
	}
}

// Passes returns all passes in the order in which they should run.
func Passes() []Pass { return append(Required(), optional()...) }

// Optional returns the passes after Required. They make a model faster.
func Optional() []Pass { return slices.Clone(optional()) }

// optional returns the optional passes. It makes them once, because they keep the patterns that
// they look for.
var optional = sync.OnceValue(func() []Pass {
	return []Pass{
		{"inline_if", inlineIf},
		{"expand_composed", expandComposed},
		{"fuse_widening", fuseWidening()},
		{"keep_blocks", keepBlocks},
		{"keep_experts", keepExperts},
		{"fuse_quantized", fuseQuantized},
		{"keep_codes", keepCodes},
		{"fold_const", foldConst},
		{"drop_dead", dropDead},
		{"remove_noop", removeNoop},
		{"common_subexpr", commonSubexpr},
		{"fuse_layer_norm", fuseLayerNorm()},
		{"fuse_rms_norm", fuseRMSNorm()},
		{"fuse_gelu", fuseGelu()},
		{"fuse_swish", fuseSwish()},
		{"fuse_hard_swish", fuseHardSwish()},
		{"fuse_mish", fuseMish()},
		{"fuse_snake", fuseSnake()},
		{"fuse_swiglu", fuseSwiGLU()},
		{"fuse_rotary", fuseRotary()},
		{"fuse_attention", fuseAttention()},
		{"fuse_matmul_add", fuseMatMulAdd()},
		{"fold_scale", foldScale},
		{"trim_kernel", trimKernel},
		{"norm_as_conv", normAsConv},
		{"fuse_skip_norm", fuseSkipNorm()},
		{"fuse_residual", fuseResidual()},
		{"fuse_activation", fuseActivation()},
		{"fuse_bias_gelu", fuseBiasGelu()},
		{"drop_dead", dropDead},
	}
})

// Run applies the passes in order, each once to every graph of the model, and returns
// the rewritten model.
func Run(m *graph.Model, passes []Pass, c Context) (*graph.Model, error) {
	r := rewriter{context: c, names: newNames(m), facts: &facts{}}
	for _, p := range passes {
		r.pass, r.model = p, m
		r.scopes, r.before = map[place]*Scope{}, r.scopes
		end := c.Stages.Begin("optimise: " + p.Name)
		g, err := r.graph(m.Graph, place{}, nil)
		end()
		if ended := c.done(); ended != nil {
			err = ended
		}
		if err != nil {
			return nil, &graph.Error{Stage: "optimize", File: m.File, Offset: -1, Err: fmt.Errorf("%s: %w", p.Name, err)}
		}
		edited := *m
		edited.Graph = g
		m = &edited
	}
	return m, nil
}

// rewriter applies passes to a model. If a pass leaves a graph as it is, the next pass reuses its
// scope, with all known facts about values.
type rewriter struct {
	pass    Pass
	context Context
	model   *graph.Model // before the pass
	names   *names
	before  map[place]*Scope // of the pass before
	scopes  map[place]*Scope // of this pass
	facts   *facts           // about values of the main graph
}

// place is the position of a graph: in an attribute of a node, or at the top.
type place struct {
	outer *Scope // of the graph around; nil at the top
	node  *graph.Node
	attr  string
	graph *graph.Graph
}

// scope returns the scope of a graph. types are the types of graph inputs that the file does not
// declare; they follow from the place.
func (r *rewriter) scope(g *graph.Graph, at place, types []graph.Type) *Scope {
	at.graph = g
	s := r.before[at]
	if s == nil {
		s = newScope(r.context, r.model, g, at.outer, r.names)
		s.inputs = types
		if at.outer == nil {
			s.facts = r.facts
		}
	}
	s.Model, r.scopes[at] = r.model, s
	return s
}

// graph rewrites a graph and then its subgraphs.
func (r *rewriter) graph(g *graph.Graph, at place, types []graph.Type) (*graph.Graph, error) {
	if err := r.context.done(); err != nil {
		return nil, err
	}
	s := r.scope(g, at, types)
	e, err := r.pass.Run(s)
	if err != nil {
		return nil, err
	}
	if !e.empty() {
		g = e.apply(g)
		s = r.scope(g, at, types)
	}
	return r.inside(g, s)
}

// inside returns the graph with rewritten subgraphs.
func (r *rewriter) inside(g *graph.Graph, s *Scope) (*graph.Graph, error) {
	if !s.nested {
		return g, nil
	}
	edited := *g
	edited.Nodes = make([]*graph.Node, len(g.Nodes))
	same := true
	for i, n := range g.Nodes {
		var err error
		edited.Nodes[i] = withGraphs(n, func(attr string, sub *graph.Graph) *graph.Graph {
			if err != nil {
				return sub
			}
			var changed *graph.Graph
			changed, err = r.graph(sub, place{outer: s, node: n, attr: attr}, s.bodyTypes(n, attr))
			return changed
		})
		if err != nil {
			return nil, err
		}
		same = same && edited.Nodes[i] == n
	}
	if same {
		return g, nil
	}
	return &edited, nil
}

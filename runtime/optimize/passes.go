// Package optimize rewrites the graphs of a model so that they compute the same
// results in less time. A pass reads one graph and returns an Edit. Run applies
// the edit and continues with the subgraphs of the edited graph. The model passed
// in is never changed.
package optimize

import (
	"fmt"

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

// Context gives passes the meaning of operators.
type Context struct {
	// Registry finds operators.
	Registry *op.Registry
	// Eval computes a node from constant inputs. An omitted input is nil. Passes
	// leave a node as it is if Eval fails.
	Eval func(n *graph.Node, in []*tensor.Tensor) ([]*tensor.Tensor, error)
	// Done returns an error when passes are to end; nil for never.
	Done func() error
}

// done is the error of a context that ended.
func (c *Context) done() error {
	if c.Done == nil {
		return nil
	}
	return c.Done()
}

// Required returns the passes that replace constructs which no operator implements:
// function calls, Gradient nodes and sparse constants.
func Required() []Pass {
	return []Pass{
		{"inline_functions", inlineFunctions},
		{"unfold_sparse", unfoldSparse},
		{"expand_gradient", expandGradient},
	}
}

// Passes returns all passes in the order in which they should run.
func Passes() []Pass {
	return append(Required(),
		Pass{"inline_if", inlineIf},
		Pass{"fuse_widening", fuseWidening},
		Pass{"fuse_quantized", fuseQuantized},
		Pass{"fold_const", foldConst},
		Pass{"drop_dead", dropDead},
		Pass{"remove_noop", removeNoop},
		Pass{"common_subexpr", commonSubexpr},
		Pass{"fuse_layer_norm", fuseLayerNorm},
		Pass{"fuse_rms_norm", fuseRMSNorm},
		Pass{"fuse_gelu", fuseGelu},
		Pass{"fuse_swish", fuseSwish},
		Pass{"fuse_hard_swish", fuseHardSwish},
		Pass{"fuse_mish", fuseMish},
		Pass{"fuse_swiglu", fuseSwiGLU},
		Pass{"fuse_rotary", fuseRotary},
		Pass{"fuse_attention", fuseAttention},
		Pass{"fuse_matmul_add", fuseMatMulAdd},
		Pass{"fold_scale", foldScale},
		Pass{"trim_kernel", trimKernel},
		Pass{"norm_as_conv", normAsConv},
		Pass{"fuse_skip_norm", fuseSkipNorm},
		Pass{"fuse_residual", fuseResidual},
		Pass{"fuse_activation", fuseActivation},
		Pass{"fuse_bias_gelu", fuseBiasGelu},
		Pass{"drop_dead", dropDead},
	)
}

// Run applies the passes in order, each once to every graph of the model, and returns
// the rewritten model.
func Run(m *graph.Model, passes []Pass, c Context) (*graph.Model, error) {
	for _, p := range passes {
		r := rewriter{pass: p, context: c, model: m, names: newNames(m)}
		g, err := r.graph(m.Graph, nil, nil)
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

// A rewriter applies one pass to a model.
type rewriter struct {
	pass    Pass
	context Context
	model   *graph.Model
	names   *names
}

// graph rewrites a graph and then its subgraphs. Types are those of graph inputs that
// the file does not declare.
func (r *rewriter) graph(g *graph.Graph, outer *Scope, types []graph.Type) (*graph.Graph, error) {
	if err := r.context.done(); err != nil {
		return nil, err
	}
	s := newScope(r.context, r.model, g, outer, r.names)
	s.inputs = types
	e, err := r.pass.Run(s)
	if err != nil {
		return nil, err
	}
	if e != nil {
		g = e.apply(g)
		s = newScope(r.context, r.model, g, outer, r.names)
		s.inputs = types
	}
	return r.inside(g, s)
}

// inside returns the graph with rewritten subgraphs.
func (r *rewriter) inside(g *graph.Graph, s *Scope) (*graph.Graph, error) {
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
			changed, err = r.graph(sub, s, s.bodyTypes(n, attr))
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

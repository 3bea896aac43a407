// Package optimize rewrites a model's graph into one that gives the same
// results sooner. A pass reads the graph and returns an edit; Run applies it.
// The model passed in is never changed.
package optimize

import (
	"fmt"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
)

// Pass is one rewriting of a graph.
type Pass struct {
	Name string
	Run  func(m *graph.Model, c Context) (*Edit, error)
}

// Context is what passes need beside the model.
type Context struct {
	Registry *op.Registry
	ISA      bindings.ISA
}

// Required returns the passes without which a model may not run: they remove
// what no operator implements.
func Required() []Pass {
	return []Pass{
		{"inline_functions", inlineFunctions},
		{"expand_gradient", expandGradient},
	}
}

// Passes returns every pass, in the order in which they run.
func Passes() []Pass {
	return append(Required(),
		Pass{"fold_const", foldConst},
		Pass{"drop_dead", dropDead},
	)
}

// Run applies the passes in order, each once.
func Run(m *graph.Model, passes []Pass, c Context) (*graph.Model, error) {
	for _, p := range passes {
		e, err := p.Run(m, c)
		if err != nil {
			return nil, &graph.Error{Stage: "optimize", File: m.File, Offset: -1, Err: fmt.Errorf("%s: %w", p.Name, err)}
		}
		m = e.apply(m)
	}
	return m, nil
}

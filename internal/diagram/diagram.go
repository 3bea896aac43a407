// Package diagram draws models: it gives the nodes of a graph places on a plane, and the viewer,
// a script for browsers, shows them.
package diagram

import (
	"context"

	"github.com/nacre-ml/nacre/internal/outline"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Drawing is the graphs of a model: the main graph first, then the graphs of nodes and functions,
// then the contents of groups.
type Drawing struct {
	Graphs  []*Graph  `json:"graphs"`
	Weights []*Weight `json:"weights,omitempty"`
	Steps   []Step    `json:"steps,omitempty"` // of a plan or a run; the caller adds them
}

// Graph is a graph whose boxes have ranks, from above to below, and places on them. The viewer finds
// the height of a rank, which depends on the groups that are open.
type Graph struct {
	Name      string  `json:"name"`
	Width     float64 `json:"width"`
	Nodes     int     `json:"nodes"`               // nodes of the model, also ones without a box
	Constants int     `json:"constants,omitempty"` // nodes without a box: they compute from constants alone
	Facts     []Pair  `json:"facts,omitempty"`     // of all nodes; none for the contents of a group
	Boxes     []*Box  `json:"boxes"`
	Edges     []*Edge `json:"edges"`
}

// Box is an input or output of a graph, one of its nodes, a group of nodes, or the place where a
// value enters or leaves a group.
type Box struct {
	Kind     string   `json:"kind"` // input, output, product, elementwise, body, node, group, in or out
	Title    string   `json:"title"`
	Name     string   `json:"name,omitempty"`
	Op       string   `json:"op,omitempty"` // with domain and version
	Doc      string   `json:"doc,omitempty"`
	Lines    []string `json:"lines,omitempty"` // below the title
	Rank     int      `json:"rank"`
	X        float64  `json:"x"` // of the middle
	Width    float64  `json:"w"`
	Height   float64  `json:"h"`
	Attrs    []Pair   `json:"attrs,omitempty"`
	Facts    []Pair   `json:"facts,omitempty"` // of a group
	Inputs   []Port   `json:"inputs,omitempty"`
	Captured []Port   `json:"captured,omitempty"` // values that graphs of the node use, of the graphs around
	Outputs  []Port   `json:"outputs,omitempty"`
	Bodies   []Body   `json:"bodies,omitempty"`
	Inside   int      `json:"inside,omitempty"` // the number of the graph with the contents of a group
	Times    int      `json:"times,omitempty"`  // of a group of blocks that repeat
}

// Pair is an attribute as text.
type Pair struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Port is an operand of a node. Value is the beginning of a constant.
type Port struct {
	Name   string `json:"name"`
	By     string `json:"by,omitempty"` // operators without a box that make a constant of Name
	Type   string `json:"type,omitempty"`
	Value  string `json:"value,omitempty"`
	Bytes  int    `json:"bytes,omitempty"`  // of a constant
	Weight *int   `json:"weight,omitempty"` // the number of its distribution in the drawing
}

// Body is an attribute of a node with a graph, by its number in the drawing.
type Body struct {
	Name  string `json:"name"`
	Graph int    `json:"graph"`
}

// Edge leads from one box to another with one or more values. Through is the places on the ranks
// between; it is empty if the edge does not keep clear of boxes there.
type Edge struct {
	From    int       `json:"from"`
	To      int       `json:"to"`
	Values  []Flow    `json:"values"`
	Through []float64 `json:"through,omitempty"`
}

// Flow is a value of an edge.
type Flow struct {
	Name string `json:"name"`
	Type string `json:"type,omitempty"`
}

// Step is a step of a plan or of a run. Within is the path of the graph, as in a profile.
type Step struct {
	Node   string   `json:"node"`
	Within string   `json:"within,omitempty"`
	Op     string   `json:"op"`
	How    string   `json:"how"`          // device and kernels
	MS     *float64 `json:"ms,omitempty"` // nil for a plan
}

// StepOf returns a step with the names that boxes of a drawing have. The time is nil for a plan.
func StepOf(node, within, op, how string, ms *float64) Step {
	return Step{Node: outline.Shown(node, 200), Within: outline.Shown(within, 2000), Op: outline.Shown(op, 120),
		How: outline.Shown(how, 400), MS: ms}
}

// Draw draws a model. If ctx is done, it returns the error of ctx.
func Draw(ctx context.Context, m *graph.Model) (*Drawing, error) {
	o, err := outline.Of(ctx, m, outline.Options{})
	if err != nil {
		return nil, err
	}
	d := &drawer{ctx: ctx, outline: o, weights: map[*tensor.Tensor]*int{}}
	d.drawing.Graphs = make([]*Graph, len(o.Graphs))
	for number, g := range o.Graphs {
		name := outline.Shown(g.Path, 80)
		if number == 0 {
			name = outline.Shown(g.Graph.Name, 60)
		}
		drawn, err := d.level(g, name, g.Root.Items, true)
		if err != nil {
			return nil, err
		}
		var ops []string
		g.Root.Nodes(func(n int) { ops = append(ops, g.Nodes[n].Op) })
		drawn.Nodes, drawn.Constants, drawn.Facts = len(g.Nodes), g.Constants(), facts(o.Sum(g), byCount(ops))
		d.drawing.Graphs[number] = drawn
	}
	return &d.drawing, nil
}

// drawer is the state of Draw.
type drawer struct {
	ctx     context.Context
	outline *outline.Outline
	drawing Drawing
	weights map[*tensor.Tensor]*int // numbers of distributions
}

// Package bodies makes models of the operators that hold graphs. Every model has one node of the
// operator, and comes in sizes.
package bodies

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Case is a model in sizes.
type Case struct {
	Name string // of the operator, behind the domain if it is not the standard's; a blank and a note may follow

	// Make returns the model of a size, from 1 on, the node with the graphs, and the inputs of a
	// run. The work of a run grows with the size.
	Make func(size int) (*graph.Model, *graph.Node, []tensor.Value)
}

// Cases returns the cases.
func Cases() []Case {
	return []Case{
		{"If", branch},
		{"Loop", func(size int) (*graph.Model, *graph.Node, []tensor.Value) { return loop(64*size, 4) }},
		{"Loop of large values", func(size int) (*graph.Model, *graph.Node, []tensor.Value) { return loop(8, 1024*size) }},
		{"Scan", func(size int) (*graph.Model, *graph.Node, []tensor.Value) { return scan(16*size, 4) }},
		{"Scan of large values", func(size int) (*graph.Model, *graph.Node, []tensor.Value) { return scan(8, 256*size) }},
		{"SequenceMap", sequenceMap},
		{"ai.onnx.preview.FlexAttention", flexAttention},
		{"com.microsoft.BeamSearch", search("BeamSearch", longer)},
		{"com.microsoft.BeamSearch of many words", search("BeamSearch", words)},
		{"com.microsoft.BeamSearch of many beams", search("BeamSearch", beams)},
		{"com.microsoft.GreedySearch", search("GreedySearch", longer)},
		{"com.microsoft.GreedySearch of many words", search("GreedySearch", words)},
		{"com.microsoft.Sampling", search("Sampling", longer)},
		{"com.microsoft.Sampling of many words", search("Sampling", words)},
		{"com.microsoft.WhisperBeamSearch", speech},
	}
}

// declared is a type whose extents are words.
func declared(d tensor.DType, text ...string) graph.Type {
	dims := make(graph.Dims, len(text))
	for i, x := range text {
		dims[i] = graph.ParseDim(x)
	}
	return graph.TensorOf(d, dims)
}

// filled makes small numbers that differ.
func filled(shape ...int) *tensor.Tensor {
	t := tensor.New(tensor.F32, shape...)
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(i*7%13-6) / 8
	}
	return t
}

func number[T tensor.Element](v T, shape ...int) *tensor.Tensor {
	t, err := tensor.From([]T{v}, shape...)
	if err != nil {
		panic(err)
	}
	return t
}

// taking declares the input of a run.
func taking(b *graph.Builder, name string, t *tensor.Tensor) string {
	return b.Input(name, graph.TensorOf(t.DType(), graph.UnknownDims(len(t.Shape()))))
}

// give makes a value an output of a graph.
func give(b *graph.Builder, value string) { b.Output(value, value, graph.Type{}) }

// finish returns the model of the outputs of the last node.
func finish(b *graph.Builder, out []string) (*graph.Model, *graph.Node) {
	for _, name := range out {
		give(b, name)
	}
	m := b.Model(&graph.Model{File: "bodies", IR: 10})
	for _, n := range m.Graph.Nodes {
		for _, a := range n.Attrs {
			if a.Graph != nil {
				return m, n
			}
		}
	}
	return m, nil
}

func begin() *graph.Builder {
	b := graph.NewBuilder("g")
	b.Opset("", 18)
	return b
}

// product is a graph that multiplies a value of the graph around it.
func product(b *graph.Builder, x string) *graph.Graph {
	give(b, b.Op("MatMul", []string{b.Op("MatMul", []string{x, x}), x}))
	return b.Graph()
}

func branch(size int) (*graph.Model, *graph.Node, []tensor.Value) {
	b := begin()
	x, c := filled(8*size, 8*size), number(true)
	in, condition := taking(b, "x", x), taking(b, "c", c)
	out := b.Node("", "If", []string{condition}, 1,
		graph.GraphAttr("then_branch", product(b.Body("then"), in)), graph.GraphAttr("else_branch", product(b.Body("else"), in)))
	m, n := finish(b, out)
	return m, n, []tensor.Value{x, c}
}

func loop(trips, width int) (*graph.Model, *graph.Node, []tensor.Value) {
	b := begin()
	x, count := filled(width), number(int64(trips))
	in, most := taking(b, "x", x), taking(b, "n", count)
	g := b.Body("body")
	g.Input("i", declared(tensor.I64))
	c := g.Input("c", declared(tensor.Bool))
	v := g.Input("v", declared(tensor.F32, "w"))
	next := g.Op("Tanh", []string{g.Op("Add", []string{v, in})})
	give(g, g.Op("Identity", []string{c}))
	give(g, next)
	give(g, g.Op("Neg", []string{next}))
	out := b.Node("", "Loop", []string{most, "", in}, 2, graph.GraphAttr("body", g.Graph()))
	m, n := finish(b, out)
	return m, n, []tensor.Value{x, count}
}

func scan(steps, width int) (*graph.Model, *graph.Node, []tensor.Value) {
	b := begin()
	state, x := filled(width), filled(width, steps)
	s, in := taking(b, "s", state), taking(b, "x", x)
	g := b.Body("body")
	old, row := g.Input("old", declared(tensor.F32, "w")), g.Input("row", declared(tensor.F32, "w"))
	next := g.Op("Tanh", []string{g.Op("Add", []string{old, row})})
	give(g, next)
	give(g, g.Op("Neg", []string{next}))
	out := b.Node("", "Scan", []string{s, in}, 2, graph.GraphAttr("body", g.Graph()), graph.IntAttr("num_scan_inputs", 1),
		graph.IntsAttr("scan_input_axes", 1), graph.IntsAttr("scan_output_axes", 1))
	m, n := finish(b, out)
	return m, n, []tensor.Value{state, x}
}

func sequenceMap(size int) (*graph.Model, *graph.Node, []tensor.Value) {
	b := begin()
	x := filled(4*size, 3)
	items := b.Op("SplitToSequence", []string{taking(b, "x", x)})
	g := b.Body("body")
	item := g.Input("item", declared(tensor.F32, "n", "w"))
	give(g, g.Op("Tanh", []string{item}))
	out := b.Node("", "SequenceMap", []string{items}, 1, graph.GraphAttr("body", g.Graph()))
	m, n := finish(b, []string{b.Op("ConcatFromSequence", out, graph.IntAttr("axis", 0))})
	return m, n, []tensor.Value{x}
}

func flexAttention(size int) (*graph.Model, *graph.Node, []tensor.Value) {
	b := begin()
	b.Opset("ai.onnx.preview", 1)
	x := filled(1, 2, 4*size, 8)
	in := taking(b, "x", x)
	body := func(name, op string) *graph.Attr {
		g := b.Body(name)
		t := g.Input("t_"+name, declared(tensor.F32, "b", "h", "l", "s"))
		give(g, g.Op(op, []string{t}))
		return graph.GraphAttr(name, g.Graph())
	}
	out := b.Node("ai.onnx.preview", "FlexAttention", []string{in, in, in}, 1, body("score_mod", "Tanh"),
		body("prob_mod", "Abs"))
	m, n := finish(b, out)
	return m, n, []tensor.Value{x}
}

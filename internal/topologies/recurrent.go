package topologies

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// recurrent lists LSTM and GRU layers on one sequence: a step at a time, as networks that listen
// take them, and a hundred steps. A few are on batches and in both directions.
func recurrent() []Topology {
	var list []Topology
	for _, op := range []string{"LSTM", "GRU"} {
		for _, hidden := range []int{128, 256, 512} {
			for _, steps := range []int{1, 100} {
				list = append(list, Topology{Name: fmt.Sprintf("%s_%d_steps_%d", op, hidden, steps), Kind: Layer,
					Build: func() *graph.Model {
						return Recurrent(op, steps, 1, 1, hidden, hidden)
					}})
			}
		}
	}
	// Whole batches, in both directions, and a plain network.
	for _, x := range []struct {
		op                               string
		steps, batch, directions, hidden int
	}{{"LSTM", 50, 16, 1, 256}, {"LSTM", 50, 4, 2, 128}, {"GRU", 50, 1, 2, 256}, {"GRU", 50, 16, 1, 128}, {"RNN", 100, 1, 1, 256}} {
		name := fmt.Sprintf("%s_%d_steps_%d_batch_%d_directions_%d", x.op, x.hidden, x.steps, x.batch, x.directions)
		list = append(list, Topology{Name: name, Kind: Layer,
			Build: func() *graph.Model { return Recurrent(x.op, x.steps, x.batch, x.directions, x.hidden, x.hidden) }})
	}
	return list
}

// Listener returns a network for one frame of sound on a device that listens: a dense layer, two
// GRU layers of 64 with states as inputs and outputs, and a dense layer. Its nodes take more time
// than their arithmetic.
func Listener() *graph.Model {
	b := newBuilder("listener")
	const features, hidden = 40, 64
	x := b.input("x", tensor.F32, 1, 1, features)
	x = b.node("Relu", nil, b.node("Add", nil, b.node("MatMul", nil, x, b.weight(features, features, hidden)),
		b.weight(100, hidden)))
	axis := b.ints(1)
	for _, name := range []string{"h1", "h2"} {
		attrs := []*graph.Attr{integer("hidden_size", hidden), integer("linear_before_reset", 1)}
		y := b.node("GRU", attrs, x, b.weight(hidden, 1, 3*hidden, hidden), b.weight(hidden, 1, 3*hidden, hidden),
			b.weight(100, 1, 6*hidden), "", b.input(name, tensor.F32, 1, 1, hidden))
		state := b.name("state")
		b.g.Nodes[len(b.g.Nodes)-1].Outputs = append(b.g.Nodes[len(b.g.Nodes)-1].Outputs, state)
		b.output(state, 1, 1, hidden)
		x = b.node("Squeeze", nil, y, axis)
	}
	x = b.node("Add", nil, b.node("MatMul", nil, x, b.weight(hidden, hidden, 2)), b.weight(100, 2))
	b.output(b.node("Softmax", []*graph.Attr{integer("axis", -1)}, x), 1, 1, 2)
	return b.model()
}

// Recurrent returns one layer of operator op. Its state is an input.
func Recurrent(op string, steps, batch, directions, input, hidden int) *graph.Model {
	gates := map[string]int{"LSTM": 4, "GRU": 3, "RNN": 1}[op]
	b := newBuilder(op)
	inputs := []string{
		b.input("x", tensor.F32, steps, batch, input), b.weight(input, directions, gates*hidden, input),
		b.weight(hidden, directions, gates*hidden, hidden),
		b.weight(100, directions, 2*gates*hidden), "", b.input("h", tensor.F32, directions, batch, hidden),
	}
	attrs := []*graph.Attr{integer("hidden_size", int64(hidden))}
	if directions == 2 {
		attrs = append(attrs, graph.StringAttr("direction", "bidirectional"))
	}
	switch op {
	case "LSTM":
		inputs = append(inputs, b.input("c", tensor.F32, directions, batch, hidden))
	case "GRU":
		attrs = append(attrs, integer("linear_before_reset", 1))
	}
	y := b.node(op, attrs, inputs...)
	node := b.g.Nodes[len(b.g.Nodes)-1]
	b.output(y, steps, directions, batch, hidden)
	for range len(inputs) - 5 {
		state := b.name("state")
		node.Outputs = append(node.Outputs, state)
		b.output(state, directions, batch, hidden)
	}
	return b.model()
}

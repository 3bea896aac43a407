package formats_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/loom"
	"github.com/nacre-ml/nacre/formats/openinfer"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// networks lists the formats with files that hold networks and no other tensors. Every other format
// holds the tensors of any model. small returns a model that is much longer than a page. crowded
// returns one of many small parts and, if the format has tensors, a large one.
var networks = map[string]struct {
	small, crowded func(t *testing.T) *graph.Model
}{
	loom.Name:       {network, crowdedNetwork},
	loom.EntityName: {network, crowdedNetwork},
	openinfer.Name:  {program, crowdedProgram},
}

// containers lists the first extensions of the formats that hold tensors of any model.
func containers() (list []string) {
	for _, f := range formats.Formats {
		if _, ok := networks[f.Name]; !ok {
			list = append(list, f.Extensions[0])
		}
	}
	return list
}

// sample returns a model that a format can hold, much longer than a page or, if the format holds
// any tensors, of three tensors of elements numbers each.
func sample(t *testing.T, format string, elements int) *graph.Model {
	t.Helper()
	if n, ok := networks[format]; ok {
		return n.small(t)
	}
	return large(t, elements)
}

// large returns a model of three tensors of elements numbers each.
func large(t *testing.T, elements int) *graph.Model {
	t.Helper()
	m := &graph.Model{Graph: &graph.Graph{}}
	for _, name := range []string{"a", "b", "c"} {
		w := make([]float32, elements)
		for i := range w {
			w[i] = float32(i%251) / 8
		}
		x, err := tensor.From(w, elements)
		if err != nil {
			t.Fatal(err)
		}
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: x})
	}
	return m
}

// network returns a layer of Loom.
func network(t *testing.T) *graph.Model {
	t.Helper()
	const size = 128
	n := &loom.Network{Depth: 1, Rows: 1, Cols: 1, LayersPerCell: 1, Layers: []*loom.Layer{{
		Type: loom.Dense, Activation: loom.Linear, DType: loom.Float32, InputHeight: size, OutputHeight: size,
		SeqLength: 1, Weights: loom.NewStore(loom.Float32, make([]float32, size*size)),
	}}}
	m, err := n.Model()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// program returns a program of OpenInfer.
func program(t *testing.T) *graph.Model {
	t.Helper()
	return decoded(t, "block entry {"+strings.Repeat(" barrier;\n", 1<<12)+"}")
}

// The number of parts of a crowded model, and of elements of its largest tensor.
const (
	manyParts = 1 << 11
	longest   = 1 << 19
)

// crowded returns a model that a format can hold, with many small parts and a large one. Without a
// format, these are tensors.
func crowded(t *testing.T, format string) *graph.Model {
	t.Helper()
	if n, ok := networks[format]; ok {
		return n.crowded(t)
	}
	m := &graph.Model{Graph: &graph.Graph{}}
	add := func(name string, x *tensor.Tensor) {
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: name, Tensor: x})
	}
	for i := range manyParts {
		add(fmt.Sprint("tensor", i), tensor.New(tensor.F32, 2, 1, 3))
	}
	kind := tensor.F32
	if format == "oinf" { // its reader looks at every boolean
		kind = tensor.Bool
	}
	add("long", tensor.New(kind, longest))
	return m
}

func crowdedNetwork(t *testing.T) *graph.Model {
	t.Helper()
	n := &loom.Network{Depth: manyParts / 8, Rows: 1, Cols: 1, LayersPerCell: 1}
	for i := range n.Depth {
		size := 1
		if i == 0 {
			size = longest
		}
		n.Layers = append(n.Layers, &loom.Layer{Z: i, Type: loom.RMSNorm, Activation: loom.Linear, DType: loom.Float32, InputHeight: size,
			OutputHeight: size, SeqLength: 1, Weights: loom.NewStore(loom.Float32, make([]float32, size))})
	}
	m, err := n.Model()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func crowdedProgram(t *testing.T) *graph.Model {
	t.Helper()
	return decoded(t, "dynamic {\nx: f32[4];\n}\nvolatile {\ny: f32[4];\n}\nblock entry {\n"+
		strings.Repeat("op relu(x) >> y;\n", manyParts)+"return;\n}\n")
}

func decoded(t *testing.T, text string) *graph.Model {
	t.Helper()
	m, err := formats.Decode("program", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

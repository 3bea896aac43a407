package optest

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// A mutant is a model and the inputs of its runs.
type mutant struct {
	model *graph.Model
	feeds map[string]tensor.Value
}

// opsetOf lists the operator sets of mutants.
var opsetOf = []graph.Opset{{Version: 24}, {Domain: "ai.onnx.ml", Version: 5}, {Domain: cases.Microsoft, Version: 1},
	{Domain: kit.Internal, Version: 1}}

// ofCase returns a model of one node. Bit i of fixed makes input i a constant.
func ofCase(c *cases.Case, version int, fixed int) *mutant {
	n := c.Node(version)
	g := &graph.Graph{Name: "mutant", Nodes: []*graph.Node{n}}
	m := &mutant{model: &graph.Model{Format: "onnx", File: "mutant.onnx", IR: 10, Opsets: opsetOf, Graph: g},
		feeds: map[string]tensor.Value{}}
	for i, t := range c.In {
		switch {
		case t == nil:
		case fixed>>i&1 == 1:
			g.Initializers = append(g.Initializers, &graph.Initializer{Name: n.Inputs[i], Tensor: t})
		default:
			g.Inputs = append(g.Inputs, &graph.Value{Name: n.Inputs[i],
				Type: graph.TensorOf(t.DType(), graph.DimsOf(t.Shape()))})
			m.feeds[n.Inputs[i]] = t
		}
	}
	for _, name := range n.Outputs {
		if name != "" {
			g.Outputs = append(g.Outputs, &graph.Value{Name: name})
		}
	}
	return m
}

// casesOf returns the cases from which models are made: the small ones of operators in the table.
var casesOf = sync.OnceValue(func() []*cases.Case {
	return slices.DeleteFunc(slices.Clone(Cases()), func(c *cases.Case) bool {
		row := Rows()[c.Key()]
		return row == nil || len(c.Versions(row)) == 0 || size(c.In) > 1<<16
	})
})

// size returns the size of tensors in bytes.
func size(list []*tensor.Tensor) (n int) {
	for _, t := range list {
		if t != nil {
			n += t.Size()
		}
	}
	return n
}

// officials lists the official models, if their folder is named.
var officials = sync.OnceValue(func() (list []string) {
	root := os.Getenv("NACRE_ONNX_DATA")
	if root == "" {
		return nil
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if info, stat := os.Stat(path); err == nil && stat == nil && strings.HasSuffix(path, ".onnx") && info.Size() < 1<<16 {
			list = append(list, path)
		}
		return nil
	})
	return list
})

// ofFile returns an official model with its first inputs.
func ofFile(t testing.TB, path string) *mutant {
	m, err := formats.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	mut := &mutant{model: m, feeds: map[string]tensor.Value{}}
	for i, v := range m.Graph.Inputs {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), "test_data_set_0", "input_"+string(rune('0'+i))+".pb"))
		if err != nil {
			continue
		}
		if read, err := onnx.ReadValue(data, v.Type); err == nil && read.Tensor != nil {
			mut.feeds[v.Name] = read.Tensor
		}
	}
	return mut
}

// copiedModel returns a deep copy of the model's nodes, values and lists.
func copiedModel(m *graph.Model) *graph.Model {
	c := *m
	c.Closer, c.Graph = nil, copiedGraph(m.Graph)
	return &c
}

func copiedGraph(g *graph.Graph) *graph.Graph {
	c := *g
	values := func(list []*graph.Value) []*graph.Value {
		list = slices.Clone(list)
		for i, v := range list {
			w := *v
			w.Type.Dims = slices.Clone(v.Type.Dims)
			list[i] = &w
		}
		return list
	}
	c.Inputs, c.Outputs, c.Values, c.Initializers = values(g.Inputs), values(g.Outputs), values(g.Values),
		slices.Clone(g.Initializers)
	c.Nodes = slices.Clone(g.Nodes)
	for i, n := range c.Nodes {
		c.Nodes[i] = copiedNode(n)
	}
	return &c
}

func copiedNode(n *graph.Node) *graph.Node {
	c := *n
	c.Inputs, c.Outputs, c.Attrs = slices.Clone(n.Inputs), slices.Clone(n.Outputs), slices.Clone(n.Attrs)
	for i, a := range c.Attrs {
		b := *a
		b.Ints, b.Floats, b.Strs = slices.Clone(a.Ints), slices.Clone(a.Floats), slices.Clone(a.Strs)
		if a.Graph != nil {
			b.Graph = copiedGraph(a.Graph)
		}
		c.Attrs[i] = &b
	}
	return &c
}

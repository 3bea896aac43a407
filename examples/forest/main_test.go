package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestForest predicts with one tree: 1 if a is at most 0.5, else 10 if b is at most 2, else 20.
func TestForest(t *testing.T) {
	testenv.Need(t, bindings.Available())
	ints := func(name string, list ...int64) *graph.Attr {
		return &graph.Attr{Name: name, Kind: graph.AttrInts, Ints: list}
	}
	floats := func(name string, list ...float32) *graph.Attr {
		return &graph.Attr{Name: name, Kind: graph.AttrFloats, Floats: list}
	}
	rows := graph.Symbol("rows")
	m := &graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}, {Domain: "ai.onnx.ml", Version: 3}}, Graph: &graph.Graph{
		Name:    "tree",
		Inputs:  []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.Dims{rows, graph.Known(2)})}},
		Outputs: []*graph.Value{{Name: "y", Type: graph.TensorOf(tensor.F32, graph.Dims{rows, graph.Known(1)})}},
		Nodes: []*graph.Node{{
			Domain: "ai.onnx.ml", Op: "TreeEnsembleRegressor", Version: 3, Inputs: []string{"x"}, Outputs: []string{"y"},
			Attrs: []*graph.Attr{
				ints("nodes_treeids", 0, 0, 0, 0, 0), ints("nodes_nodeids", 0, 1, 2, 3, 4), ints("nodes_featureids", 0, 0, 1, 0, 0),
				floats("nodes_values", 0.5, 0, 2, 0, 0), ints("nodes_truenodeids", 1, 0, 3, 0, 0), ints("nodes_falsenodeids", 2, 0, 4, 0, 0),
				{Name: "nodes_modes", Kind: graph.AttrStrings, Strs: [][]byte{[]byte("BRANCH_LEQ"), []byte("LEAF"), []byte("BRANCH_LEQ"), []byte("LEAF"), []byte("LEAF")}},
				ints("target_treeids", 0, 0, 0), ints("target_nodeids", 1, 3, 4), ints("target_ids", 0, 0, 0), floats("target_weights", 1, 10, 20),
				{Name: "n_targets", Kind: graph.AttrInt, Int: 1},
			},
		}},
	}}
	file := filepath.Join(t.TempDir(), "tree.onnx")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := onnx.Write(f, m); err != nil {
		t.Fatal(err)
	}
	f.Close()
	many := "a,b\n" + strings.Repeat("1,3\n", batch) + "0,0\n"
	for _, c := range []struct{ table, want, problem string }{
		{table: "a,b\n0.5,9\n0.6,2\n0.6,2.5\n", want: "y\n1\n10\n20\n"},
		{table: "a,b\n", want: "y\n"},
		{table: many, want: "y\n" + strings.Repeat("20\n", batch) + "1\n"},
		{table: "a,b\n1,x\n", problem: `line 2, column 3: "x" is no number`},
		{table: "a\n1\n", problem: "x"},
		{table: "", problem: "no header"},
	} {
		var out strings.Builder
		err := predict(&out, file, strings.NewReader(c.table))
		if c.problem == "" && (err != nil || out.String() != c.want) {
			t.Errorf("%.20q: %.40q, %v; want %.40q", c.table, out.String(), err, c.want)
		} else if c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%.20q: %v, want %s", c.table, err, c.problem)
		}
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/nacre-ml/nacre/bench/operators"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Groups of rows.
const (
	ofOperators = "operators"
	ofOpening   = "opening"
)

// row is a model. Its runs, or its opening, are timed.
type row struct {
	group, name string
	drawn       bool    // results are random numbers
	share       float64 // how far they may be from the peer's, as operators.Row says
	build       func(folder string) error
}

// Title returns the name with its group.
func (r row) Title() string { return r.group + "/" + r.name }

// rows returns all rows.
func rows() ([]row, error) {
	table, err := operators.Rows()
	if err != nil {
		return nil, err
	}
	var list []row
	for _, r := range table {
		list = append(list, row{
			group: ofOperators, name: r.Name, drawn: r.Drawn, share: r.Share,
			build: func(folder string) error { return operatorFolder(&r, folder) },
		})
	}
	for _, n := range networks() {
		list = append(list, row{
			group: ofOpening, name: n.Name, build: func(folder string) error { return saved(folder, n.Build()) },
		})
	}
	return list, nil
}

// networks returns the networks of package bench, and others with many nodes or many numbers in
// attributes.
func networks() []topologies.Topology {
	var list []topologies.Topology
	for _, t := range topologies.All {
		if t.Kind != topologies.Operator {
			list = append(list, t)
		}
	}
	return append(list,
		topologies.Topology{Name: "gpt2_prefill_128", Build: func() *graph.Model { return topologies.GPT2(128) }},
		topologies.Topology{Name: "chain_20000", Build: func() *graph.Model { return topologies.Chain(20000) }},
		topologies.Topology{Name: "forest_100x10", Build: func() *graph.Model { return topologies.Trees(100, 10, 20, 10) }},
	)
}

func saved(folder string, m *graph.Model) error {
	return formats.Save(filepath.Join(folder, "model.onnx"), m, formats.Options{})
}

// operatorFolder writes the model of a row of operators, and its inputs.
func operatorFolder(r *operators.Row, folder string) error {
	m, err := r.Build()
	if err != nil {
		return err
	}
	if err := saved(folder, &m.Model); err != nil {
		return err
	}
	data := filepath.Join(folder, "test_data_set_0")
	if err := os.MkdirAll(data, 0o777); err != nil {
		return err
	}
	for i, t := range m.Feeds {
		proto, err := onnx.WriteTensor(nil, m.Graph.Inputs[i].Name, t)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(data, fmt.Sprintf("input_%d.pb", i)), proto, 0o666); err != nil {
			return err
		}
	}
	return nil
}

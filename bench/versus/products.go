package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/nacre-ml/nacre/bench"
	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// product is a product of matrices.
type product struct {
	bench.Shape
	wide bool // float64
}

// args returns the arguments of the programs that multiply with other libraries.
func (p *product) args() []string {
	kind := "f32"
	if p.wide {
		kind = "f64"
	}
	return []string{kind, fmt.Sprint(p.M), fmt.Sprint(p.N), fmt.Sprint(p.K), p.Constant}
}

func (p *product) row(name string) row {
	d := tensor.F32
	if p.wide {
		d = tensor.F64
	}
	r := row{group: report.Products, name: name, request: "bound", peer: "bound", product: p,
		goals: goalOf[report.Products], scale: 1.85}
	if p.wide {
		r.goals, r.scale = [2]float64{0.95}, 1.8
	}
	r.build = func() *graph.Model { return topologies.Product(d, p.M, p.N, p.K, p.Constant) }
	return r
}

// productRows returns squares in both types, and the products of the files of a folder.
func productRows(folder string) ([]row, error) {
	var list []row
	for _, wide := range []bool{false, true} {
		for n := 32; n <= 2048; n *= 2 {
			p := &product{bench.Shape{Name: fmt.Sprint(n), M: n, N: n, K: n, Constant: "none"}, wide}
			list = append(list, p.row(p.args()[0]+"/"+p.Name))
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err == nil && files == nil {
		err = fmt.Errorf("no shapes of products in %s: run the program at the root of the repository", folder)
	}
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		model := strings.TrimSuffix(filepath.Base(file), ".txt")
		if model == "squares" || model == "tails" {
			continue
		}
		shapes, err := bench.ReadShapes(file)
		if err != nil {
			return nil, err
		}
		for _, s := range shapes {
			p := &product{Shape: s}
			list = append(list, p.row("f32/"+model+"/"+s.Name))
		}
	}
	return list, nil
}

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

// product is a product of matrices. Bytes on the left are multiplied by signed bytes.
type product struct {
	bench.Shape
	left tensor.DType
}

// args returns the arguments of the programs that multiply with other libraries.
func (p *product) args() []string {
	return []string{p.left.Short(), fmt.Sprint(p.M), fmt.Sprint(p.N), fmt.Sprint(p.K), p.Constant}
}

// row returns the row of a product, named after its type and the product itself.
func (p *product) row(name string) row {
	r := row{group: report.Products, name: p.left.Short() + "/" + name, request: "bound", peer: "bound", product: p,
		goals: goalOf[report.Products], scale: 1.85}
	if p.left == tensor.F64 {
		r.goals, r.scale = [2]float64{0.95}, 1.8
	}
	r.build = func() *graph.Model { return topologies.Product(p.left, p.M, p.N, p.K, p.Constant) }
	return r
}

// productRows returns squares in every type, and the products of the files of a folder in float32.
func productRows(folder string) ([]row, error) {
	var list []row
	for _, squares := range []struct {
		left     tensor.DType
		least    int
		constant string
	}{{tensor.F32, 32, "none"}, {tensor.F64, 32, "none"}, {tensor.U8, 512, "b"}} {
		for n := squares.least; n <= 2048; n *= 2 {
			p := &product{bench.Shape{Name: fmt.Sprint(n), M: n, N: n, K: n, Constant: squares.constant}, squares.left}
			list = append(list, p.row(p.Name))
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
			p := &product{s, tensor.F32}
			list = append(list, p.row(model+"/"+s.Name))
		}
	}
	return list, nil
}

package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nacre-ml/nacre/bench"
	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// product is a product of matrices, of an m x k by a k x n one.
type product struct {
	m, n, k  int
	constant string // the operand that is a weight: a, b or none
	wide     bool   // float64
}

// args are those of the programs that multiply with other libraries.
func (p *product) args() []string {
	kind := "f32"
	if p.wide {
		kind = "f64"
	}
	return []string{kind, fmt.Sprint(p.m), fmt.Sprint(p.n), fmt.Sprint(p.k), p.constant}
}

func (p *product) row(name string) row {
	d := tensor.F32
	if p.wide {
		d = tensor.F64
	}
	r := row{group: report.Products, name: name, request: "bound", peer: "bound", product: p, goals: goalOf[report.Products], scale: 1.85}
	if p.wide {
		r.goals, r.scale = [2]float64{0.95}, 1.8
	}
	r.build = func() *graph.Model { return bench.Product(d, p.m, p.n, p.k, p.constant) }
	return r
}

// productRows are squares in both types, and those of the files of a folder.
func productRows(folder string) ([]row, error) {
	var list []row
	for _, wide := range []bool{false, true} {
		for n := 128; n <= 2048; n *= 2 {
			p := &product{n, n, n, "none", wide}
			list = append(list, p.row(fmt.Sprintf("%s/%d", p.args()[0], n)))
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
		more, err := shapes(file, model)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// shapes reads a file of shapes: a name, m, n, k and the constant operand in a line.
func shapes(file, model string) ([]row, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []row
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(text) == "" {
			continue
		}
		var name string
		p := new(product)
		if _, err := fmt.Sscan(text, &name, &p.m, &p.n, &p.k, &p.constant); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", file, text, err)
		}
		list = append(list, p.row("f32/"+model+"/"+name))
	}
	return list, lines.Err()
}

package gguf

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tensor takes a tensor with these extents, which must be there.
func (d *design) tensor(name string, dims ...int) *graph.Initializer {
	x := d.left[name]
	if x == nil {
		d.missing = append(d.missing, name)
		return nil
	}
	d.used[name] = true
	t := x.Tensor
	if k := t.DType(); !k.IsFloat() && k.Blocks() == nil && k != tensor.I2 || !t.Shape().Equal(dims) {
		d.misfits = append(d.misfits, fmt.Sprintf("%s is %v, where floating-point numbers or blocks %v are wanted",
			name, t, tensor.Shape(dims)))
	}
	return x
}

// maybe takes a tensor with these extents, if it is there.
func (d *design) maybe(name string, dims ...int) *graph.Initializer {
	if d.left[name] == nil {
		return nil
	}
	return d.tensor(name, dims...)
}

// norm takes the parameters of a norm. The empty name gives an empty norm.
func (d *design) norm(p, name string, n int) decoder.Norm {
	if name == "" {
		return decoder.Norm{}
	}
	w := decoder.Norm{Weight: d.tensor(p+name+".weight", n)}
	if d.layerNorm {
		w.Bias = d.maybe(p+name+".bias", n)
	}
	return w
}

// matrix takes a matrix of dims [out,in], or [experts,out,in], and its bias and the factor of its
// product, if they are there.
func (d *design) matrix(name string, dims ...int) decoder.Matrix {
	m := decoder.Matrix{Weight: d.tensor(name+".weight", dims...), Bias: d.maybe(name+".bias", dims[:len(dims)-1]...)}
	if d.left[name+".scale"] != nil {
		m.Scale = d.tensor(name+".scale", d.scales(name, dims)...)
	}
	if input := name + ".input_scale"; d.left[input] != nil {
		d.used[input] = true // of activations in few bits
	}
	return m
}

// scales returns the extents of the factors of a product: one, in any number of axes, or one for
// each of the experts.
func (d *design) scales(name string, dims []int) []int {
	if len(dims) == 3 {
		return dims[:1]
	}
	if t := d.left[name+".scale"].Tensor; t.Len() == 1 {
		return t.Shape()
	}
	return []int{1}
}

// shown bounds the number of names in a message.
const shown = 20

// problems returns an error with every problem of the tensors.
func (d *design) problems() error {
	var list []string
	add := func(names []string, what string) {
		if n := len(names); n > shown {
			names = append(slices.Clone(names[:shown]), fmt.Sprintf("and %d more", n-shown))
		}
		if len(names) > 0 {
			list = append(list, what+": "+strings.Join(names, ", "))
		}
	}
	add(d.missing, "tensors are missing")
	add(d.misfits, "tensors do not fit the metadata")
	var others []string
	for _, name := range slices.Sorted(maps.Keys(d.left)) {
		if !d.used[name] {
			others = append(others, name)
		}
	}
	add(others, "tensors have no part in a network of the architecture "+d.name)
	if list == nil {
		return nil
	}
	return graph.Errorf(graph.ErrFormat, "%s", strings.Join(list, "; "))
}

package onnx

import (
	"bytes"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// initializers maps names to the initializers of a graph read so far.
type initializers map[string]*tensor.Tensor

// repeated reports whether an initializer adds nothing: it has no name, or has the name of another
// one. If it has no name, or type, shape and elements are equal to the other's, repeated warns. If
// they differ, reading fails, because nothing says which of the two counts.
func (d *decoder) repeated(at int, met initializers, name string, t *tensor.Tensor) bool {
	switch first, ok := met[name]; {
	case d.err != nil:
		return false
	case name == "":
		d.warn(at, "initializer without a name, which no node can use")
		return true
	case !ok:
		met[name] = t
		return false
	case equal(first, t):
		d.warn(at, "initializer %q is stored twice, with equal values", name)
		return true
	}
	d.bad(at, "initializer %q is stored twice, with values that differ", name)
	return true
}

// equal reports whether two tensors have the same type, shape and elements, bit for bit.
func equal(a, b *tensor.Tensor) bool {
	if a.DType() != b.DType() || !slices.Equal(a.Shape(), b.Shape()) {
		return false
	}
	if a.DType() == tensor.String {
		return slices.Equal(a.Strings(), b.Strings())
	}
	return bytes.Equal(a.Bytes(), b.Bytes())
}

// repeatedKeys warns of metadata keys that occur twice.
func (d *decoder) repeatedKeys(meta []graph.Pair) {
	met := map[string]bool{}
	for _, p := range meta {
		if met[p.Key] {
			d.warn(0, "metadata has the key %q twice", p.Key)
		}
		met[p.Key] = true
	}
}

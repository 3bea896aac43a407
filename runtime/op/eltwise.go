package op

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// eltwiseRows are the arithmetic operators and activations.
var eltwiseRows = slices.Concat(unaryRows, clipRows, binaryRows, powRows, variadicRows)

// kernelTypes are the names that kernels have for element types.
var kernelTypes = map[tensor.DType]string{
	tensor.F32: "f32", tensor.F64: "f64", tensor.F16: "f16", tensor.BF16: "bf16",
	tensor.I8: "i8", tensor.I16: "i16", tensor.I32: "i32", tensor.I64: "i64",
	tensor.U8: "u8", tensor.U16: "u16", tensor.U32: "u32", tensor.U64: "u64", tensor.Bool: "bool",
}

// kernelFor returns a kernel for elements of type d, such as f32_exp.
func kernelFor(c *Prepare, d tensor.DType, name string) (bindings.Kernel, error) {
	t, ok := kernelTypes[d]
	if !ok {
		return bindings.Kernel{}, graph.Mark(graph.ErrUnsupported, "no arithmetic on %v elements; cast them first", d)
	}
	return c.Kernel(t + "_" + name)
}

// wide is the type in which kernels compute on elements of type d.
func wide(d tensor.DType) tensor.DType {
	if d == tensor.F16 || d == tensor.BF16 {
		return tensor.F32
	}
	return d
}

// path is how elements in memory become elements that a kernel computes on, and
// back.
type path struct {
	bytes   int
	in, out bindings.Kernel
}

// pathTo returns the path between elements of type d in memory and of type
// compute in kernels.
func pathTo(c *Prepare, d, compute tensor.DType) (path, error) {
	p := path{bytes: d.Bits() / 8}
	if d == compute {
		return p, nil
	}
	var err error
	if p.in, err = c.Kernel(kernelTypes[d] + "_to_" + kernelTypes[compute]); err != nil {
		return path{}, err
	}
	p.out, err = c.Kernel(kernelTypes[compute] + "_to_" + kernelTypes[d])
	return p, err
}

// source is t as an input of a kernel.
func (p path) source(t *tensor.Tensor) bindings.Lane {
	return bindings.Lane{Data: t.Pointer(), Bytes: p.bytes, Via: p.in}
}

// sink is t as the output of a kernel.
func (p path) sink(t *tensor.Tensor) bindings.Lane {
	return bindings.Lane{Data: t.Pointer(), Bytes: p.bytes, Via: p.out}
}

// paramsFor are the parameters of a kernel that computes on elements of type d.
func paramsFor(d tensor.DType, p, q float64) *bindings.Params {
	if d == tensor.F64 {
		return bindings.ParamsOf(p, q)
	}
	return bindings.ParamsOf(float32(p), float32(q))
}

// extentsUnder returns the extents of y and of each input, aligned at the last axis,
// as the broadcasting kernels want them.
func extentsUnder(y tensor.Shape, inputs ...tensor.Shape) ([]int, error) {
	rank := len(y)
	dims := append(make([]int, 0, rank*(1+len(inputs))), y...)
	for _, s := range inputs {
		for axis := range y {
			n := 1
			if k := axis - rank + len(s); k >= 0 {
				n = s[k]
			}
			if n != 1 && n != y[axis] {
				return nil, graph.Mark(graph.ErrShape, "shape %v does not stretch to %v", s, y)
			}
			dims = append(dims, n)
		}
		if len(s) > rank {
			return nil, graph.Mark(graph.ErrShape, "shape %v does not stretch to %v", s, y)
		}
	}
	return dims, nil
}

// sameTypes reports inputs whose element types differ from that of the first, which must be there.
func sameTypes(in []*Value) error {
	for i, v := range in {
		if v != nil && v.DType != in[0].DType {
			return graph.Mark(graph.ErrShape, "inputs 0 and %d have element types %v and %v, which must be equal", i, in[0].DType, v.DType)
		}
	}
	return nil
}

// copyInto copies the elements of x to y of the same type and size, unless they
// are the same memory.
func copyInto(y, x *tensor.Tensor) {
	if y.DType() == tensor.String {
		copy(y.Strings(), x.Strings())
	} else if y.Pointer() != x.Pointer() {
		copy(y.Bytes(), x.Bytes())
	}
}

// overlap reports whether two tensors share memory.
func overlap(a, b *tensor.Tensor) bool {
	p, q := uintptr(a.Pointer()), uintptr(b.Pointer())
	return p < q+uintptr(len(b.Bytes())) && q < p+uintptr(len(a.Bytes()))
}

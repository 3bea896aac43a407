package loom

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// weight adds a tensor of the file to the top graph, also from within a branch.
func (w *lowerer) weight(init *graph.Initializer) string { return w.top.Weight(init) }

// op adds a node of a standard operator with one output.
func (w *lowerer) op(op string, inputs ...string) string { return w.b.Op(op, inputs) }

// cast converts a value to another element type.
func (w *lowerer) cast(x string, to tensor.DType) string {
	return w.b.Op("Cast", []string{x}, graph.IntAttr("to", int64(to.Code())))
}

// concat joins values along an axis.
func (w *lowerer) concat(axis int64, inputs ...string) string {
	return w.b.Op("Concat", inputs, graph.IntAttr("axis", axis))
}

// transpose returns a value with its axes in another order.
func (w *lowerer) transpose(x string, axes ...int64) string {
	return w.b.Op("Transpose", []string{x}, graph.IntsAttr("perm", axes...))
}

// reshape returns a value with other, constant extents.
func (w *lowerer) reshape(x string, dims ...int64) string {
	return w.op("Reshape", x, w.b.Ints(dims...))
}

// slice returns the elements from one index to another along an axis.
func (w *lowerer) slice(x string, from, to, axis int64) string {
	return w.op("Slice", x, w.b.Ints(from), w.b.Ints(to), w.b.Ints(axis))
}

// batch returns the first extent of a value, as a vector.
func (w *lowerer) batch(x flow) string {
	return w.extent(x.name, 0)
}

// withLast returns the extents of a value with the last one replaced by n.
func (w *lowerer) withLast(x flow, n int) string {
	return w.concat(0, w.b.Op("Shape", []string{x.name}, graph.IntAttr("end", -1)), w.b.Ints(int64(n)))
}

// rows returns the first n elements of a value for each item of its batch, as [batch, n]. As in
// Loom, rows follow each other in memory whatever the extents of the value.
func (w *lowerer) rows(x flow, n int) (flow, error) {
	y := flow{x.name, []int{-1, n}}
	have, ok := x.item()
	switch {
	case n <= 0:
		return y, fmt.Errorf("its configuration says that it reads %d numbers of each item", n)
	case ok && have == n && len(x.dims) == 2:
		return y, nil
	case ok && have == n:
		y.name = w.reshape(x.name, -1, int64(n))
		return y, nil
	case ok && have < n:
		return y, fmt.Errorf("it reads %d numbers of each item, and the layer before gives %d", n, have)
	}
	batch := w.batch(x)
	first := w.op("Slice", w.reshape(x.name, -1), w.b.Ints(0), w.op("Mul", batch, w.b.Ints(int64(n))), w.b.Ints(0))
	y.name = w.op("Reshape", first, w.concat(0, batch, w.b.Ints(int64(n))))
	return y, nil
}

// zeros returns float32 zeros with extents computed by the graph.
func (w *lowerer) zeros(shape string) string {
	return w.b.Op("ConstantOfShape", []string{shape})
}

// activate applies an activation.
func (w *lowerer) activate(a Activation, x string) string {
	switch a {
	case ReLU:
		return w.op("Relu", x)
	case SiLU:
		return w.op("Mul", x, w.op("Sigmoid", x))
	case GELU:
		return w.b.Op("Gelu", []string{x}, graph.StringAttr("approximate", "tanh"))
	case Tanh:
		return w.op("Tanh", x)
	case Sigmoid:
		return w.op("Sigmoid", x)
	case LeakyReLU:
		return w.b.Op("LeakyRelu", []string{x}, graph.FloatAttr("alpha", 0.01))
	case ReLU2:
		r := w.op("Relu", x)
		return w.op("Mul", r, r)
	}
	return x
}

// store returns the weights of a layer as float32, the numbers that Loom computes with.
func (w *lowerer) store(l *Layer, path string) (string, error) {
	init, err := w.storeOf(l, path)
	if err != nil {
		return "", err
	}
	return w.restored(init)
}

// storeOf returns the weights of a layer as the file has them.
func (w *lowerer) storeOf(l *Layer, path string) (*graph.Initializer, error) {
	shape, err := l.Shape()
	if err != nil {
		return nil, err
	}
	init := w.inits[path]
	if init == nil || shape == nil {
		return nil, fmt.Errorf("it has no weights, and cannot run without them")
	}
	if !init.Tensor.Shape().Equal(shape) {
		return nil, fmt.Errorf("its weights are %v, and it takes %v", init.Tensor.Shape(), shape)
	}
	return init, nil
}

func ints(s tensor.Shape) []int64 {
	list := make([]int64, len(s))
	for i, n := range s {
		list[i] = int64(n)
	}
	return list
}

// restored returns an initializer as float32: the numbers of its codes times their scale.
func (w *lowerer) restored(init *graph.Initializer) (string, error) {
	if init.Tensor.DType() == tensor.F4E2M1 && w.portable {
		return w.restoredFP4(init)
	}
	name := w.weight(init)
	switch init.Tensor.DType() {
	case tensor.F32:
		return name, nil
	case tensor.F64, tensor.F16, tensor.BF16:
		return w.cast(name, tensor.F32), nil
	}
	scale, err := scaleOf(init)
	if err != nil {
		return "", err
	}
	switch init.Tensor.DType() {
	case tensor.I8, tensor.U8, tensor.I16, tensor.U16, tensor.I4, tensor.U4, tensor.F8E4M3FN, tensor.F8E5M2, tensor.F4E2M1:
		return w.op("DequantizeLinear", name, w.b.Float(scale)), nil
	}
	return w.op("Mul", w.cast(name, tensor.F32), w.b.Float(scale)), nil
}

// restoredFP4 is restored through int8, which other programs compute with.
func (w *lowerer) restoredFP4(init *graph.Initializer) (string, error) {
	scale, err := scaleOf(init)
	if err != nil {
		return "", err
	}
	name := init.Name
	if w.shares[name+".bytes"] == nil {
		w.shares[name+".bytes"] = &graph.Initializer{Name: name, Tensor: wider(init.Tensor)}
	}
	return w.op("DequantizeLinear", w.weight(w.shares[name+".bytes"]), w.b.Float(scale/2)), nil
}

// parts returns the matrices and vectors of a store that holds several, by name. Each becomes an
// initializer that shares the elements of the store.
func (w *lowerer) parts(l *Layer, path string) (map[string]string, error) {
	list, err := l.Parts()
	if err != nil {
		return nil, err
	}
	all, err := w.storeOf(l, path)
	if err != nil {
		return nil, err
	}
	parts := map[string]string{}
	for _, p := range list {
		if parts[p.Name], err = w.restored(w.part(all, p)); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// part returns a part of a store.
func (w *lowerer) part(all *graph.Initializer, p Part) *graph.Initializer {
	name := all.Name + "." + p.Name
	if w.shares[name] == nil {
		w.shares[name] = &graph.Initializer{Name: name, Tensor: stretch(all.Tensor, p.Offset, p.Shape), Meta: all.Meta}
	}
	return w.shares[name]
}

// stretch returns consecutive elements of a tensor. It is a view if they begin and end at a byte.
func stretch(t *tensor.Tensor, from int, shape tensor.Shape) *tensor.Tensor {
	n, bits := shape.Len(), t.DType().Bits()
	if from*bits%8 == 0 && n*bits%8 == 0 {
		if s, err := tensor.FromBytes(t.DType(), shape, t.Bytes()[from*bits/8:(from+n)*bits/8]); err == nil {
			return s
		}
	}
	s, layout := tensor.New(t.DType(), shape...), t.DType().Layout()
	for i := range n {
		layout.Set(s.Bytes(), i, layout.At(t.Bytes(), from+i))
	}
	return s
}

// linear multiplies rows by a matrix [out, in] and adds bias, unless bias is "".
func (w *lowerer) linear(x, matrix, bias string) string {
	in := []string{x, matrix}
	if bias != "" {
		in = append(in, bias)
	}
	return w.b.Op("Gemm", in, graph.IntAttr("transB", 1))
}

// f64s returns a constant vector of float64.
func (w *lowerer) f64s(v []float64) string {
	t := tensor.New(tensor.F64, len(v))
	copy(tensor.View[float64](t), v)
	return w.b.Constant(t)
}

// finite returns an error if a number of a layer's configuration is NaN or infinite.
func finite(key string, v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("its %s is %v; it must be a finite number", key, v)
	}
	return nil
}

package topologies

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// operators lists operators alone, on 2 MB.
func operators() []Topology {
	var list []Topology
	add := func(name string, rows, cols int, share float64, op func(b *builder, x string) (y string, shape []int)) {
		list = append(list, Topology{Name: name + fmt.Sprintf("_%dx%d", rows, cols), Kind: Operator, Share: share,
			Build: func() *graph.Model {
				b := newBuilder(name)
				y, shape := op(b, b.input("x", tensor.F32, rows, cols))
				b.output(y, shape...)
				return b.model()
			}})
	}
	const rows, cols = 512, 1024
	for _, op := range []string{"Relu", "Sigmoid", "Exp", "Log", "Tanh", "Erf", "Sqrt", "Sin", "Cos", "Sign", "Softplus",
		"HardSwish", "Softmax"} {
		add(op, rows, cols, 0, func(b *builder, x string) (string, []int) { return b.node(op, nil, x), []int{rows, cols} })
	}
	add("Add", rows, cols, 0, func(b *builder, x string) (string, []int) {
		return b.node("Add", nil, x, b.input("y", tensor.F32, rows, cols)), []int{rows, cols}
	})
	add("AddRow", rows, cols, 0, func(b *builder, x string) (string, []int) {
		return b.node("Add", nil, x, b.weight(1, cols)), []int{rows, cols}
	})
	add("Pow", rows, cols, 0, func(b *builder, x string) (string, []int) {
		return b.node("Pow", nil, x, b.scalar(1.7)), []int{rows, cols}
	})
	add("Where", rows, cols, 0, func(b *builder, x string) (string, []int) {
		less := b.node("Less", nil, x, b.scalar(0.5))
		return b.node("Where", nil, less, x, b.input("y", tensor.F32, rows, cols)), []int{rows, cols}
	})
	add("LayerNorm", rows, cols, 0, func(b *builder, x string) (string, []int) {
		return b.node("LayerNormalization", nil, x, b.weight(1, cols), b.weight(100, cols)), []int{rows, cols}
	})
	for _, axis := range []int64{0, 1} {
		for _, op := range []string{"ReduceMean", "ReduceMax", "Softmax"} {
			shape := []int{rows, cols}
			attr := integer("axis", axis)
			if op != "Softmax" {
				shape[axis], attr = 1, ints("axes", axis)
			}
			add(fmt.Sprintf("%s%d", op, axis), rows, cols, 0, func(b *builder, x string) (string, []int) {
				return b.node(op, []*graph.Attr{attr}, x), shape
			})
		}
	}
	add("Transpose", rows, cols, 0, func(b *builder, x string) (string, []int) {
		return b.node("Transpose", []*graph.Attr{ints("perm", 1, 0)}, x), []int{cols, rows}
	})
	add("Gather", rows, cols, 0, func(b *builder, x string) (string, []int) {
		v := make([]int64, rows)
		for i := range v {
			v[i] = int64(i*7) % rows
		}
		return b.node("Gather", nil, x, b.ints(v...)), []int{rows, cols}
	})
	for axis := range int64(2) {
		add(fmt.Sprint("CumSum", axis), rows, cols, 0, func(b *builder, x string) (string, []int) {
			return b.node("CumSum", nil, x, b.ints(axis)), []int{rows, cols}
		})
		shape := []int{rows, cols}
		shape[axis] = 1
		add(fmt.Sprint("ArgMax", axis), rows, cols, 0, func(b *builder, x string) (string, []int) {
			place := b.node("ArgMax", []*graph.Attr{integer("axis", axis)}, x)
			return b.node("Cast", []*graph.Attr{integer("to", 1)}, place), shape
		})
	}
	add("TopK", rows, cols, 0, func(b *builder, x string) (string, []int) {
		return b.nodes("TopK", 2, nil, x, b.ints(10))[0], []int{rows, 10}
	})
	add("ConvTranspose", 512, 512, 0, func(b *builder, x string) (string, []int) {
		x = b.node("Reshape", nil, x, b.ints(1, 64, 64, 64))
		attrs := []*graph.Attr{ints("kernel_shape", 4, 4), ints("strides", 2, 2), ints("pads", 1, 1, 1, 1)}
		return b.node("ConvTranspose", attrs, x, b.weight(256, 64, 32, 4, 4), b.weight(100, 32)), []int{1, 32, 128, 128}
	})
	add("ConvGroups", 512, 512, 0, func(b *builder, x string) (string, []int) {
		return b.conv(b.node("Reshape", nil, x, b.ints(1, 256, 32, 32)), 256, 256, 3, 1, 32), []int{1, 256, 32, 32}
	})
	add("Concat", rows, cols, 0, func(b *builder, x string) (string, []int) {
		return b.concat(x, b.input("y", tensor.F32, rows, cols)), []int{rows, 2 * cols}
	})
	add("Pad", rows, cols, 0, func(b *builder, x string) (string, []int) {
		return b.node("Pad", nil, x, b.ints(2, 8, 2, 8)), []int{rows + 4, cols + 16}
	})
	add("Slice", rows, cols, 0, func(b *builder, x string) (string, []int) {
		return b.node("Slice", nil, x, b.ints(1, 4), b.ints(rows-1, cols-4)), []int{rows - 2, cols - 8}
	})
	add("Resize", 512, 256, 0, func(b *builder, x string) (string, []int) {
		x = b.node("Reshape", nil, x, b.ints(1, 8, 128, 128))
		mode := &graph.Attr{Name: "mode", Kind: graph.AttrString, Str: []byte("linear")}
		return b.node("Resize", []*graph.Attr{mode}, x, "", "", b.ints(1, 8, 256, 256)), []int{1, 8, 256, 256}
	})
	return list
}

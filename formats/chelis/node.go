package chelis

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// node is a node during its translation. After a refusal its methods return meaningless values.
type node struct {
	*emitter
	*graph.Node
	in, out []*Fact
	args    []string // expressions of the inputs; empty for a missing one
	err     error    // the first refusal
}

// refuse records the reason why the node cannot be emitted.
func (n *node) refuse(kind error, format string, args ...any) string {
	if n.err == nil {
		n.err = fmt.Errorf("%w: %s", kind, fmt.Sprintf(format, args...))
	}
	return ""
}

// filled refuses results and computed inputs without elements, because no operation of Chelis is
// known to be defined on them.
func (n *node) filled() {
	for _, f := range append(slices.Clone(n.in), n.out...) {
		if f != nil && f.Const == nil && slices.ContainsFunc(f.Dims, func(d graph.Dim) bool { return d.Is(0) }) {
			n.refuse(ErrUnsupportedShape, "extents %v leave no elements", f.Dims)
		}
	}
}

func (n *node) has(i int) bool { return i < len(n.in) && n.in[i] != nil }

func (n *node) int(name string, value int) int {
	if a := n.Attr(name); a != nil {
		return int(a.Int)
	}
	return value
}

func (n *node) float(name string, value float64) float64 {
	if a := n.Attr(name); a != nil {
		return float64(a.Float)
	}
	return value
}

func (n *node) ints(name string) []int {
	a := n.Attr(name)
	if a == nil {
		return nil
	}
	list := make([]int, len(a.Ints))
	for i, v := range a.Ints {
		list[i] = int(v)
	}
	return list
}

func (n *node) text(name, value string) string {
	if a := n.Attr(name); a != nil {
		return string(a.Str)
	}
	return value
}

// constants returns the elements of a constant integer input.
func (n *node) constants(i int) []int {
	if !n.has(i) {
		return nil
	}
	t := n.in[i].Const
	if t == nil || t.DType() != tensor.I64 && t.DType() != tensor.I32 {
		n.refuse(ErrUnsupportedShape, "input %d is computed, and must be a constant", i)
		return nil
	}
	t = t.Aligned()
	list := make([]int, t.Len())
	for k := range list {
		if t.DType() == tensor.I64 {
			list[k] = int(tensor.View[int64](t)[k])
		} else {
			list[k] = int(tensor.View[int32](t)[k])
		}
	}
	return list
}

// scalar returns the single element of a constant input.
func (n *node) scalar(i int) (float64, bool) {
	if !n.has(i) || n.in[i].Const == nil || n.in[i].Const.Len() != 1 {
		return 0, false
	}
	return tensor.Numbers(n.in[i].Const)(0), true
}

// axis returns axis k counted from the front.
func (n *node) axis(k, rank int) int {
	if k < 0 {
		k += rank
	}
	if k < 0 || k >= rank {
		n.refuse(ErrUnsupportedShape, "there is no axis %d of %d", k, rank)
		return 0
	}
	return k
}

// size returns the expression of an extent.
func (n *node) size(d graph.Dim) string {
	if v, ok := d.Value(); ok {
		return fmt.Sprintf("%di64", v)
	}
	if x := n.extents[d.Key()]; x != "" {
		return x
	}
	kind := ErrUnsupportedShape
	if d.IsUnknown() {
		kind = ErrInternalInconsistency
	}
	return n.refuse(kind, "an axis has the extent %v, and only numbers and names of axes of inputs can be written", d)
}

func (n *node) sizes(dims graph.Dims) string {
	parts := make([]string, len(dims))
	for i, d := range dims {
		parts[i] = n.size(d)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// extent returns an extent that must be a number.
func (n *node) extent(d graph.Dim) int {
	v, ok := d.Value()
	if !ok {
		n.refuse(ErrUnsupportedShape, "an axis has the extent %v, and must have a number", d)
	}
	return v
}

func (n *node) reshape(x string, from, to graph.Dims) string {
	if from.Same(to) && from != nil {
		return x
	}
	return call("reshape", x, n.sizes(to))
}

// spread repeats x to other extents, as ONNX broadcasts.
func (n *node) spread(x string, from, to graph.Dims) string {
	ones := slices.Repeat(graph.Dims{graph.Known(1)}, max(0, len(to)-len(from)))
	have := append(ones, from...)
	x = n.reshape(x, from, have)
	for k := range to {
		if !have[k].Is(1) || to[k].Is(1) {
			if !have[k].Same(to[k]) {
				n.refuse(ErrUnsupportedShape, "extents %v are not known to fit %v", from, to)
			}
			continue
		}
		x = call("expand", x, axisOf(k), n.size(to[k]))
		have = slices.Clone(have)
		have[k] = to[k]
		x = call("reshape", x, n.sizes(have))
	}
	return x
}

// arg returns input i with the extents of output 0.
func (n *node) arg(i int) string { return n.spread(n.args[i], n.in[i].Dims, n.out[0].Dims) }

// fill returns a tensor with every element equal to v.
func (n *node) fill(d tensor.DType, v float64, dims graph.Dims) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return n.refuse(ErrWeightConversion, "an attribute is %v, for which Chelis has no literal", v)
	}
	return n.repeat(number(d, v), dims)
}

// repeat returns a tensor of one literal.
func (n *node) repeat(literal string, dims graph.Dims) string {
	one := "to_tensor([" + literal + "])"
	if shape, ok := dims.Concrete(); ok {
		return call("reshape", call("expand", one, "0i32", fmt.Sprintf("%di64", shape.Len())), numbers(shape))
	}
	return n.spread(one, graph.Dims{graph.Known(1)}, dims)
}

// number returns a tensor of one number with the type and extents of input 0.
func (n *node) number(v float64) string { return n.fill(n.in[0].DType, v, n.in[0].Dims) }

// let binds an expression that is used more than once.
func (n *node) let(word, expr string) string {
	if plain.MatchString(expr) || n.err != nil {
		return expr
	}
	name := ""
	if len(n.Outputs) > 0 {
		name = n.Outputs[0]
	}
	return n.bind(name+"_"+word, expr)
}

func axisOf(k int) string { return fmt.Sprintf("%di32", k) }

func call(name string, args ...string) string { return name + "(" + strings.Join(args, ", ") + ")" }

// reduce applies a reduction to axes, and removes them.
func reduce(name, x string, axes []int) string {
	axes = slices.Clone(axes)
	slices.Sort(axes)
	for _, k := range slices.Backward(axes) {
		x = call(name, x, axisOf(k))
	}
	return x
}

// kept returns dims with 1 on each of axes.
func kept(dims graph.Dims, axes []int) graph.Dims {
	dims = slices.Clone(dims)
	for _, k := range axes {
		dims[k] = graph.Known(1)
	}
	return dims
}

// across returns the reduction of x, repeated to its original extents.
func (n *node) across(name, x string, dims graph.Dims, axes []int) string {
	small := kept(dims, axes)
	return n.spread(call("reshape", reduce(name, x, axes), n.sizes(small)), small, dims)
}

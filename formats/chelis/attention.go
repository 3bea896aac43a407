package chelis

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// headed returns input i with the extents batch, heads, positions and size of a head.
func (n *node) headed(i int, word, heads string) (string, graph.Dims) {
	dims := n.in[i].Dims
	if len(dims) == 4 {
		return n.args[i], dims
	}
	count := n.int(heads, 0)
	if len(dims) != 3 || count < 1 || n.extent(dims[2])%count != 0 {
		n.refuse(ErrUnsupportedShape, "%d heads of %v", count, dims)
		return "", nil
	}
	size := graph.Known(n.extent(dims[2]) / count)
	x := n.reshape(n.args[i], dims, graph.Dims{dims[0], dims[1], graph.Known(count), size})
	return n.let(word, permute(x, []int{0, 2, 1, 3})), graph.Dims{dims[0], graph.Known(count), dims[1], size}
}

// shared repeats every head of x for the query heads that share it.
func (n *node) shared(x string, dims graph.Dims, heads int) (string, graph.Dims) {
	have := n.extent(dims[1])
	if n.err != nil || have == heads {
		return x, dims
	}
	if have < 1 || heads%have != 0 {
		return n.refuse(ErrUnsupportedShape, "%d heads share %d", heads, have), dims
	}
	one := graph.Dims{dims[0], dims[1], graph.Known(1), dims[2], dims[3]}
	wide := slices.Clone(one)
	wide[2] = graph.Known(heads / have)
	all := slices.Clone(dims)
	all[1] = graph.Known(heads)
	return n.reshape(n.spread(n.reshape(x, dims, one), one, wide), wide, all), all
}

// causal masks scores so that a query sees keys up to its own position.
func (n *node) causal(scores string, dims graph.Dims) string {
	rows, columns := n.extent(dims[2]), n.extent(dims[3])
	if n.err != nil || columns > 0 && rows > n.o.MaxElements/columns {
		return n.refuse(ErrUnsupportedShape, "a causal mask of %v by %v elements, and at most %d are written (--max-elements)", dims[2], dims[3], n.o.MaxElements)
	}
	mask := tensor.New(tensor.Bool, rows, columns)
	for r := range rows {
		for c := range min(r+1, columns) {
			mask.Bytes()[r*columns+c] = 1
		}
	}
	name := n.Outputs[0] + "_causal"
	n.define(name, mask)
	d := n.in[0].DType
	return call("where", n.spread(n.code[name], dims[2:], dims), scores, n.fill(d, lowest(d), dims))
}

// attention weighs values by the softmax of the products of queries and keys.
func attention(n *node) string {
	switch {
	case n.has(4) || n.has(5):
		return n.refuse(ErrUnsupportedOperator, "unsupported operator: Attention with past keys and values")
	case n.has(3) && n.in[3].DType != n.in[0].DType:
		return n.refuse(ErrUnsupportedDtype, "a mask of %v, and one that is added can be emitted", n.in[3].DType)
	case n.float("softcap", 0) != 0 || n.int("softmax_precision", 1) != 1:
		return n.refuse(ErrUnsupportedOperator, "unsupported operator: Attention with softcap or softmax_precision")
	case n.in[0].DType != tensor.F32 || n.in[1].DType != tensor.F32 || n.in[2].DType != tensor.F32:
		return n.refuse(ErrUnsupportedDtype, "Attention over %v, %v and %v, and that over f32 can be emitted", n.in[0].DType, n.in[1].DType, n.in[2].DType)
	}
	q, dims := n.headed(0, "query", "q_num_heads")
	k, keys := n.headed(1, "key", "kv_num_heads")
	v, values := n.headed(2, "value", "kv_num_heads")
	if n.err != nil {
		return ""
	}
	heads := n.extent(dims[1])
	k, keys = n.shared(k, keys, heads)
	v, values = n.shared(v, values, heads)
	grid := graph.Dims{dims[0], dims[1], dims[2], keys[2]}
	scale := n.float("scale", 0)
	if n.Attr("scale") == nil {
		scale = 1 / math.Sqrt(float64(n.extent(dims[3])))
	}
	if n.err != nil || math.IsInf(scale, 0) || math.IsNaN(scale) {
		return n.refuse(ErrUnsupportedShape, "the scale is %v", scale)
	}
	scores := call("mul", call("matmul", q, permute(k, []int{0, 1, 3, 2})), n.fill(n.in[0].DType, scale, grid))
	if n.int("is_causal", 0) != 0 {
		scores = n.causal(scores, grid)
	}
	if n.has(3) {
		scores = call("add", scores, n.spread(n.args[3], n.in[3].Dims, grid))
	}
	y := call("matmul", call("softmax", scores, "3i32"), v)
	if len(n.in[0].Dims) == 4 {
		return y
	}
	wide := graph.Dims{dims[0], dims[2], dims[1], values[3]}
	return n.reshape(permute(y, []int{0, 2, 1, 3}), wide, n.out[0].Dims)
}

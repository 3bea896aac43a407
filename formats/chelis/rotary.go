package chelis

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// heads returns the input with an axis of heads, and the index of the axis of positions. A 3-axis
// input gets its heads before the last axis.
func (n *node) heads() (x string, dims graph.Dims, positions int) {
	dims = n.in[0].Dims
	if len(dims) == 4 {
		return n.args[0], dims, 2
	}
	count := n.int("num_heads", 0)
	if len(dims) != 3 || count < 1 || n.extent(dims[2])%count != 0 {
		n.refuse(ErrUnsupportedShape, "%d heads of %v", count, dims)
		return "", nil, 0
	}
	wide := graph.Dims{dims[0], dims[1], graph.Known(count), graph.Known(n.extent(dims[2]) / count)}
	return n.reshape(n.args[0], dims, wide), wide, 1
}

// angles returns rows of a cache of cosines or sines, one per position, for every head.
func (n *node) angles(i, positions int, dims graph.Dims) string {
	x, from := n.args[i], n.in[i].Dims
	if n.has(3) {
		index := n.in[3].Dims
		x = call("gather", x, n.reshape(n.args[3], index, graph.Dims{index.Len()}), "0i32")
		from = graph.Dims{index.Len(), from[len(from)-1]}
	}
	one := slices.Clone(dims)
	one[3-positions] = graph.Known(1)
	return n.let([]string{"", "cosine", "sine"}[i], n.spread(n.reshape(x, from, one), one, dims))
}

// rotaryEmbedding rotates pairs of elements by the angles of their positions.
func rotaryEmbedding(n *node) string {
	x, dims, positions := n.heads()
	if n.err != nil {
		return ""
	}
	size := n.extent(dims[3])
	rotated := n.int("rotary_embedding_dim", 0)
	if rotated == 0 {
		rotated = size
	}
	if n.err != nil || rotated < 2 || rotated > size || rotated%2 != 0 {
		return n.refuse(ErrUnsupportedShape, "%d of %d elements are rotated", rotated, size)
	}
	x = n.let("heads", x)
	half := slices.Clone(dims)
	half[3] = graph.Known(rotated / 2)
	cos, sin := n.angles(1, positions, half), n.angles(2, positions, half)
	interleaved := n.int("interleaved", 0) != 0
	part := func(word string, k int) string {
		if !interleaved {
			return n.let(word, n.cut(x, dims, 3, k*rotated/2, (k+1)*rotated/2))
		}
		return n.let(word, call("stride", n.cut(x, dims, 3, k, rotated-1+k), "1i64", "1i64", "1i64", "2i64"))
	}
	a, b := part("first", 0), part("second", 1)
	a, b = call("sub", call("mul", cos, a), call("mul", sin, b)), call("add", call("mul", sin, a), call("mul", cos, b))
	list, axis := "["+a+", "+b, 3
	if interleaved {
		pair := append(slices.Clone(half), graph.Known(1))
		list, axis = "["+n.reshape(a, half, pair)+", "+n.reshape(b, half, pair), 4
	}
	all := slices.Clone(dims)
	all[3] = graph.Known(rotated)
	y := call("concat", list+"]", axisOf(axis))
	if interleaved {
		y = call("reshape", y, n.sizes(all))
	}
	if rotated < size {
		y = call("concat", "["+y+", "+n.cut(x, dims, 3, rotated, size)+"]", "3i32")
	}
	return n.reshape(y, dims, n.out[0].Dims)
}

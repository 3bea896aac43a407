package chelis

import "github.com/nacre-ml/nacre/runtime/graph"

// rows returns the extents and the axis of a softmax as of version 13. Before that version, the
// axes before and from the given one are merged to two, unless it is the last.
func (n *node) rows() (graph.Dims, int) {
	dims := n.in[0].Dims
	if n.Version >= 13 {
		return dims, n.axis(n.int("axis", -1), len(dims))
	}
	axis := n.axis(n.int("axis", 1), len(dims))
	if axis == len(dims)-1 {
		return dims, axis
	}
	return graph.Dims{dims[:axis].Len(), dims[axis:].Len()}, 1
}

func softmax(n *node) string {
	dims, axis := n.rows()
	x := n.reshape(n.args[0], n.in[0].Dims, dims)
	return n.reshape(call("softmax", x, axisOf(axis)), dims, n.in[0].Dims)
}

func logSoftmax(n *node) string {
	dims, axis := n.rows()
	x := n.let("rows", n.reshape(n.args[0], n.in[0].Dims, dims))
	d := n.let("shifted", call("sub", x, n.across("max_reduce", x, dims, []int{axis})))
	small := kept(dims, []int{axis})
	sum := call("log", call("reshape", call("sum", call("exp", d), axisOf(axis)), n.sizes(small)))
	return n.reshape(call("sub", d, n.spread(sum, small, dims)), dims, n.in[0].Dims)
}

func matmul(n *node) string {
	if !isFloat(n.in[0].DType) {
		return n.refuse(ErrUnsupportedDtype, "a product of integers; Chelis has only products of floats")
	}
	a, b := n.in[0].Dims, n.in[1].Dims
	x, y := n.args[0], n.args[1]
	if len(a) == 1 {
		a = graph.Dims{graph.Known(1), a[0]}
		x = call("reshape", x, n.sizes(a))
	}
	if len(b) == 1 {
		b = graph.Dims{b[0], graph.Known(1)}
		y = call("reshape", y, n.sizes(b))
	}
	ra, rb := len(a), len(b)
	batch := a[:ra-2]
	if rb > ra {
		batch = b[:rb-2]
	}
	wide := append(graph.Dims{}, batch...)
	for k := range wide {
		for _, d := range []graph.Dims{a, b} {
			if i := k - len(wide) + len(d) - 2; i >= 0 && !d[i].Is(1) {
				wide[k] = d[i]
			}
		}
	}
	join := func(d graph.Dims) graph.Dims { return append(append(graph.Dims{}, wide...), d[len(d)-2:]...) }
	z := call("matmul", n.spread(x, a, join(a)), n.spread(y, b, join(b)))
	return n.reshape(z, append(append(graph.Dims{}, wide...), a[ra-2], b[rb-1]), n.out[0].Dims)
}

func gemm(n *node) string {
	if !isFloat(n.in[0].DType) {
		return n.refuse(ErrUnsupportedDtype, "a product of integers; Chelis has only products of floats")
	}
	a, b := n.args[0], n.args[1]
	if n.int("transA", 0) != 0 {
		a = permute(a, []int{1, 0})
	}
	if n.int("transB", 0) != 0 {
		b = permute(b, []int{1, 0})
	}
	scaled := func(x string, factor float64) string {
		if factor == 1 {
			return x
		}
		return call("mul", x, n.fill(n.out[0].DType, factor, n.out[0].Dims))
	}
	y := scaled(call("matmul", a, b), n.float("alpha", 1))
	if !n.has(2) || n.float("beta", 1) == 0 {
		return y
	}
	return call("add", y, scaled(n.arg(2), n.float("beta", 1)))
}

// channels moves a vector to axis 1 and repeats it along the other axes.
func (n *node) channels(x string, from, dims graph.Dims) string {
	to := kept(dims, nil)
	for k := range to {
		to[k] = graph.Known(1)
	}
	to[1] = dims[1]
	return n.spread(n.reshape(x, from, to), to, dims)
}

func batchNorm(n *node) string {
	if n.int("training_mode", 0) != 0 {
		return n.refuse(ErrUnsupportedOperator, "unsupported operator: BatchNormalization with training_mode")
	}
	for i, f := range n.in[1:] {
		if f.DType != n.in[0].DType {
			return n.refuse(ErrUnsupportedDtype, "input %d is %v and input 0 %v; all inputs must be of one type", i+1, f.DType, n.in[0].DType)
		}
	}
	dims := n.in[0].Dims
	if len(dims) < 2 {
		return n.refuse(ErrUnsupportedShape, "the input has %d axes, and two or more are wanted", len(dims))
	}
	c := n.in[1].Dims
	eps := n.fill(n.in[4].DType, n.float("epsilon", 1e-5), c)
	scale := n.let("scale", call("div", n.args[1], call("sqrt", call("add", n.args[4], eps))))
	shift := n.let("shift", call("sub", n.args[2], call("mul", n.args[3], scale)))
	return call("add", call("mul", n.args[0], n.channels(scale, c, dims)), n.channels(shift, c, dims))
}

// normal subtracts the mean over axes and divides by the standard deviation.
func (n *node) normal(x string, dims graph.Dims, axes []int, eps float64) string {
	d := n.let("centred", call("sub", x, n.across("mean", x, dims, axes)))
	v := n.across("mean", call("mul", d, d), dims, axes)
	return call("div", d, call("sqrt", call("add", v, n.fill(n.in[0].DType, eps, dims))))
}

func between(from, to int) []int {
	var list []int
	for k := from; k < to; k++ {
		list = append(list, k)
	}
	return list
}

func layerNorm(n *node) string {
	dims := n.in[0].Dims
	y := n.normal(n.args[0], dims, between(n.axis(n.int("axis", -1), len(dims)), len(dims)), n.float("epsilon", float64(float32(1e-5))))
	y = call("mul", y, n.arg(1))
	if n.has(2) {
		y = call("add", y, n.arg(2))
	}
	return y
}

func instanceNorm(n *node) string {
	dims := n.in[0].Dims
	y := n.normal(n.args[0], dims, between(2, len(dims)), n.float("epsilon", float64(float32(1e-5))))
	return call("add", call("mul", y, n.channels(n.args[1], n.in[1].Dims, dims)), n.channels(n.args[2], n.in[2].Dims, dims))
}

func groupNorm(n *node) string {
	dims := n.in[0].Dims
	groups := n.int("num_groups", 1)
	if groups < 1 || len(dims) < 2 {
		return n.refuse(ErrUnsupportedShape, "%d groups of %d axes", groups, len(dims))
	}
	rest := graph.Known(1)
	for _, d := range dims[1:] {
		rest = rest.Mul(d)
	}
	grouped := graph.Dims{dims[0], graph.Known(groups), rest.Div(graph.Known(groups))}
	x := n.let("groups", n.reshape(n.args[0], dims, grouped))
	y := n.normal(x, grouped, []int{2}, n.float("epsilon", float64(float32(1e-5))))
	affine := func(dims graph.Dims) {
		y = call("add", call("mul", y, n.channels(n.args[1], n.in[1].Dims, dims)), n.channels(n.args[2], n.in[2].Dims, dims))
	}
	if n.Version < 21 {
		affine(grouped)
		return n.reshape(y, grouped, dims)
	}
	y = n.reshape(y, grouped, dims)
	affine(dims)
	return y
}

func globalPool(name string) func(n *node) string {
	return func(n *node) string {
		return call("reshape", reduce(name, n.args[0], between(2, len(n.in[0].Dims))), n.sizes(n.out[0].Dims))
	}
}

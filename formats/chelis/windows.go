package chelis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// window describes how a kernel moves over the spatial axes.
type window struct{ kernel, strides, before, after []int }

// window reads the attributes of a node with a kernel of these extents.
func (n *node) window(kernel []int) window {
	in, out := n.in[0].Dims, n.out[0].Dims
	rank := len(in) - 2
	w := window{kernel: kernel, strides: n.ints("strides")}
	if w.strides == nil {
		w.strides = slices.Repeat([]int{1}, rank)
	}
	pads := n.ints("pads")
	if pads == nil {
		pads = make([]int, 2*rank)
	}
	if rank < 1 || len(kernel) != rank || len(w.strides) != rank || len(pads) != 2*rank {
		n.refuse(ErrUnsupportedShape, "kernel %v, strides %v and pads %v over %d axes", kernel, w.strides, pads, rank)
		return w
	}
	auto := n.text("auto_pad", "NOTSET")
	for k := range rank {
		size, results := n.extent(in[k+2]), n.extent(out[k+2])
		before, after := pads[k], pads[rank+k]
		total := max(0, (results-1)*w.strides[k]+kernel[k]-size)
		switch {
		case auto == "SAME_UPPER":
			before, after = total/2, total-total/2
		case auto == "SAME_LOWER":
			before, after = total-total/2, total/2
		case auto == "VALID":
			before, after = 0, 0
		case n.int("ceil_mode", 0) != 0:
			after = max(0, (results-1)*w.strides[k]+kernel[k]-size-before)
		}
		if n.err == nil && (size+before+after-kernel[k])/w.strides[k]+1 != results {
			n.refuse(ErrUnsupportedShape, "axis %d of %d elements with pads %v does not give %d windows", k+2, size, pads, results)
		}
		w.before, w.after = append(w.before, before), append(w.after, after)
	}
	return w
}

func (w window) padded() bool { return slices.Max(w.before)+slices.Max(w.after) > 0 }

func pairs(open, end string, before, after []int) string {
	parts := make([]string, len(before))
	for k := range before {
		parts[k] = fmt.Sprintf("%s%di64, %di64%s", open, before[k], after[k], end)
	}
	return strings.Join(parts, ", ")
}

// pooling reads the window of a pooling. It refuses dilations.
func (n *node) pooling() window {
	if dilations := n.ints("dilations"); dilations != nil && slices.Max(dilations) > 1 {
		n.refuse(ErrUnsupportedShape, "dilations %v", dilations)
	}
	return n.window(n.ints("kernel_shape"))
}

// border pads the spatial axes with a number.
func (n *node) border(x string, w window, v float64) string {
	if !w.padded() {
		return x
	}
	zero := []int{0, 0}
	return call("pad", x, "["+pairs("[", "]", append(zero, w.before...), append(zero, w.after...))+"]", number(n.in[0].DType, v))
}

func maxPool(n *node) string {
	w := n.pooling()
	if n.err != nil {
		return ""
	}
	if !isFloat(n.in[0].DType) && w.padded() || n.int("storage_order", 0) != 0 {
		return n.refuse(ErrUnsupportedShape, "a border of integers or storage_order")
	}
	return call("reduce_window_max", n.border(n.args[0], w, lowest(n.in[0].DType)), numbers(w.kernel), numbers(w.strides))
}

func averagePool(n *node) string {
	w := n.pooling()
	if n.err != nil {
		return ""
	}
	x := n.border(n.args[0], w, 0)
	included := n.int("count_include_pad", 0) != 0
	past := window{before: make([]int, len(w.before)), after: make([]int, len(w.after))}
	if included {
		past.after = n.past(w)
	}
	if !w.padded() || included && !past.padded() {
		return call("reduce_window_mean", x, numbers(w.kernel), numbers(w.strides))
	}
	// Elements of the border count if pads are included. Elements past it never count.
	counted := append(graph.Dims{graph.Known(1), graph.Known(1)}, n.in[0].Dims[2:]...)
	border := w
	if included {
		for k := range w.before {
			counted[k+2] = graph.Known(n.extent(counted[k+2]) + w.before[k] + w.after[k] - past.after[k])
		}
		border = past
	}
	ones := n.border(n.fill(n.in[0].DType, 1, counted), border, 0)
	counts := call("reduce_window_sum", ones, numbers(w.kernel), numbers(w.strides))
	results := append(graph.Dims{graph.Known(1), graph.Known(1)}, n.out[0].Dims[2:]...)
	return call("div", call("reduce_window_sum", x, numbers(w.kernel), numbers(w.strides)), n.spread(counts, results, n.out[0].Dims))
}

// past returns the width that ceil_mode adds to the end of the border beyond pads.
func (n *node) past(w window) []int {
	list := slices.Clone(w.after)
	pads := n.ints("pads")
	for k := range list {
		switch {
		case n.text("auto_pad", "NOTSET") != "NOTSET":
			list[k] = 0
		case pads != nil:
			list[k] = max(0, list[k]-pads[len(w.after)+k])
		}
	}
	return list
}

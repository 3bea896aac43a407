package chelis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// lowest returns the least number of a type, the start of a maximum.
func lowest(d tensor.DType) float64 {
	low, _ := elements.Bounds[float64](d)
	return low
}

// widest bounds groups, and extents that are written out element by element.
const widest = 1 << 12

// images returns the groups and dilations of a convolution. It refuses all but images (NCHW) with a
// known number of channels.
func (n *node) images() (groups int, dilations []int) {
	groups, dilations = n.int("group", 1), n.ints("dilations")
	if dilations == nil {
		dilations = []int{1, 1}
	}
	x, k := n.in[0].Dims, n.in[1].Dims
	switch {
	case len(x) != 4 || len(k) != 4 || len(dilations) != 2 || slices.Min(dilations) < 1:
		n.refuse(ErrUnsupportedShape, "%d axes with dilations %v, and images (NCHW) can be emitted", len(x), dilations)
	case groups < 1 || n.extent(x[1])%groups != 0 || n.extent(k[0])%groups != 0:
		n.refuse(ErrUnsupportedShape, "%d groups of %v and %v channels", groups, x[1], k[0])
	case groups > widest || slices.Max(dilations) > widest || max(n.extent(k[2]), n.extent(k[3])) > widest:
		n.refuse(ErrUnsupportedShape, "%d groups of kernels %v with dilations %v, and none may be above %d", groups, k, dilations, widest)
	}
	return groups, dilations
}

// apart spreads the elements of the two last axes, with steps - 1 zeros between neighbours.
func (n *node) apart(x string, dims graph.Dims, steps []int) (string, graph.Dims) {
	if slices.Max(steps) == 1 {
		return x, dims
	}
	h, w := n.extent(dims[2]), n.extent(dims[3])
	x = call("reshape", x, n.sizes(graph.Dims{dims[0], dims[1], dims[2], graph.Known(1), dims[3], graph.Known(1)}))
	zero := make([]int, 6)
	x = call("pad", x, "["+pairs("[", "]", zero, []int{0, 0, 0, steps[0] - 1, 0, steps[1] - 1})+"]", number(n.in[0].DType, 0))
	wide := graph.Dims{dims[0], dims[1], graph.Known(h * steps[0]), graph.Known(w * steps[1])}
	x = call("reshape", x, n.sizes(wide))
	for k, size := range []int{(h-1)*steps[0] + 1, (w-1)*steps[1] + 1} {
		x = n.cut(x, wide, k+2, 0, size)
		wide = slices.Clone(wide)
		wide[k+2] = graph.Known(size)
	}
	return x, wide
}

// convolve applies the kernel (OIHW) of each group to the group's channels.
func (n *node) convolve(x string, in graph.Dims, kernels []string, w window) string {
	tail := []string{numbers(w.strides), "[" + pairs("(", ")", w.before, w.after) + "]"}
	if len(kernels) == 1 {
		return call("conv", x, kernels[0], tail[0], tail[1])
	}
	x = n.let("image", x)
	each := n.extent(in[1]) / len(kernels)
	parts := make([]string, len(kernels))
	for g, k := range kernels {
		parts[g] = call("conv", n.cut(x, in, 1, g*each, (g+1)*each), k, tail[0], tail[1])
	}
	return call("concat", "["+strings.Join(parts, ", ")+"]", "1i32")
}

// kernels splits the kernel into groups along axis 0.
func (n *node) kernels(k string, dims graph.Dims, groups int) []string {
	if groups == 1 {
		return []string{k}
	}
	k = n.let("kernel", k)
	each := n.extent(dims[0]) / groups
	list := make([]string, groups)
	for g := range list {
		list[g] = n.cut(k, dims, 0, g*each, (g+1)*each)
	}
	return list
}

// biased adds input 2, one number per channel.
func (n *node) biased(y string) string {
	if !n.has(2) {
		return y
	}
	return call("add", y, n.channels(n.args[2], n.in[2].Dims, n.out[0].Dims))
}

func conv(n *node) string {
	groups, dilations := n.images()
	if n.err != nil {
		return ""
	}
	k, dims := n.apart(n.args[1], n.in[1].Dims, dilations)
	w := n.window([]int{n.extent(dims[2]), n.extent(dims[3])})
	if n.err != nil {
		return ""
	}
	return n.biased(n.convolve(n.args[0], n.in[0].Dims, n.kernels(k, dims, groups), w))
}

// convTranspose convolves the image, its elements a stride apart, with reversed kernels.
func convTranspose(n *node) string {
	groups, dilations := n.images()
	strides, pads := n.ints("strides"), n.ints("pads")
	if strides == nil {
		strides = []int{1, 1}
	}
	auto := n.text("auto_pad", "NOTSET")
	if pads == nil || auto == "VALID" {
		pads = make([]int, 4)
	}
	if n.err != nil || len(strides) != 2 || len(pads) != 4 || slices.Min(strides) < 1 || slices.Max(strides) > widest || n.Attr("output_shape") != nil || auto != "NOTSET" && auto != "VALID" {
		return n.refuse(ErrUnsupportedShape, "strides %v and pads %v with auto_pad %s; output_shape and auto_pad SAME cannot be emitted", strides, pads, auto)
	}
	x, in := n.apart(n.args[0], n.in[0].Dims, strides)
	k := n.args[1]
	for axis := 2; axis < 4; axis++ {
		k = call("gather", k, "to_tensor(["+backward(n.extent(n.in[1].Dims[axis]))+"])", axisOf(axis))
	}
	k, dims := n.apart(k, n.in[1].Dims, dilations)
	w := window{strides: []int{1, 1}}
	for i := range 2 {
		kernel := n.extent(dims[i+2])
		before := kernel - 1 - pads[i]
		after := n.extent(n.out[0].Dims[i+2]) + kernel - 1 - n.extent(in[i+2]) - before
		if before < 0 || after < 0 {
			return n.refuse(ErrUnsupportedShape, "pads %v are wider than the kernel", pads)
		}
		w.before, w.after = append(w.before, before), append(w.after, after)
	}
	if n.err != nil {
		return ""
	}
	kernels := n.kernels(k, dims, groups)
	for g := range kernels {
		kernels[g] = permute(kernels[g], []int{1, 0, 2, 3})
	}
	return n.biased(n.convolve(x, in, kernels, w))
}

// backward returns the indices of n elements, last first.
func backward(n int) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf("%di64", n-1-i)
	}
	return strings.Join(parts, ", ")
}

package optest

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// window is how convolutions and pools walk over the axes of space.
type window struct {
	kernel, stride, dilation, before, after []int
	auto                                    string // auto_pad, if not empty
	ceil                                    bool
}

// plain is a window without steps, gaps or pads.
func plain(kernel ...int) window {
	one, zero := slices.Repeat([]int{1}, len(kernel)), make([]int, len(kernel))
	return window{kernel: kernel, stride: one, dilation: one, before: zero, after: zero}
}

// attrs are the attributes that say so, and more.
func (w window) attrs(more ...any) []*graph.Attr {
	list := append([]any{"kernel_shape", w.kernel, "strides", w.stride}, more...)
	if slices.Max(w.dilation) > 1 {
		list = append(list, "dilations", w.dilation)
	}
	if w.ceil {
		list = append(list, "ceil_mode", 1)
	}
	if w.auto != "" {
		list = append(list, "auto_pad", w.auto)
	} else {
		list = append(list, "pads", slices.Concat(w.before, w.after))
	}
	return attrs(list...)
}

// span is how many elements the kernel covers along an axis.
func (w window) span(a int) int { return w.dilation[a]*(w.kernel[a]-1) + 1 }

// over returns the window with its pads for an input of that extents, and the
// extents of the output.
func (w window) over(in []int) (window, []int) {
	w.before, w.after = slices.Clone(w.before), slices.Clone(w.after)
	out := make([]int, len(in))
	for a, n := range in {
		switch w.auto {
		case "SAME_UPPER", "SAME_LOWER":
			out[a] = (n + w.stride[a] - 1) / w.stride[a]
			total := max((out[a]-1)*w.stride[a]+w.span(a)-n, 0)
			w.before[a], w.after[a] = total/2, total-total/2
			if w.auto == "SAME_LOWER" {
				w.before[a], w.after[a] = w.after[a], w.before[a]
			}
			continue
		}
		room := n + w.before[a] + w.after[a] - w.span(a)
		out[a] = room/w.stride[a] + 1
		if w.ceil && room%w.stride[a] != 0 && out[a]*w.stride[a] < n+w.before[a] {
			out[a]++ // a last window that hangs over, but starts on the input
		}
	}
	return w, out
}

// visit calls f for every element that the window at an output index covers:
// its index in the kernel and in the input, which may lie outside.
func (w window) visit(at []int, f func(kernel, in []int)) {
	each(w.kernel, func(_ int, k []int) {
		in := make([]int, len(at))
		for a := range at {
			in[a] = at[a]*w.stride[a] - w.before[a] + k[a]*w.dilation[a]
		}
		f(k, in)
	})
}

func inside(shape, at []int) bool {
	for a, i := range at {
		if i < 0 || i >= shape[a] {
			return false
		}
	}
	return true
}

// windows are those that pools and convolutions are tried with, by input.
func windows() []struct {
	in []int
	w  window
} {
	return []struct {
		in []int
		w  window
	}{
		{[]int{9}, plain(3)},
		{[]int{5, 7}, plain(1, 1)},
		{[]int{6, 19}, plain(3, 3)},
		{[]int{6, 7}, window{[]int{3, 2}, []int{2, 3}, []int{1, 1}, []int{1, 0}, []int{0, 1}, "", false}},
		{[]int{7, 8}, window{[]int{2, 3}, []int{1, 2}, []int{3, 2}, []int{0, 1}, []int{1, 2}, "", false}},
		{[]int{17, 18}, window{[]int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{1, 1}, "", false}},
		{[]int{7, 8}, window{[]int{3, 3}, []int{2, 2}, []int{1, 1}, []int{0, 0}, []int{0, 0}, "SAME_UPPER", false}},
		{[]int{7, 8}, window{[]int{2, 4}, []int{1, 3}, []int{1, 1}, []int{0, 0}, []int{0, 0}, "SAME_LOWER", false}},
		{[]int{4, 5, 6}, window{[]int{2, 3, 2}, []int{1, 1, 2}, []int{1, 1, 1}, []int{1, 0, 1}, []int{1, 1, 0}, "", false}},
	}
}

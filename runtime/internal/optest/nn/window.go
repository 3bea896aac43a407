package nn

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
)

// Window describes how convolutions and pools step over the spatial axes.
type Window struct {
	Kernel, Stride, Dilation, Before, After []int
	Auto                                    string // auto_pad, if not empty
	Ceil                                    bool
}

// Plain returns a window without strides, gaps or pads.
func Plain(kernel ...int) Window {
	one, zero := slices.Repeat([]int{1}, len(kernel)), make([]int, len(kernel))
	return Window{Kernel: kernel, Stride: one, Dilation: one, Before: zero, After: zero}
}

// Attrs returns the attributes of the window, and more.
func (w Window) Attrs(more ...any) []*graph.Attr {
	list := append([]any{"kernel_shape", w.Kernel, "strides", w.Stride}, more...)
	if slices.Max(w.Dilation) > 1 {
		list = append(list, "dilations", w.Dilation)
	}
	if w.Ceil {
		list = append(list, "ceil_mode", 1)
	}
	if w.Auto != "" {
		list = append(list, "auto_pad", w.Auto)
	} else {
		list = append(list, "pads", slices.Concat(w.Before, w.After))
	}
	return cases.Attrs(list...)
}

// span returns the number of elements that the kernel covers along an axis.
func (w Window) span(a int) int { return w.Dilation[a]*(w.Kernel[a]-1) + 1 }

// Over returns the window with its pads for an input of the given extents, and the extents of the
// output.
func (w Window) Over(in []int) (Window, []int) {
	w.Before, w.After = slices.Clone(w.Before), slices.Clone(w.After)
	out := make([]int, len(in))
	for a, n := range in {
		switch w.Auto {
		case "SAME_UPPER", "SAME_LOWER":
			out[a] = (n + w.Stride[a] - 1) / w.Stride[a]
			total := max((out[a]-1)*w.Stride[a]+w.span(a)-n, 0)
			w.Before[a], w.After[a] = total/2, total-total/2
			if w.Auto == "SAME_LOWER" {
				w.Before[a], w.After[a] = w.After[a], w.Before[a]
			}
			continue
		}
		room := n + w.Before[a] + w.After[a] - w.span(a)
		out[a] = room/w.Stride[a] + 1
		if w.Ceil && room%w.Stride[a] != 0 && out[a]*w.Stride[a] < n+w.Before[a] {
			out[a]++ // a last window that starts on the input and extends beyond it
		}
	}
	return w, out
}

// Visit calls f for every element that the window at an output index covers, with its index in the
// kernel and in the input. The latter may be outside.
func (w Window) Visit(at []int, f func(kernel, in []int)) {
	cases.Each(w.Kernel, func(_ int, k []int) {
		in := make([]int, len(at))
		for a := range at {
			in[a] = at[a]*w.Stride[a] - w.Before[a] + k[a]*w.Dilation[a]
		}
		f(k, in)
	})
}

// Slide is a window and the spatial extents of an input.
type Slide struct {
	In []int
	W  Window
}

// Windows lists the windows of pools and convolutions, by input.
func Windows() []Slide {
	return []Slide{
		{[]int{9}, Plain(3)},
		{[]int{5, 7}, Plain(1, 1)},
		{[]int{6, 19}, Plain(3, 3)},
		{[]int{6, 7}, Window{[]int{3, 2}, []int{2, 3}, []int{1, 1}, []int{1, 0}, []int{0, 1}, "", false}},
		{[]int{7, 8}, Window{[]int{2, 3}, []int{1, 2}, []int{3, 2}, []int{0, 1}, []int{1, 2}, "", false}},
		{[]int{17, 18}, Window{[]int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{1, 1}, "", false}},
		{[]int{7, 8}, Window{[]int{3, 3}, []int{2, 2}, []int{1, 1}, []int{0, 0}, []int{0, 0}, "SAME_UPPER", false}},
		{[]int{7, 8}, Window{[]int{2, 4}, []int{1, 3}, []int{1, 1}, []int{0, 0}, []int{0, 0}, "SAME_LOWER", false}},
		{[]int{4, 5, 6}, Window{[]int{2, 3, 2}, []int{1, 1, 2}, []int{1, 1, 1}, []int{1, 0, 1}, []int{1, 1, 0}, "", false}},
	}
}

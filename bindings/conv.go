//go:build cgo

package bindings

// #include "conv/conv.h"
import "C"

// The list of axes is as long on both sides.
var _ = [1]struct{}{}[ConvAxes-C.NACRE_CONV_AXES]

func convFamily() []Kernel {
	var n C.size_t
	return family(C.nacre_conv_kernels(&n), n)
}

func (k Kernel) fnOrNil() C.nacre_fn {
	if k.row == nil {
		return nil
	}
	return k.row.fn
}

func (s *ConvShape) c() C.nacre_conv {
	c := C.nacre_conv{
		images: C.size_t(s.Images), groups: C.size_t(s.Groups),
		channels: C.size_t(s.Channels), filters: C.size_t(s.Filters),
		axes: C.size_t(len(s.Kernel)),
	}
	fill := func(dst *[ConvAxes]C.size_t, list []int) {
		for i, v := range list {
			dst[i] = C.size_t(v)
		}
	}
	fill(&c.in, s.In)
	fill(&c.out, s.Out)
	fill(&c.kernel, s.Kernel)
	fill(&c.stride, s.Stride)
	fill(&c.dilation, s.Dilation)
	fill(&c.pad, s.Pad)
	return c
}

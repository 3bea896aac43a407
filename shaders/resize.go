package shaders

import "slices"

var resizeKernels = []Kernel{
	{"resize/outside", 2, 5, 1 << 1, nil, widths(0)},
	{"resize/resample", 4, 5, 1 << 3, nil, slices.Concat(elements("f32 f16 bf16"), partial)},
	{"resize/nearest", 3, 4, 1 << 2, nil, widths(0)},
}

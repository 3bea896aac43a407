package shaders

import "slices"

// gridded is variants for images of 16 bits and places of float32.
var gridded = []Variant{
	{"f16_f32", []string{"TYPE_F16", "GRID_F32"}, Storage16}, {"bf16_f32", []string{"TYPE_BF16", "GRID_F32"}, Storage16},
}

var visionKernels = []Kernel{
	{"vision/affine", 2, 5, 1 << 1, []string{"axes", "corners"}, elements("f32 f16 bf16")},
	{"vision/bins", 4, 8, 1<<2 | 1<<3, nil, elements("f32 f16 bf16")},
	{"vision/grid", 3, 7, 1 << 2, []string{"axes", "mode", "padding", "corners"}, slices.Concat(elements("f32 f16 bf16"), gridded)},
	{"vision/regions", 5, 10, 1<<3 | 1<<4, []string{"largest", "index words"}, elements("f32 f16 bf16")},
}

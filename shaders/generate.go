package shaders

import "slices"

// Elements that follow from a few numbers and their places.
var generateKernels = []Kernel{
	{"generate/range", 3, 1, 1 << 2, nil, slices.Concat(elements("f32 f16 bf16 i16 i32"), []Variant{{"i64", []string{"PAIRS"}, 0}})},
	{"generate/triangles", 2, 2, 1 << 1, nil, elements("f32 f16 bf16")},
	{"generate/window", 1, 5, 1 << 0, nil, elements("f32 f16 bf16")},
}

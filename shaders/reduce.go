package shaders

import "slices"

// partial is variants between elements of 16 bits and sums in float32.
var partial = []Variant{
	{"f16_f32", []string{"TYPE_F16", "RESULT_F32"}, Storage16}, {"f32_f16", []string{"TYPE_F32", "RESULT_F16"}, Storage16},
	{"bf16_f32", []string{"TYPE_BF16", "RESULT_F32"}, Storage16}, {"f32_bf16", []string{"TYPE_F32", "RESULT_BF16"}, Storage16},
}

var reduceKernels = []Kernel{
	{"reduce/reduce", 2, 4, 1 << 1, []string{"first", "root"}, slices.Concat(elements("f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64"), partial)},
	{"reduce/log_sum", 2, 3, 1 << 1, nil, slices.Concat(elements("f32 f16 bf16"), partial)},
	{"reduce/arg", 2, 3, 1 << 1, []string{"kind", "largest", "last"}, widths(0)},
	{"reduce/top", 4, 6, 1<<2 | 1<<3, []string{"kind", "smallest", "wants", "merge"}, widths(0)},
	{"reduce/window", 2, 18, 1 << 1, []string{"FUNCTION", "bits", "kind", "out bits", "out kind", "last"}, []Variant{{Name: "packed"}}},
	{"reduce/running", 4, 11, 1<<2 | 1<<3, []string{"product", "exclusive", "reverse", "axis words"}, elements("f32 f16 bf16 u8 u16 u32 u64")},
}

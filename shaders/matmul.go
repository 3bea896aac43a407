package shaders

var matmulKernels = []Kernel{
	{"matmul/det", 3, 2, 1<<1 | 1<<2, nil, elements("f32 f16 bf16")},
	{
		"matmul/gemm", 6, 25, 1<<3 | 1<<4 | 1<<5,
		tileConstants("left down", "right down", "left words", "right words", "out words"), withFunctions("f32 f16 bf16", "i32 u32 i64 u64"),
	},
	{"matmul/gemv", 4, 25, 1 << 3, []string{"rows", "neighbours", "left words", "right words"}, elements("f32 f16 bf16 i32 u32 i64 u64")},
	{"matmul/inverse", 4, 2, 1<<1 | 1<<2 | 1<<3, nil, elements("f32 f16 bf16", Float64)},
	{
		"matmul/matrix", 6, 25, 1<<3 | 1<<4 | 1<<5, matrixConstants("left words", "right words", "parts", "whole"),
		append(matrices("f16 bf16"), straight("f16", []string{"TYPE_F16"}, Storage16|matrixNeeds["f16"])),
	},
	{"matmul/packed", 3, 16, 1 << 2, []string{"bits", "kind", "out bits"}, []Variant{{Name: "integers"}}},
}

package shaders

var matmulKernels = []Kernel{
	{"matmul/det", 3, 2, 1<<1 | 1<<2, nil, elements("f32 f16 bf16")},
	{
		"matmul/gemm", 6, 25, 1<<3 | 1<<4 | 1<<5,
		tileConstants("left down", "right down", "left words", "right words", "out words"), append(withFunctions("f32 f16 bf16", "i32 u32 i64 u64"), narrowRight(0)...),
	},
	{"matmul/gemv", 4, 25, 1 << 3, []string{"rows", "neighbours", "left words", "right words"},
		append(elements("f32 f16 bf16 i32 u32 i64 u64"), narrowRight(0)...)},
	{"matmul/gemv_joined", 5, 29, 1<<2 | 1<<3 | 1<<4, []string{"rows", "neighbours", "left words", "right words", "FUNCTION"},
		append(elements("f32 f16 bf16"), narrowRight(0)...)},
	{"matmul/inverse", 4, 2, 1<<1 | 1<<2 | 1<<3, nil, elements("f32 f16 bf16", Float64)},
	{
		"matmul/matrix", 6, 25, 1<<3 | 1<<4 | 1<<5, matrixConstants("left words", "right words", "parts", "whole"),
		append(matrices("f16 bf16"), straight("f16", []string{"TYPE_F16"}, Storage16|matrixNeeds["f16"])),
	},
	{"matmul/packed", 3, 16, 1 << 2, []string{"bits", "kind", "out bits"}, []Variant{{Name: "integers"}}},
	{"matmul/wide_matrix", 6, 8, 1<<3 | 1<<4 | 1<<5, matrixConstants("row words", "parts", "whole", "split"), narrowRight(matrixNeeds["f32"])},
}

// narrowRight returns variants for float32 by right operands of 16 bits. Each also needs the features in
// also.
func narrowRight(also Feature) []Variant {
	return []Variant{{"f32_f16", []string{"TYPE_F32", "RIGHT_F16"}, Storage16 | also},
		{"f32_bf16", []string{"TYPE_F32", "RIGHT_BF16"}, Storage16 | also}}
}

package shaders

var convKernels = []Kernel{
	{"conv/deform", 6, 25, 1 << 5, []string{"axes", "biased", "masked"}, elements("f32 f16 bf16")},
	{"conv/depth", 5, 26, 1 << 4, []string{"kernel rows", "kernel columns", "stride", "each", "function"}, elements("f32 f16 bf16")},
	{"conv/gemm", 8, 26, 1<<4 | 1<<5 | 1<<6, tileConstants("plain", "words", "plane words"), withFunctions("f32 f16 bf16", "")},
	{"conv/matrix", 5, 26, 1 << 4, matrixConstants("left words"), matrices("f16 bf16")},
	{"conv/last", 8, 26, 1<<4 | 1<<6 | 1<<7, matrixConstants("plain", "parts"), matrices("f16 bf16")},
	{"conv/last_depth", 5, 26, 1 << 4, []string{"kernel rows", "kernel columns", "function"}, elements("f16 bf16")},
	{"conv/direct", 5, 26, 1 << 4, nil, elements("f32 f16 bf16")},
	{"conv/pixels", 4, 11, 1 << 3, nil, elements("f32 f16 bf16")},
	{"conv/points", 2, 9, 1 << 1, nil, elements("f32 f16 bf16")},
	{"conv/points_filter", 2, 1, 1 << 1, nil, elements("f32 f16 bf16")},
	{"conv/transpose", 4, 23, 1 << 3, []string{"last"}, elements("f32 f16 bf16")},
}

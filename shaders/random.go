package shaders

var randomKernels = []Kernel{
	{"random/bernoulli", 2, 3, 1 << 1, nil, elements("f32 f16 bf16")},
	{"random/fill", 1, 7, 1 << 0, []string{"normal"}, elements("f32 f16 bf16", Float64)},
}

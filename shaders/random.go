package shaders

var randomKernels = []Kernel{
	{"random/bernoulli", 3, 1, 1 << 2, nil, elements("f32 f16 bf16")},
	{"random/chances", 3, 2, 1<<1 | 1<<2, nil, elements("f32 f16 bf16", Float64)},
	{"random/fill", 2, 5, 1 << 1, []string{"normal"}, elements("f32 f16 bf16", Float64)},
	{"random/outcome", 3, 3, 1 << 2, []string{"wide"}, []Variant{{Name: "f64", Needs: Float64}}},
}

package shaders

var poolKernels = []Kernel{
	{"pool/pool", 2, 24, 1 << 1, []string{"kind"}, elements("f32 f16 bf16")},
}

package shaders

var signalKernels = []Kernel{
	{"signal/dft", 4, 8, 1 << 3, []string{"parts", "out parts", "windowed", "inverse"}, elements("f32 f16 bf16")},
}

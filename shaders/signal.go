package shaders

var signalKernels = []Kernel{
	{"signal/dft", 4, 8, 1 << 3, []string{"parts", "out parts", "windowed", "inverse", "mirrored"}, elements("f32 f16 bf16")},
	{"signal/lanes", 3, 7, 1 << 2, []string{"parts", "windowed", "inverse", "mirrored"}, elements("f32 f16 bf16")},
	{"signal/pass", 3, 3, 1 << 2, []string{"radix"}, []Variant{{Name: "f32"}}},
	{"signal/points", 2, 5, 1 << 1, []string{"out parts", "real", "inverse"}, elements("f32 f16 bf16")},
}

package shaders

var lossKernels = []Kernel{
	{"loss/join", 3, 1, 1 << 2, []string{"reduction"}, elements("f32 f16 bf16")},
	{"loss/pick", 6, 4, 1<<3 | 1<<4 | 1<<5, []string{"weighted", "ignores", "index words"}, elements("f32 f16 bf16")},
	{"loss/step", 9, 8, 1<<6 | 1<<7 | 1<<8, []string{"method"}, []Variant{{Name: "f32"}}},
}

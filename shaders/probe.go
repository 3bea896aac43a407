package shaders

// probeKernels measure a device.
var probeKernels = []Kernel{
	{"probe/fma", 1, 3, 1 << 0, []string{"loops"}, []Variant{{Name: "f32"}}},
	{"probe/matrix", 1, 2, 1 << 0, []string{"m", "n", "k", "subgroup", "loops"}, matrices("f16 bf16 i8")},
	{"probe/clock", 1, 2, 1 << 0, []string{"loops"}, []Variant{{Name: "ticks", Needs: Clock}}},
	{"probe/copy", 2, 1, 1 << 1, nil, []Variant{{Name: "w16"}}},
}

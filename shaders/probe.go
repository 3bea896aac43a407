package shaders

// What measures a device.
var probeKernels = []Kernel{
	{"probe/fma", 1, 3, 1 << 0, []string{"loops"}, []Variant{{Name: "f32"}}},
	{"probe/copy", 2, 1, 1 << 1, nil, []Variant{{Name: "w16"}}},
}

package shaders

var textKernels = []Kernel{
	{"text/grams", 4, 5, 1 << 3, []string{"item words", "counted", "weighted"}, []Variant{{Name: "integers"}}},
}

package shaders

var gatherKernels = []Kernel{
	{"gather/gather", 4, 4, 1<<2 | 1<<3, []string{"index words"}, widths(0)},
	{"gather/each", 4, 20, 1<<2 | 1<<3, []string{"index words", "tuples"}, widths(0)},
	{"gather/one_hot", 3, 3, 1 << 2, []string{"index words", "from end"}, widths(0)},
	{"gather/reverse", 4, 5, 1<<2 | 1<<3, nil, widths(0)},
}

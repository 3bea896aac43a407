package shaders

var rnnKernels = []Kernel{
	{"rnn/cells", 11, 21, 1<<7 | 1<<8 | 1<<9 | 1<<10,
		[]string{"gates", "linear", "input forget", "batch first", "reverse", "f", "g", "h", "f backward", "g backward", "h backward"}, elements("f32")},
}

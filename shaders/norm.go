package shaders

var normKernels = []Kernel{
	{"norm/softmax", 2, 3, 1 << 1, []string{"mode"}, elements("f32 f16 bf16")},
	{"norm/layer", 9, 6, 1<<5 | 1<<6 | 1<<7 | 1<<8, []string{"centred"}, elements("f32 f16 bf16")},
	{"norm/group", 4, 6, 1 << 3, nil, elements("f32 f16 bf16")},
	{"norm/batch", 6, 4, 1 << 5, nil, elements("f32 f16 bf16")},
	{"norm/train", 10, 5, 31 << 5, []string{"wants"}, elements("f32 f16 bf16")},
	{"norm/lp", 2, 3, 1 << 1, []string{"order"}, elements("f32 f16 bf16")},
	{"norm/lrn", 2, 8, 1 << 1, nil, elements("f32 f16 bf16")},
}

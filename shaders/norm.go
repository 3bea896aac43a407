package shaders

import "strings"

var normKernels = []Kernel{
	{"norm/softmax", 2, 3, 1 << 1, rowConstants("mode"), elements("f32 f16 bf16")},
	{"norm/layer", 9, 4, 1<<5 | 1<<6 | 1<<7 | 1<<8, rowConstants("centred has wants"), elements("f32 f16 bf16")},
	{"norm/group", 4, 6, 1 << 3, rowConstants(""), elements("f32 f16 bf16")},
	{"norm/batch", 6, 4, 1 << 5, nil, elements("f32 f16 bf16")},
	{"norm/train", 10, 5, 31 << 5, rowConstants("wants"), elements("f32 f16 bf16")},
	{"norm/lp", 2, 3, 1 << 1, rowConstants("order"), elements("f32 f16 bf16")},
	{"norm/lrn", 2, 8, 1 << 1, nil, elements("f32 f16 bf16")},
}

// rowConstants returns the names of the constants of include/row.glsl, and then more.
func rowConstants(more string) []string { return strings.Fields("each keep " + more) }

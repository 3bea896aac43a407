package shaders

import "slices"

var attentionKernels = []Kernel{
	{"attention/append", 5, 15, 1 << 4, []string{"lengths", "in place", "biased"}, elements("f32 f16 bf16")},
	{"attention/append_codes", 5, 14, 1 << 4, []string{"lengths", "in place", "biased"}, elements("f32 f16 bf16")},
	{
		"attention/attention", 10, 30, 1<<7 | 1<<8 | 1<<9, scoreConstants("stage"),
		withCodes(slices.Concat(elements("f32 f16 bf16"), maskBytes("f32 f16 bf16"))),
	},
	{"attention/causal", 6, 7, 1<<4 | 1<<5, []string{"silu", "biased", "has past"}, elements("f32 f16 bf16")},
	{"attention/join", 2, 5, 1 << 1, []string{"side by side", "nans"}, elements("f32 f16 bf16")},
	{"attention/lengths", 5, 2, 1<<2 | 1<<3, []string{"kind", "ends", "x words", "all words"}, []Variant{{Name: "i32"}}},
	{"attention/linear", 9, 10, 1<<6 | 1<<7 | 1<<8, []string{"betas", "has past", "wants"}, elements("f32 f16 bf16")},
	{"attention/rotary", 6, 14, 1<<4 | 1<<5, []string{"index words", "interleaved", "positions"}, elements("f32 f16 bf16")},
	{
		"attention/tile", 9, 30, 1<<7 | 1<<8, scoreConstants("wide", "step"),
		withCodes(slices.Concat(elements("f32 f16 bf16"), maskBytes("f32 f16 bf16"))),
	},
	{"attention/turn", 11, 28, 1<<7 | 1<<8 | 1<<9 | 1<<10, []string{"index words", "interleaved", "positions", "lengths"},
		elements("f32 f16 bf16")},
	{"attention/turn_codes", 11, 28, 1<<7 | 1<<8 | 1<<9 | 1<<10, []string{"index words", "interleaved", "positions", "lengths"},
		elements("f32 f16 bf16")},
	{"attention/widen_codes", 2, 4, 1 << 1, nil, elements("f32 f16 bf16")},
}

// scoreConstants returns the names of the constants of include/attention.glsl, and then more.
func scoreConstants(more ...string) []string {
	return append([]string{"mask", "causal", "window", "lengths", "keys", "key words", "sink", "side by side", "cut", "nans",
		"k words", "v words"}, more...)
}

// maskBytes returns variants with masks of bytes, such as f32_bytes.
func maskBytes(names string) []Variant {
	list := elements(names, Storage8)
	for i := range list {
		list[i].Name += "_bytes"
		list[i].Defines = append(list[i].Defines, "MASK_BYTES")
	}
	return list
}

// withCodes returns the list, and each variant with keys and values of int8, such as f32_codes.
func withCodes(list []Variant) []Variant {
	for _, v := range list {
		v.Name += "_codes"
		v.Defines = append(slices.Clone(v.Defines), "CODES")
		list = append(list, v)
	}
	return list
}

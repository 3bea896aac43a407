package shaders

var attentionKernels = []Kernel{
	{"attention/attention", 5, 29, 1 << 4, []string{"mask", "causal"}, append(elements("f32 f16 bf16"), maskBytes("f32 f16 bf16")...)},
	{"attention/rotary", 6, 10, 1<<4 | 1<<5, []string{"index words", "interleaved", "positions"}, elements("f32 f16 bf16")},
}

// maskBytes returns variants, such as f32_bytes, whose masks are bytes.
func maskBytes(names string) []Variant {
	list := elements(names, Storage8)
	for i := range list {
		list[i].Name += "_bytes"
		list[i].Defines = append(list[i].Defines, "MASK_BYTES")
	}
	return list
}

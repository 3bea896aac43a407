package shaders

var quantKernels = []Kernel{
	{"quant/dequantize", 4, 8, 1 << 3, nil, codes("i8 u8 i16 u16 i32")},
	{"quant/nbits", 6, 8, 1 << 5, []string{"bits", "rows", "columns"}, elements("f32 f16 bf16")},
	{"quant/quantize", 4, 8, 1 << 3, []string{"least", "most"}, codes("i8 u8 i16 u16")},
}

// codes returns variants for types of codes with scales of float32 and, as i8_f16, of
// float16.
func codes(names string) []Variant {
	list := elements(names)
	for _, v := range elements(names, Storage16) {
		v.Name, v.Defines = v.Name+"_f16", append(v.Defines, "SCALE_F16")
		list = append(list, v)
	}
	return list
}

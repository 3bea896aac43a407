package shaders

import "slices"

var quantKernels = []Kernel{
	{"quant/blocks", 4, 8, 1 << 3, unitConstants("type", "bytes", "units"), dots(elements("f32"))},
	{"quant/blocks_joined", 8, 22, joinedWrites, append(unitConstants("type", "bytes", "units"), "FUNCTION"), dots(elements("f32"), normed...)},
	{"quant/blocks_matrix", 6, 8, 1<<3 | 1<<4 | 1<<5, matrixConstants("row words", "parts", "whole", "split", "type", "bytes", "units"),
		matrices("f32")},
	{"quant/blocks_tile", 6, 8, 1<<3 | 1<<4 | 1<<5, tileConstants("row words", "type", "bytes", "units"), elements("f32")},
	{"quant/bnb4", 5, 6, 1 << 4, []string{"rows", "columns"}, elements("f32 f16 bf16")},
	{
		"quant/conv", 15, 26, 1 << 14,
		[]string{"x signed", "w signed", "y signed", "half", "last", "bias", "adds", "stage", "clamps", "x zero"},
		[]Variant{{"bytes", []string{"RESULT_BYTES"}, Storage8}, {Name: "integers"}},
	},
	{"quant/dequantize", 4, 8, 1 << 3, nil, codes("i8 u8 i16 u16 i32")},
	{"quant/dynamic", 3, 1, 1<<1 | 1<<2, nil, []Variant{{Name: "f32", Needs: Storage8}}},
	{"quant/lookup", 3, 4, 1 << 2, nil, []Variant{{Name: "bytes", Needs: Storage8}}},
	{"quant/low", 2, 1, 1 << 1, []string{"bits"}, []Variant{{Name: "integers"}}},
	{
		"quant/matrix", 15, 25, 1<<10 | 1<<13 | 1<<14,
		matrixConstants("left words", "right words", "a signed", "b signed", "y signed", "half", "parts", "whole", "sums"),
		append(results(matrixNeeds["i8"]), straight("integers", nil, matrixNeeds["i8"])),
	},
	{"quant/narrow", 5, 8, 1 << 4, []string{"bits", "digits", "bias", "most", "over", "none", "one zero", "scaled", "precision"}, scales},
	{"quant/nbits", 6, 8, 1 << 5, []string{"bits", "rows", "columns"}, elements("f32 f16 bf16")},
	{"quant/nbits4", 6, 8, 1 << 5, unitConstants("bits", "units", "zeros"), dots(elements("f32 f16 bf16"))},
	{"quant/nbits4_joined", 8, 21, joinedWrites, append(unitConstants("bits", "units", "zeros"), "FUNCTION"),
		dots(elements("f32 f16 bf16"), normed...)},
	{"quant/nbits_matrix", 8, 8, 1<<5 | 1<<6 | 1<<7, matrixConstants("row words", "parts", "whole", "split", "bits"), matrices("f32 f16 bf16")},
	{"quant/nbits_tile", 8, 8, 1<<5 | 1<<6 | 1<<7, tileConstants("row words", "bits"), elements("f32 f16 bf16")},
	{"quant/pack", 4, 8, 1 << 3, []string{"least", "most", "bits", "precision"}, scales},
	{"quant/pair", 9, 19, 1 << 8, []string{"product", "signed", "half", "zeros"}, []Variant{{Name: "bytes", Needs: Storage8}}},
	{"quant/product", 11, 25, 1 << 10, []string{"a signed", "b signed", "y signed", "half"}, products()},
	{"quant/quantize", 4, 8, 1 << 3, []string{"least", "most", "precision"}, codes("i8 u8 i16 u16")},
	{"quant/unpack", 5, 8, 1 << 4, []string{"bits", "kind", "numbers", "scaled"}, scales},
	{"quant/sums", 2, 6, 1 << 1, []string{"lanes", "words", "signed"}, []Variant{{Name: "codes"}}},
	{"quant/table", 5, 1, 1 << 4, []string{"function", "signed", "half", "zeros"}, []Variant{{Name: "bytes", Needs: Storage8}}},
}

// normed is the variant of joined products that normalises their row.
var normed = []Variant{{"f32_normed", []string{"TYPE_F32", "NORMED=5"}, 0}}

// dots returns variants, and for each one with an instruction for dot products, as in f32_dot. Operands
// are rounded to bytes for it.
func dots(list []Variant, more ...Variant) (all []Variant) {
	all = append(list, more...)
	for _, v := range all {
		all = append(all, Variant{v.Name + "_dot", append(slices.Clone(v.Defines), "DOT"), v.Needs | IntDot})
	}
	return all
}

// scales is variants for scales of float32, float16 and bfloat16.
var scales = []Variant{{Name: "f32"}, {"f16", []string{"SCALE_F16"}, Storage16},
	{"bf16", []string{"SCALE_BF16"}, Storage16}}

// results returns variants for kinds of results. Each variant also needs the features in also.
func results(also Feature) []Variant {
	return []Variant{{"bytes", []string{"RESULT_BYTES"}, also | Storage8}, {"floats", []string{"RESULT_FLOATS"}, also},
		{Name: "integers", Needs: also}}
}

// products returns variants for kinds of results, each with an instruction for dot products,
// as in bytes_dot, and without.
func products() []Variant {
	list := results(0)
	for _, v := range results(IntDot) {
		list = append(list, Variant{v.Name + "_dot", append([]string{"DOT"}, v.Defines...), v.Needs})
	}
	return list
}

// codes returns variants for types of codes with each type of scales, as i8 and i8_f16.
func codes(names string) []Variant {
	list := elements(names)
	for _, s := range scales[1:] {
		for _, v := range elements(names, s.Needs) {
			v.Name, v.Defines = v.Name+"_"+s.Name, append(v.Defines, s.Defines...)
			list = append(list, v)
		}
	}
	return list
}

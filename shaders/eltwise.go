package shaders

import "strings"

// Elements one by one: the result is the last operand.
var eltwiseKernels = []Kernel{
	{Name: "eltwise/unary", Operands: 2, Push: 7, Writes: 1 << 1, Constants: []string{"FUNCTION"},
		Variants: elements("f32 f16 bf16 i32 u32 i64 u64 i16 u16 i8 u8")},
	{Name: "eltwise/test", Operands: 2, Push: 5, Writes: 1 << 1, Constants: []string{"FUNCTION"},
		Variants: elements("f32 f16 bf16", Storage8)},
	{Name: "eltwise/binary", Operands: 3, Push: 22, Writes: 1 << 2, Constants: []string{"FUNCTION"},
		Variants: elements("f32 f16 bf16 i32 u32 i64 u64 i16 u16 i8 u8")},
	{Name: "eltwise/fused", Operands: 3, Push: 3, Writes: 1 << 2, Constants: []string{"FUNCTION", "product", "first"},
		Variants: elements("f32 f16 bf16")},
	{Name: "eltwise/compare", Operands: 3, Push: 22, Writes: 1 << 2, Constants: []string{"FUNCTION"},
		Variants: append(elements("f32 f16 bf16 i32 u32 i64 u64 i16 u16 i8 u8", Storage8),
			Variant{Name: "bool", Defines: []string{"TYPE_U8", "LOGIC"}, Needs: Storage8})},
	{Name: "eltwise/pointwise", Operands: 4, Push: 27, Writes: 1 << 3, Constants: []string{"FUNCTION", "bits", "kind", "out bits", "out kind", "operands", "limited"},
		Variants: []Variant{{Name: "packed"}}},
	{Name: "eltwise/power", Operands: 3, Push: 19, Writes: 1 << 2, Constants: []string{"bits", "signed"},
		Variants: elements("f32 f16 bf16")},
	{Name: "eltwise/where", Operands: 4, Push: 29, Writes: 1 << 3, Variants: widths(Storage8)},
	{Name: "eltwise/cast", Operands: 2, Push: 3, Writes: 1 << 1,
		Variants: casts("f32 f16 bf16 i32 u32 i64 i8 u8 bool")},
}

// casts returns one variant per pair of different types, as in "f32_i64".
func casts(names string) []Variant {
	var all []Variant
	for _, in := range strings.Fields(names) {
		for _, out := range strings.Fields(names) {
			if in == out {
				continue
			}
			all = append(all, Variant{
				Name:    in + "_" + out,
				Defines: []string{"IN_" + strings.ToUpper(in), "OUT_" + strings.ToUpper(out)},
				Needs:   elementNeeds[in] | elementNeeds[out],
			})
		}
	}
	return all
}

package shaders

import (
	"fmt"
	"strings"
)

// elementNeeds has the features that buffers of an element type need.
var elementNeeds = map[string]Feature{
	"f16": Storage16, "bf16": Storage16, "i16": Storage16, "u16": Storage16,
	"i8": Storage8, "u8": Storage8, "bool": Storage8, "i64": Int64, "u64": Int64,
}

// elements returns one variant per element type of include/types.glsl, as in "f32". Each variant
// also needs the features in also.
func elements(names string, also ...Feature) []Variant {
	var all []Variant
	for _, name := range strings.Fields(names) {
		v := Variant{Name: name, Defines: []string{"TYPE_" + strings.ToUpper(name)}, Needs: elementNeeds[name]}
		for _, f := range also {
			v.Needs |= f
		}
		all = append(all, v)
	}
	return all
}

// widths returns one variant per width of include/width.glsl, as in "w4". Each variant also needs
// the features in also. Elements of 8 bytes are pairs of 4 bytes, which need no feature.
func widths(also Feature) []Variant {
	needs := map[int]Feature{1: Storage8, 2: Storage16}
	var all []Variant
	for _, w := range []int{1, 2, 4, 8} {
		all = append(all, Variant{Name: fmt.Sprint("w", w), Defines: []string{fmt.Sprint("WIDTH=", w)},
			Needs: needs[w] | also})
	}
	return all
}

// tileConstants returns the names of the constants of include/tile.glsl, and then more.
func tileConstants(more ...string) []string {
	return append(strings.Fields("m n step rows cols slices stages parts function"), more...)
}

// AnyFunction is the end of the names of variants that apply any function to results. Variants
// without it apply none, relu or clip.
const AnyFunction = "_any"

// withFunctions returns one variant per element type, and one with AnyFunction per type of floats.
func withFunctions(floats, integers string) []Variant {
	list := elements(floats + " " + integers)
	for _, v := range elements(floats) {
		list = append(list, Variant{v.Name + AnyFunction, append(v.Defines, "ANY_FUNCTION"), v.Needs})
	}
	return list
}

// unitConstants returns names of constants, and then those of include/units.glsl.
func unitConstants(first ...string) []string {
	return append(first, "rows", "lanes", "chunk", "row words", "norm has", "epsilon")
}

// joinedWrites has the operands that joined products of rows in units write: their results, and the sum
// of include/units.glsl.
const joinedWrites = 1<<2 | 1<<3 | 1<<4 | 1<<7

// matrixConstants returns the names of the constants of include/matrix.glsl, and then more.
func matrixConstants(more ...string) []string {
	return append(strings.Fields("m n k subgroup down across rows cols deep left_down right_down"), more...)
}

// matrixNeeds has the features that cooperative matrices for operands of an element type need. Operands
// of float32 are multiplied as bfloat16. Conversions to bfloat16 declare arithmetic on float16 too.
var matrixNeeds = map[string]Feature{
	"f16": CoopMatrix | Subgroup | Float16, "bf16": CoopMatrix | Subgroup | CoopBF16 | Float16, "i8": CoopMatrix | Subgroup | Int8,
	"f32": CoopMatrix | Subgroup | CoopBF16 | Float16,
}

// matrices returns one variant per element type of cooperative matrices. Buffers have the operands,
// so a variant needs the features of both.
func matrices(names string) []Variant {
	list := elements(names)
	for i := range list {
		list[i].Needs |= matrixNeeds[list[i].Name]
	}
	return list
}

// straight returns a variant that stores matrices of sums, without what may follow products.
func straight(name string, defines []string, needs Feature) Variant {
	return Variant{name + "_straight", append(defines, "STRAIGHT"), needs}
}

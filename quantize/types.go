package quantize

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/loom"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Type is a type that weights can get.
type Type struct {
	name   string
	blocks *packed.Blocks // of a type of blocks, and the most frequent one of a mix
	mix    string         // empty for no mix
	bits   int            // of nbits
	dtype  tensor.DType   // of linear and codes
	linear bool
	number uint32 // general.file_type of GGUF; noNumber for none
	keep   bool   // weights stay as they are
}

const noNumber = ^uint32(0)

// Keep is the type of weights that stay as they are.
var Keep = Type{name: "float", keep: true, number: noNumber}

// String returns the name of the type.
func (t Type) String() string { return t.name }

// fileTypes are the numbers that GGUF has for types of blocks.
var fileTypes = map[string]uint32{
	"q4_0": 2, "q4_1": 3, "q8_0": 7, "q5_0": 8, "q5_1": 9, "q6_k": 18,
	"iq2_xxs": 19, "iq2_xs": 20, "iq3_xxs": 23, "iq1_s": 24, "iq4_nl": 25, "iq3_s": 26, "iq2_s": 28, "iq4_xs": 30,
	"iq1_m": 31, "tq1_0": 36, "tq2_0": 37, "mxfp4": 38, "nvfp4": 39, "q1_0": 40, "q2_0": 41,
}

// mixes are the types of blocks by the part of a weight, with the number that GGUF has for them. Types
// without a last letter are mixes, too: the most frequent ones.
var mixes = []struct {
	name   string
	blocks *packed.Blocks
	number uint32
}{
	{"q2_k", packed.Q2_K, 10}, {"q2_k_s", packed.Q2_K, 21},
	{"q3_k", packed.Q3_K, 12}, {"q4_k", packed.Q4_K, 15}, {"q5_k", packed.Q5_K, 17},
	{"q3_k_s", packed.Q3_K, 11}, {"q3_k_m", packed.Q3_K, 12}, {"q3_k_l", packed.Q3_K, 13},
	{"q4_k_s", packed.Q4_K, 14}, {"q4_k_m", packed.Q4_K, 15},
	{"q5_k_s", packed.Q5_K, 16}, {"q5_k_m", packed.Q5_K, 17},
}

// Types is the table of types, in the order of messages.
var Types = func() (list []Type) {
	for _, m := range mixes {
		mix := m.name
		if len(mix) == 4 && m.blocks != packed.Q2_K {
			mix += "_m" // what users of GGUF expect
		}
		list = append(list, Type{name: m.name, blocks: m.blocks, mix: mix, number: m.number})
	}
	for _, b := range packed.BlockTypes {
		if number, ok := fileTypes[b.Name]; ok {
			list = append(list, Type{name: b.Name, blocks: b, number: number})
		}
	}
	for _, bits := range []int{2, 4, 8} {
		list = append(list, Type{name: fmt.Sprintf("q%d", bits), bits: bits, number: noNumber})
	}
	for _, d := range []tensor.DType{tensor.I4, tensor.U4, tensor.I8, tensor.U8} {
		list = append(list, Type{name: d.String(), dtype: d, linear: true, number: noNumber})
	}
	for _, d := range []tensor.DType{tensor.I1, tensor.I2, tensor.I4, tensor.I8, tensor.T1, tensor.T2} {
		name := d.String() // t1 and t2 have no other
		if l := d.Layout(); l != nil && l.Signed && d != tensor.T2 {
			name = fmt.Sprintf("i%d", l.Bits)
		} else if d == tensor.I8 {
			name = "i8"
		}
		list = append(list, Type{name: name, dtype: d, number: noNumber})
	}
	return append(list, Keep)
}()

// TypeOf returns the type of that name, in any case.
func TypeOf(name string) (Type, error) {
	for _, t := range Types {
		if strings.EqualFold(t.name, name) {
			return t, nil
		}
	}
	return Type{}, graph.Errorf(graph.ErrUnsupported, "%q is no type of weights; have %s", name, typeNames())
}

func typeNames() string {
	var names []string
	for _, t := range Types {
		names = append(names, t.name)
	}
	return strings.Join(names, ", ")
}

// format returns the format of files that hold the type, empty for any.
func (t Type) format() string {
	switch {
	case t.keep:
		return ""
	case t.blocks != nil:
		return "gguf"
	case t.bits != 0 || t.linear:
		return "onnx"
	}
	return "oinf"
}

// isFor reports whether a file of the format holds weights of the type.
func (t Type) isFor(format string) bool {
	if format == loom.EntityName { // codes with a scale for each layer, and Loom's own Q4_0 in bundles
		return t.keep || t.name == "q4_0" || t.format() == "oinf" && t.dtype != tensor.I1
	}
	need := t.format()
	return need == "" || need == format
}

// loomNames are the names that ENTITY files have for types.
var loomNames = map[string]string{"q4": "q4_0", "int8": "i8", "int4": "i4"}

// in returns the type that a file of the format holds for t.
func (t Type) in(format string) (Type, error) {
	if name, ok := loomNames[t.name]; ok && format == loom.EntityName {
		return TypeOf(name)
	}
	if t.bits != 0 && format == "gguf" && t.bits != 2 {
		return TypeOf(t.name + "_0")
	}
	if t.isFor(format) {
		return t, nil
	}
	need := t.format()
	var have []string
	for _, x := range Types {
		if x.isFor(format) && !x.keep {
			have = append(have, x.name)
		}
	}
	if have == nil {
		return t, graph.Errorf(graph.ErrUnsupported, "a file of %s holds no weights of %s; write a file of %s", format, t, need)
	}
	return t, graph.Errorf(graph.ErrUnsupported, "a file of %s holds no weights of %s, which are for %s; it holds %s",
		format, t, need, strings.Join(have, ", "))
}

// dtypeOf returns the element type of tensors with the blocks.
func dtypeOf(b *packed.Blocks) tensor.DType {
	all := tensor.AllDTypes()
	return all[slices.IndexFunc(all, func(d tensor.DType) bool { return d.Blocks() == b })]
}

package gguf

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// elementType is an element type of a file.
type elementType struct {
	number uint32
	name   string
	dtype  tensor.DType // of the tensors
	// The elements and the bytes of a block. Types without blocks have one element.
	elements, bytes int
	words           []word // numbers of several bytes in a block
	mixed           bool   // programs disagree on the words of a block
	// floats writes the elements of a block. It is nil if tensors have the stored bytes.
	floats func(dst []float32, block []byte)
	// factor is set for codes with a factor behind them all, in tailI2S bytes.
	factor bool
}

// word is n numbers of width bytes from an offset of a block on.
type word struct{ at, width, n int }

// blockWords lists the words of blocks that are no scales.
var blockWords = map[*packed.Blocks]word{
	packed.Q5_0:   {2, 4, 1},
	packed.Q5_1:   {4, 4, 1},
	packed.IQ2_XS: {2, 2, 32},
	packed.IQ1_S:  {34, 2, 8},
	packed.IQ4_XS: {2, 2, 1},
}

// types maps numbers in files to element types.
var types = func() map[uint32]*elementType {
	list := map[uint32]*elementType{}
	for number, d := range map[uint32]tensor.DType{
		0: tensor.F32, 1: tensor.F16, 24: tensor.I8, 25: tensor.I16, 26: tensor.I32, 27: tensor.I64, 28: tensor.F64,
		30: tensor.BF16,
	} {
		size := d.Bits() / 8
		list[number] = &elementType{number: number, name: strings.ToUpper(d.Short()), dtype: d, elements: 1,
			bytes: size, words: []word{{0, size, 1}}}
	}
	for _, d := range tensor.AllDTypes() {
		b := d.Blocks()
		if b == nil {
			continue
		}
		t := &elementType{number: uint32(b.Number), name: strings.ToUpper(b.Name), dtype: d, elements: b.Elements,
			bytes: b.Bytes}
		for _, at := range b.Scales {
			t.words = append(t.words, word{at, 2, 1})
		}
		if w, ok := blockWords[b]; ok {
			t.words = append(t.words, w)
		}
		t.mixed = b == packed.IQ2_XXS || b == packed.IQ3_XXS || b == packed.IQ1_M
		list[t.number] = t
	}
	list[9] = &elementType{number: 9, name: "Q8_1", dtype: tensor.F32, elements: 32, bytes: 36,
		words: []word{{0, 2, 2}},
		floats: func(dst []float32, b []byte) {
			scaled(dst, packed.F16(binary.LittleEndian.Uint16(b)).Float32(), b[4:])
		}}
	list[15] = &elementType{number: 15, name: "Q8_K", dtype: tensor.F32, elements: 256, bytes: 292,
		words:  []word{{0, 4, 1}, {260, 2, 16}},
		floats: func(dst []float32, b []byte) { scaled(dst, float32At(b), b[4:]) }}
	list[36] = &elementType{number: 36, name: "I2_S", dtype: tensor.I2, elements: packed.I2SBlock,
		bytes: packed.I2SBlock / 4, mixed: true, factor: true}
	return list
}()

// scaled writes the products of a scale and bytes.
func scaled(dst []float32, scale float32, codes []byte) {
	for i := range dst {
		dst[i] = scale * float32(int8(codes[i]))
	}
}

// typeOf returns the element type of tensors, nil if files cannot have it.
func typeOf(d tensor.DType) *elementType {
	for _, t := range types {
		if t.dtype == d && t.floats == nil && !t.factor {
			return t
		}
	}
	return nil
}

// typeNames lists the element types of tensors, for messages.
func typeNames() string {
	var list []string
	for _, d := range tensor.AllDTypes() {
		if typeOf(d) != nil {
			list = append(list, d.String())
		}
	}
	return strings.Join(list, ", ")
}

// strange lists ranges of numbers that other programs and older versions give to types.
var strange = []struct {
	from, to uint32
	is       string
}{
	{4, 4, "Q4_2, which GGUF no longer has; quantise the original model again"},
	{5, 5, "Q4_3, which GGUF no longer has; quantise the original model again"},
	{31, 33, "Q4_0 with interleaved rows (Q4_0_4_4, Q4_0_4_8, Q4_0_8_8), which GGUF no longer has; take the file of Q4_0"},
	{36, 36, "IQ4_NL with interleaved rows (IQ4_NL_4_4), which GGUF no longer has; take the file of IQ4_NL"},
	{37, 38, "IQ4_NL with interleaved rows (IQ4_NL_4_8, IQ4_NL_8_8), which GGUF no longer has; take the file of IQ4_NL"},
	{97, 99, "a type of ik_llama.cpp; take a file that was made by llama.cpp"},
	{137, 137, "IQ2_K of ik_llama.cpp; take a file that was made by llama.cpp"},
	{138, 138, "IQ3_K of ik_llama.cpp; take a file that was made by llama.cpp"},
	{139, 139, "IQ4_K of ik_llama.cpp; take a file that was made by llama.cpp"},
	{140, 140, "IQ5_K of ik_llama.cpp; take a file that was made by llama.cpp"},
	{141, 141, "IQ6_K of ik_llama.cpp; take a file that was made by llama.cpp"},
	{144, 144, "IQ4_KS of ik_llama.cpp; take a file that was made by llama.cpp"},
	{133, 158, "a type of ik_llama.cpp; take a file that was made by llama.cpp"},
	{202, 399, "a type of ik_llama.cpp with interleaved rows; take a file that was made by llama.cpp"},
}

// stranger says, for messages, what a number of no known type stands for.
func stranger(number uint32) string {
	for _, s := range strange {
		if s.from <= number && number <= s.to {
			return fmt.Sprintf("number %d: %s", number, s.is)
		}
	}
	return fmt.Sprintf("number %d, which GGUF does not have", number)
}

// swap reverses the words of the blocks in data.
func (t *elementType) swap(data []byte) {
	for ; len(data) >= t.bytes; data = data[t.bytes:] {
		for _, w := range t.words {
			reverse(data[w.at:][:w.n*w.width], w.width)
		}
	}
}

// reverse reverses the bytes of each number of width bytes.
func reverse(data []byte, width int) {
	for ; len(data) >= width; data = data[width:] {
		for i, j := 0, width-1; i < j; i, j = i+1, j-1 {
			data[i], data[j] = data[j], data[i]
		}
	}
}

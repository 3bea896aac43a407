package gguf

import (
	"encoding/binary"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// builder makes files with fields that no writer gives them.
type builder struct {
	order interface {
		binary.ByteOrder
		binary.AppendByteOrder
	}
	version      uint32
	tensors      uint64 // count in the header, beyond the descriptions
	pairs        uint64 // likewise
	metadata     [][]byte
	descriptions [][]byte
}

func little() *builder { return &builder{order: binary.LittleEndian, version: 3} }

func big() *builder { return &builder{order: binary.BigEndian, version: 3} }

func (b *builder) u32(list []byte, v ...uint32) []byte {
	for _, v := range v {
		list = b.order.AppendUint32(list, v)
	}
	return list
}

func (b *builder) u64(list []byte, v ...uint64) []byte {
	for _, v := range v {
		list = b.order.AppendUint64(list, v)
	}
	return list
}

func (b *builder) text(s string) []byte { return append(b.u64(nil, uint64(len(s))), s...) }

// pair adds a pair of a type with these bytes.
func (b *builder) pair(key string, kind uint32, value []byte) *builder {
	b.metadata = append(b.metadata, append(b.u32(b.text(key), kind), value...))
	return b
}

// tensor adds the description of a tensor.
func (b *builder) tensor(name string, kind uint32, offset uint64, dims ...uint64) *builder {
	d := b.u32(b.text(name), uint32(len(dims)))
	d = b.u32(b.u64(d, dims...), kind)
	b.descriptions = append(b.descriptions, b.u64(d, offset))
	return b
}

// file returns the file, with data at a multiple of 32.
func (b *builder) file(data ...byte) []byte {
	out := b.u32([]byte(magic), b.version)
	out = b.u64(out, uint64(len(b.descriptions))+b.tensors, uint64(len(b.metadata))+b.pairs)
	for _, p := range b.metadata {
		out = append(out, p...)
	}
	for _, d := range b.descriptions {
		out = append(out, d...)
	}
	for len(out)%32 != 0 {
		out = append(out, 0)
	}
	return append(out, data...)
}

// scalar returns a number of metadata.
func scalar[T tensor.Element](key string, v T) graph.Pair {
	t, err := tensor.From([]T{v})
	if err != nil {
		panic(err)
	}
	return graph.Pair{Key: key, Data: t}
}

// pairs returns a pair of every type of values.
func pairs(t testing.TB) []graph.Pair {
	t.Helper()
	list := []graph.Pair{
		{Key: "text", Value: "größe"}, {Key: "empty", Value: ""}, scalar("u8", uint8(200)), scalar("i8", int8(-3)), scalar("u16", uint16(65535)),
		scalar("i16", int16(-2)), scalar("u32", uint32(1<<31)), scalar("i32", int32(-5)), scalar("u64", uint64(1<<63)), scalar("i64", int64(-7)),
		scalar("f32", float32(1.5)), scalar("f64", -0.1), scalar("bool", true),
	}
	add := func(key string, x *tensor.Tensor, err error) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, graph.Pair{Key: key, Data: x})
	}
	x, err := tensor.FromStrings([]string{"a", "", "b\x00\xff"}, 3)
	add("strings", x, err)
	x, err = tensor.From([]int32{1, -2, 3}, 3)
	add("i32s", x, err)
	x, err = tensor.From([]bool{true, false}, 2)
	add("bools", x, err)
	x, err = tensor.From([]float32{}, 0)
	add("none", x, err)
	b := little()
	inner := append(b.u64(b.u32(nil, 0), 2), 7, 8)
	inner = append(b.u64(b.u32(inner, stringValue), 1), b.text("in")...)
	inner = append(b.u64(b.u32(inner, arrayValue), 1), b.u32(b.u64(b.u32(nil, 4), 1), 9)...)
	x, err = tensor.From(append(b.u64(b.u32(nil, arrayValue), 3), inner...), 12+len(inner))
	add("arrays", x, err)
	list[len(list)-1].Kind = nested
	return list
}

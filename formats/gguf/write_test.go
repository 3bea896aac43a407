package gguf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// whole returns a model with a pair of every type of values and a tensor of every element type.
func whole(t testing.TB) *graph.Model {
	t.Helper()
	m := &graph.Model{Graph: &graph.Graph{}, Meta: pairs(t)}
	for _, d := range tensor.AllDTypes() {
		k := typeOf(d)
		if k == nil {
			continue
		}
		x := tensor.New(d, 2, 3*k.elements)
		for i := range x.Bytes() {
			x.Bytes()[i] = byte(i * 37)
		}
		m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: d.String(), Tensor: x})
	}
	return m
}

// TestWrite writes and reads every type of values and of elements.
func TestWrite(t *testing.T) {
	m := whole(t)
	data := written(t, m, container.Options{})
	got, err := Read(nil, "x", data)
	if err != nil {
		t.Fatal(err)
	}
	kinds := "string string u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool array of string array of i32 array of bool array of f32 array of array"
	var list []string
	for i := range m.Meta {
		list = append(list, got.Meta[i].Kind)
		m.Meta[i].Kind = got.Meta[i].Kind
	}
	if s := strings.Join(list, " "); s != kinds {
		t.Errorf("the kinds are %s, want %s", s, kinds)
	}
	same(t, got, m)
	if again := written(t, got, container.Options{}); !bytes.Equal(again, data) {
		t.Error("written otherwise than it was")
	}
	if len(data)%defaultAlignment != 0 {
		t.Errorf("the file has %d bytes", len(data))
	}
	got.Meta = append(got.Meta, scalar(alignmentKey, uint32(128)))
	wide, err := Read(nil, "x", written(t, got, container.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range wide.Graph.Initializers {
		if x.Stored.Offset%128 != 0 {
			t.Errorf("%s is at %d", x.Name, x.Stored.Offset)
		}
	}
}

// TestWriteRefused writes models that the format cannot hold.
func TestWriteRefused(t *testing.T) {
	tensors := func(name string, d tensor.DType, shape ...int) *graph.Model {
		return &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{{Name: name, Tensor: tensor.New(d, shape...)}}}}
	}
	meta := func(p ...graph.Pair) *graph.Model { return &graph.Model{Graph: &graph.Graph{}, Meta: p} }
	matrix := tensor.New(tensor.F32, 2, 2)
	for _, c := range []struct {
		m    *graph.Model
		o    container.Options // that lets the model be written; zero for none
		want string
	}{
		{tensors("w", tensor.U8, 3), container.Options{}, "is of uint8"},
		{tensors("w", tensor.Bool, 3), container.Options{}, "is of bool"},
		{tensors("w", tensor.F32, 1, 1, 1, 1, 1), container.Options{}, "has 5 axes"},
		{tensors("", tensor.F32, 1), container.Options{Rename: true}, "has no name"},
		{meta(graph.Pair{Key: "", Value: "x"}), container.Options{DropMeta: true}, "has no key"},
		{meta(graph.Pair{Key: "k"}, graph.Pair{Key: "k"}), container.Options{DropMeta: true}, "more than once"},
		{meta(graph.Pair{Key: "k", Data: matrix}), container.Options{DropMeta: true}, "numbers and lists"},
		{meta(graph.Pair{Key: "k", Data: tensor.New(tensor.F16, 2)}), container.Options{DropMeta: true}, "is of float16"},
		{meta(graph.Pair{Key: "k", Kind: nested, Data: tensor.New(tensor.U8, 12)}), container.Options{DropMeta: true}, "no array of arrays"},
		{meta(graph.Pair{Key: alignmentKey, Value: "32"}), container.Options{DropMeta: true}, "no power of two"},
		{meta(scalar(splitCountKey, uint16(3))), container.Options{DropMeta: true}, "several files"},
	} {
		var b bytes.Buffer
		err := Write(&b, c.m, container.Options{})
		if !errors.Is(err, graph.ErrUnsupported) || !strings.Contains(err.Error(), c.want) || b.Len() > 0 {
			t.Errorf("%v and %d bytes, want %q", err, b.Len(), c.want)
		}
		if c.o.Rename || c.o.DropMeta {
			if _, err := Read(nil, "x", written(t, c.m, c.o)); err != nil {
				t.Errorf("%s: %v", c.want, err)
			}
		}
	}
}

// TestWriteText writes metadata of other formats.
func TestWriteText(t *testing.T) {
	m := &graph.Model{Graph: &graph.Graph{}, Meta: []graph.Pair{{Key: "config.json", Kind: "json", Value: "{}"}, {Key: "n", Kind: "int", Value: "7"}}}
	got, err := Read(nil, "x", written(t, m, container.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(got.Meta[0].Kind, got.Meta[0].Value, got.Meta[1].Kind, got.Meta[1].Value); s != "string{}string7" {
		t.Errorf("the metadata is %v", got.Meta)
	}
}

// TestDequantize writes tensors of blocks as float32.
func TestDequantize(t *testing.T) {
	m := whole(t)
	got, err := Dequantize(context.Background(), m)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got.Graph.Initializers {
		from := m.Graph.Initializers[i].Tensor
		if from.DType().Blocks() == nil {
			if x.Tensor != from {
				t.Errorf("%s was changed", x.Name)
			}
			continue
		}
		want := make([]float32, from.Len())
		from.DType().Blocks().Unpack(want, from.Bytes())
		w, err := tensor.From(want, from.Shape()...)
		if err != nil {
			t.Fatal(err)
		}
		if x.Tensor.DType() != tensor.F32 || !bytes.Equal(x.Tensor.Bytes(), w.Bytes()) {
			t.Errorf("%s became %v", x.Name, x.Tensor)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Dequantize(ctx, m); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context: %v", err)
	}
}

package hnw

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func TestWrite(t *testing.T) {
	m := small(t)
	m.Opsets = []graph.Opset{{Domain: "x", Version: 3}, {Version: 21}}
	data := rewritten(t, m)
	got, err := Read(nil, "copy", data)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range m.Graph.Initializers {
		have := got.Graph.Initializers[i]
		if have.Name != want.Name || have.Tensor.DType() != want.Tensor.DType() || !have.Tensor.Shape().Equal(want.Tensor.Shape()) ||
			!bytes.Equal(have.Tensor.Bytes(), want.Tensor.Bytes()) {
			t.Errorf("%q became %q, %v", want.Name, have.Name, have.Tensor)
		}
		if have.Stored.Offset%align != 0 {
			t.Errorf("%q lies at %d", have.Name, have.Stored.Offset)
		}
	}
	meta := fmt.Sprint(got.Meta)
	for _, want := range []string{"{module.name Hydronnx.TinyNetV2 string", "{producer.onnx_opset 21 int", "{source.graph_name tiny", "{source.onnx_sha256 " + strings.Repeat("0", 64) + " sha256"} {
		if !strings.Contains(meta, want) {
			t.Errorf("%q is not in %s", want, meta)
		}
	}
	if want := []graph.Pair{{Key: "id", Value: "conv0_weight"}, {Key: "consumer", Value: "Hydronnx.TinyNetV2.conv0_weight"}}; !reflect.DeepEqual(got.Graph.Initializers[0].Meta, want) {
		t.Errorf("got %v", got.Graph.Initializers[0].Meta)
	}
	if !bytes.Equal(rewritten(t, got), data) || !bytes.Equal(rewritten(t, m), data) {
		t.Error("written again, it is other bytes")
	}
	if !json.Valid(data[headerSize : headerSize+int(data[12])+int(data[13])<<8]) {
		t.Error("the manifest is no JSON")
	}
}

// TestWriteKeepsLayout changes models that were read.
func TestWriteKeepsLayout(t *testing.T) {
	data := sealed(text(256, tensorText("b", 192, 4, "1", []byte{1, 0, 0, 0}), tensorText("a", 64, 4, "", []byte{2, 0, 0, 0})),
		append(append(append(make([]byte, 64), 2), make([]byte, 127)...), append([]byte{1}, make([]byte, 63)...)...))
	m, err := Read(nil, "", data)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(rewritten(t, m), data) {
		t.Error("written again, it is other bytes")
	}
	m.Graph.Initializers[0].Tensor = tensor.New(tensor.I64, 1)
	m.Meta[1].Value = "Other.Name"
	again, err := Read(nil, "", rewritten(t, m))
	if err != nil {
		t.Fatal(err)
	}
	start := again.Graph.Initializers[0].Stored.Offset
	if again.Graph.Initializers[1].Stored.Offset != start+64 || again.Source.(*origin).end != 68 {
		t.Errorf("laid out as %v", again.Source)
	}
	if name, _ := value(again.Meta, "module.name"); name != "Other.Name" {
		t.Errorf("module %q", name)
	}
}

// TestWriteSource writes ONNX models that have the metadata of an archive.
func TestWriteSource(t *testing.T) {
	old := strings.Repeat("ab", 32)
	m := small(t)
	m.Format, m.Raw = "onnx", []byte("the file")
	for _, c := range []struct {
		name  string
		meta  []graph.Pair
		nodes []*graph.Node
		want  string
	}{
		{"tensors", nil, nil, sumOf(m.Raw)},
		{"tensors of an archive", []graph.Pair{{Key: "source.onnx_sha256", Value: old}}, nil, old},
		{"a graph", []graph.Pair{{Key: "source.onnx_sha256", Value: old}}, []*graph.Node{{Op: "Neg"}}, sumOf(m.Raw)},
	} {
		m.Meta, m.Graph.Nodes = c.meta, c.nodes
		var b bytes.Buffer
		if err := Write(&b, m, container.Options{DropGraph: true}); err != nil {
			t.Fatal(err)
		}
		got, err := Read(nil, "", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if sum, _ := value(got.Meta, "source.onnx_sha256"); sum != c.want {
			t.Errorf("%s: %s, want %s", c.name, sum, c.want)
		}
	}
}

func TestWriteRefused(t *testing.T) {
	one := func(change func(m *graph.Model)) *graph.Model {
		m := &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{{Name: "w", Tensor: tensor.New(tensor.F32, 2)}}}}
		change(m)
		return m
	}
	first := func(m *graph.Model) *graph.Initializer { return m.Graph.Initializers[0] }
	strs, _ := tensor.FromStrings([]string{"a"}, 1)
	inner := &graph.Graph{Initializers: []*graph.Initializer{{Name: "w", Tensor: tensor.New(tensor.F32)}},
		Sparse: []*graph.SparseInitializer{{Name: "thin"}}}
	cases := []struct {
		name string
		m    *graph.Model
		want string
		fix  *container.Options // with which it can be written; nil for none
	}{
		{"type", one(func(m *graph.Model) { first(m).Tensor = tensor.New(tensor.U8, 2) }), `initialiser "w" is uint8, and the format has f32, f64, i32, i64, bool only`, nil},
		{"text", one(func(m *graph.Model) { first(m).Tensor = strs }), `"w" is string`, nil},
		{"half", one(func(m *graph.Model) { first(m).Tensor = tensor.New(tensor.F16, 2) }), `"w" is float16`, &container.Options{DType: tensor.F32}},
		{"no bool", one(func(m *graph.Model) { first(m).Tensor, _ = tensor.FromBytes(tensor.Bool, []int{1}, []byte{7}) }), "element 0 is 7", nil},
		{"no data", one(func(m *graph.Model) { first(m).Tensor = nil }), `"w" has no data`, nil},
		{"name", one(func(m *graph.Model) { first(m).Name = "a\xff" }), "no UTF-8", &container.Options{Rename: true}},
		{"no name", one(func(m *graph.Model) { first(m).Name = "" }), "has no name", &container.Options{Rename: true}},
		{"graph's name", one(func(m *graph.Model) { m.Graph.Name = "a\xff" }), "source.graph_name", &container.Options{Rename: true}},
		{"nodes", one(func(m *graph.Model) { m.Graph.Nodes = []*graph.Node{{Op: "Neg"}} }), "graph of 1 nodes", &container.Options{DropGraph: true}},
		{"inner graphs", one(func(m *graph.Model) {
			m.Graph.Nodes = []*graph.Node{{Attrs: []*graph.Attr{{Graph: inner}}}}
		}), "more than once", nil},
		{"inner sparse", one(func(m *graph.Model) {
			m.Functions = []*graph.Function{{Nodes: []*graph.Node{{Attrs: []*graph.Attr{{Graph: inner}}}}}}
		}), `"thin" is in sparse form`, nil},
		{"metadata", one(func(m *graph.Model) { m.Meta = []graph.Pair{{Key: "who"}} }), `metadata "who"`, &container.Options{DropMeta: true}},
		{"numbers", one(func(m *graph.Model) { m.Meta = []graph.Pair{{Key: "module.name", Data: tensor.New(tensor.F32)}} }), `metadata "module.name"`, &container.Options{DropMeta: true}},
		{"no digest", one(func(m *graph.Model) { m.Meta = []graph.Pair{{Key: "source.onnx_sha256", Value: "ab"}} }), "no SHA-256", nil},
		{"no number", one(func(m *graph.Model) { m.Meta = []graph.Pair{{Key: "producer.onnx_opset", Value: "x"}} }), "onnx_opset", nil},
		{"tensor's metadata", one(func(m *graph.Model) { first(m).Meta = []graph.Pair{{Key: "unit"}} }), `metadata "unit" of initialiser "w"`, &container.Options{DropMeta: true}},
		{"documentation", one(func(m *graph.Model) { m.Doc, m.Graph.Doc, first(m).Doc = "a", "b", "c" }), "documentation", &container.Options{DropMeta: true}},
		{"size", one(func(m *graph.Model) { m.Sizes = []graph.Size{{Name: "n"}} }), `"n"`, &container.Options{DropMeta: true}},
		{"declared", one(func(m *graph.Model) { m.Graph.Values = []*graph.Value{{Name: "v"}} }), `"v"`, &container.Options{DropMeta: true}},
		{"ids", one(func(m *graph.Model) {
			id := []graph.Pair{{Key: "id", Value: "q"}}
			first(m).Meta = id
			m.Graph.Initializers = append(m.Graph.Initializers, &graph.Initializer{Name: "v", Tensor: tensor.New(tensor.F32), Meta: id})
		}), `id "q", which another has`, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			err := Write(&b, c.m, container.Options{})
			if !errors.Is(err, graph.ErrUnsupported) || !strings.Contains(err.Error(), c.want) || b.Len() > 0 {
				t.Errorf("%d bytes, %v, want %q", b.Len(), err, c.want)
			}
			all := container.Options{DropMeta: true, DropGraph: true, Rename: true}
			if c.fix == nil {
				if err := Write(&b, c.m, all); err == nil {
					t.Error("written")
				}
				return
			}
			if err := Write(&b, c.m, *c.fix); err != nil {
				t.Fatal(err)
			}
			if list := Verify(nil, "", b.Bytes()); list != nil {
				t.Error(list)
			}
		})
	}
}

// TestWriteFails writes to a writer that accepts few bytes.
func TestWriteFails(t *testing.T) {
	m := small(t)
	size := len(rewritten(t, m))
	for n := 0; n < size; n += 7 {
		if err := Write(&full{n}, m, container.Options{}); !errors.Is(err, io.ErrShortWrite) {
			t.Fatalf("after %d bytes: %v", n, err)
		}
	}
}

type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	n := min(f.left, len(b))
	f.left -= n
	if n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

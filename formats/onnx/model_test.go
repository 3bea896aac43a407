package onnx

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// filled returns a tensor with bytes that count up. They are valid for every element type.
func filled(d tensor.DType, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range t.Bytes() {
		t.Bytes()[i] = byte(i + 1)
		if d == tensor.Bool {
			t.Bytes()[i] = byte(i & 1)
		}
	}
	if l := d.Layout(); l != nil {
		n := t.Len()
		codes := make([]int8, n)
		l.Unpack(codes, t.Bytes())
		l.Pack(t.Bytes(), codes)
	}
	for i := range t.Strings() {
		t.Strings()[i] = strings.Repeat("é", i)
	}
	return t
}

func ints(v ...int64) *tensor.Tensor { return must(tensor.From(v, len(v))) }

// everything returns a valid model with every kind of part that this package knows.
func everything() *graph.Model {
	f32 := graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n"), graph.Known(2), graph.Unknown(), graph.ParseDim("past + 1"), graph.Symbol("4")})
	anyRank := graph.TensorOf(tensor.F32, nil)
	scalar := graph.TensorOf(tensor.I64, graph.Dims{})
	meta := []graph.Pair{{Key: "k", Value: "v"}, {Key: "", Value: ""}}
	sparse := &graph.SparseTensor{Values: must(tensor.From([]float32{1, 2}, 2)), Indices: ints(1, 3), Shape: tensor.Shape{2, 2}}
	sub := &graph.Graph{
		Name: "branch", Outputs: []*graph.Value{{Name: "s", Type: f32}},
		Nodes: []*graph.Node{{Op: "Identity", Version: 17, Inputs: []string{"x"}, Outputs: []string{"s"}}},
	}
	attrs := []*graph.Attr{
		{Name: "f", Kind: graph.AttrFloat, Float: 1.5, Doc: "doc"},
		{Name: "i", Kind: graph.AttrInt, Int: -3},
		{Name: "s", Kind: graph.AttrString, Str: []byte("text")},
		{Name: "t", Kind: graph.AttrTensor, Tensor: ints(1, 2)},
		{Name: "g", Kind: graph.AttrGraph, Graph: sub},
		{Name: "fs", Kind: graph.AttrFloats, Floats: []float32{0, -1}},
		{Name: "is", Kind: graph.AttrInts, Ints: []int64{0, -1}},
		{Name: "none", Kind: graph.AttrInts},
		{Name: "ss", Kind: graph.AttrStrings, Strs: [][]byte{[]byte("a"), []byte("b")}},
		{Name: "ts", Kind: graph.AttrTensors, Tensors: []*tensor.Tensor{ints(1), ints(2)}},
		{Name: "gs", Kind: graph.AttrGraphs, Graphs: []*graph.Graph{sub}},
		{Name: "sp", Kind: graph.AttrSparse, Sparse: sparse},
		{Name: "sps", Kind: graph.AttrSparses, Sparses: []*graph.SparseTensor{sparse}},
		{Name: "tp", Kind: graph.AttrType, Type: &f32},
		{Name: "tps", Kind: graph.AttrTypes, Types: []*graph.Type{&f32, &anyRank, {}}},
	}
	g := &graph.Graph{
		Name: "main", Doc: "of the graph", Meta: meta,
		Inputs: []*graph.Value{
			{Name: "x", Type: f32, Doc: "doc", Meta: meta},
			{Name: "seq", Type: graph.Type{Kind: graph.SequenceType, Elem: &anyRank}},
			{Name: "opt", Type: graph.Type{Kind: graph.OptionalType, Elem: &graph.Type{Kind: graph.SequenceType, Elem: &scalar}}},
			{Name: "map", Type: graph.Type{Kind: graph.MapType, Key: tensor.String, Elem: &anyRank}},
			{Name: "sparse", Type: graph.Type{Kind: graph.SparseType, DType: tensor.F64, Dims: graph.Dims{graph.Known(0)}}},
			{Name: "opaque", Type: graph.Type{Kind: graph.OpaqueType, Domain: "d", Name: "n"}},
			{Name: "untyped"},
		},
		Outputs: []*graph.Value{{Name: "y", Type: scalar}, {Name: "z"}},
		Values:  []*graph.Value{{Name: "y0", Type: anyRank}},
		Sparse:  []*graph.SparseInitializer{{Name: "sp", Tensor: sparse}},
		Quant:   []*graph.QuantAnnotation{{Tensor: "y", Params: []graph.Pair{{Key: "SCALE_TENSOR", Value: "c"}}}},
		Nodes: []*graph.Node{
			{Name: "first", Op: "Whatever", Version: 17, Inputs: []string{"x", "", "float32"}, Outputs: []string{"y0", "", "y"}, Attrs: attrs, Doc: "doc", Meta: meta},
			{Op: "Scale", Domain: "local", Overload: "v2", Version: 1, Inputs: []string{"y0"}, Outputs: []string{"z"}},
		},
	}
	for _, d := range tensor.DTypes() {
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: d.String(), Tensor: filled(d, 5)})
	}
	g.Initializers[0].Doc, g.Initializers[0].Meta = "doc", meta
	g.Initializers = append(g.Initializers, &graph.Initializer{Name: "scalar", Tensor: filled(tensor.F32)})
	return &graph.Model{
		Format: Name, File: "everything.onnx", Producer: "p", ProducerVer: "1", Domain: "d", Version: 3, IR: 10, Doc: "of the model",
		Opsets: []graph.Opset{{Version: 17}, {Domain: "local", Version: 1}},
		Graph:  g, Meta: meta,
		Functions: []*graph.Function{{
			Domain: "local", Name: "Scale", Overload: "v2", Inputs: []string{"a"}, Outputs: []string{"b"},
			Attrs:    []string{"alpha"},
			Defaults: []*graph.Attr{{Name: "beta", Kind: graph.AttrFloat, Float: 1}},
			Opsets:   []graph.Opset{{Version: 13}},
			Nodes: []*graph.Node{{
				Op: "Elu", Version: 13, Inputs: []string{"a"}, Outputs: []string{"b"},
				Attrs: []*graph.Attr{{Name: "alpha", Kind: graph.AttrFloat, Ref: "alpha"}},
			}},
			Values: []*graph.Value{{Name: "b", Type: anyRank}}, Doc: "doc", Meta: meta,
		}},
	}
}

// small returns a model of few bytes, for tests that change each of them.
func small() *graph.Model {
	return &graph.Model{
		Format: Name, IR: 8, Opsets: []graph.Opset{{Version: 13}},
		Graph: &graph.Graph{
			Name:         "g",
			Inputs:       []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n"), graph.Known(2)})}},
			Outputs:      []*graph.Value{{Name: "y"}},
			Initializers: []*graph.Initializer{{Name: "w", Tensor: filled(tensor.F32, 2)}},
			Nodes: []*graph.Node{
				{Op: "Add", Version: 13, Inputs: []string{"x", "w"}, Outputs: []string{"t"}},
				{Op: "Clip", Version: 13, Inputs: []string{"t"}, Outputs: []string{"y"}, Attrs: []*graph.Attr{{Name: "min", Kind: graph.AttrInts, Ints: []int64{1}}}},
			},
		},
	}
}

func written(t testing.TB, m *graph.Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// checkRefused fails the test unless err is nil or an error that a reader may return.
func checkRefused(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if !errors.Is(err, graph.ErrFormat) && !errors.Is(err, graph.ErrUnsupported) {
		t.Errorf("error of no kind: %v", err)
	}
	var e *graph.Error
	if !errors.As(err, &e) || e.Stage != "load" && e.Stage != "validate" {
		t.Errorf("error of no stage: %v", err)
	}
}

func TestRoundTrip(t *testing.T) {
	m := everything()
	first := written(t, m)
	again, err := Read(nil, m.File, first)
	if err != nil {
		t.Fatal(err)
	}
	if err := graph.Validate(again); err != nil {
		t.Error(err)
	}
	if !reflect.DeepEqual(m, unplaced(again)) {
		t.Errorf("wrote\n%s\nread\n%s", dump(m), dump(again))
	}
	if !bytes.Equal(first, written(t, again)) {
		t.Error("the second writing gives other bytes")
	}
}

// unplaced clears the places of a model's constants in its file.
func unplaced(m *graph.Model) *graph.Model {
	forget := func(g *graph.Graph) {
		for _, init := range g.Initializers {
			init.Stored = nil
		}
	}
	forget(m.Graph)
	var inside func(nodes []*graph.Node)
	inside = func(nodes []*graph.Node) {
		for _, n := range nodes {
			for _, a := range n.Attrs {
				for _, g := range a.Subgraphs() {
					forget(g)
					inside(g.Nodes)
				}
			}
		}
	}
	inside(m.Graph.Nodes)
	for _, f := range m.Functions {
		inside(f.Nodes)
	}
	return m
}

func dump(m *graph.Model) string {
	var b strings.Builder
	if err := graph.Dump(&b, m); err != nil {
		return err.Error()
	}
	return b.String()
}

func TestWriteRefuses(t *testing.T) {
	cases := []struct {
		name   string
		change func(m *graph.Model)
		want   string
	}{
		{"no graph", func(m *graph.Model) { m.Graph = nil }, "no graph"},
		{"version unknown", func(m *graph.Model) { m.Graph.Nodes[0].Version = 0 }, `node "t": the version of Add-0 is not known`},
		{"version differs", func(m *graph.Model) { m.Graph.Nodes[0].Version = 7 }, `node "t": Add-7 in a model of operator set 13`},
		{"no tensor", func(m *graph.Model) { m.Graph.Initializers[0].Tensor = nil }, `constant "w" has no tensor`},
		{"no subgraph", func(m *graph.Model) {
			m.Graph.Nodes[0].Attrs = []*graph.Attr{{Name: "body", Kind: graph.AttrGraph}}
		}, `attribute "body" has no graph`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := small()
			c.change(m)
			err := Write(&bytes.Buffer{}, m)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestWriteAddsImports(t *testing.T) {
	m := small()
	m.Opsets, m.IR = nil, 0
	m.Graph.Nodes[0].Domain, m.Graph.Nodes[0].Version = "com.microsoft", 1
	again := must(Read(nil, "", written(t, m)))
	want := []graph.Opset{{Domain: "com.microsoft", Version: 1}, {Version: 13}}
	if !reflect.DeepEqual(again.Opsets, want) || again.IR != 8 {
		t.Errorf("imports %v, IR %d", again.Opsets, again.IR)
	}
}

func TestWriteIRVersion(t *testing.T) {
	cases := []struct{ ir, opset, want int64 }{
		{0, 9, 8}, {0, 17, 8}, {0, 19, 9}, {0, 22, 10}, {0, 28, 14}, {1, 1, 1}, {1, 2, 3}, {7, 13, 7},
	}
	for _, c := range cases {
		m := small()
		m.IR, m.Opsets = c.ir, []graph.Opset{{Version: int(c.opset)}}
		for _, n := range m.Graph.Nodes {
			n.Version = int(c.opset)
		}
		if got := must(Read(nil, "", written(t, m))).IR; got != c.want {
			t.Errorf("IR %d of operator set %d becomes %d, want %d", c.ir, c.opset, got, c.want)
		}
	}
}

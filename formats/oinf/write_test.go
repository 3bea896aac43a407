package oinf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// encode writes a model.
func encode(t testing.TB, m *graph.Model, o container.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, m, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// again writes a model and reads it. The model must be the same except for the order, and the next
// file must have the same bytes.
func again(t testing.TB, m *graph.Model) {
	t.Helper()
	data := encode(t, m, container.Options{})
	n, err := Read(nil, "again", data)
	if err != nil {
		t.Fatal(err)
	}
	if problems := Verify(nil, "again", data); problems != nil {
		t.Fatal(problems)
	}
	if a, b := content(m), content(n); !slices.Equal(a, b) {
		t.Fatalf("%q\nbecame\n%q", a, b)
	}
	if !bytes.Equal(encode(t, n, container.Options{}), data) {
		t.Fatal("written again, the file differs")
	}
}

// content returns the sorted content of a model.
func content(m *graph.Model) []string {
	list := []string{fmt.Sprint("version ", m.Container)}
	for _, s := range m.Sizes {
		list = append(list, fmt.Sprint("size ", s.Name, s.Value))
	}
	for _, p := range m.Meta {
		list = append(list, pair(p))
	}
	add := func(name, what string, meta []graph.Pair) {
		for _, p := range meta {
			what += " " + pair(p)
		}
		list = append(list, name+" "+what)
	}
	for _, v := range m.Graph.Values {
		add(v.Name, v.Type.String(), v.Meta)
	}
	for _, init := range m.Graph.Initializers {
		add(init.Name, init.Stored.DType+text(init.Tensor), init.Meta)
	}
	slices.Sort(list)
	return list
}

func pair(p graph.Pair) string { return p.Key + " " + p.Kind + " " + p.Value + text(p.Data) }

// text returns the type, the shape and the bits of all elements.
func text(t *tensor.Tensor) string {
	if t == nil {
		return ""
	}
	s := t.String()
	if !t.DType().IsFloat() {
		for i := range t.Len() {
			s += " " + t.Text(i)
		}
		return s
	}
	return fmt.Sprintf("%s %x", s, t.Bytes())
}

// TestSorted checks that the order of a model's parts does not change the file.
func TestSorted(t *testing.T) {
	m := quantized()
	want := encode(t, m, container.Options{})
	slices.Reverse(m.Sizes)
	slices.Reverse(m.Meta)
	slices.Reverse(m.Graph.Initializers)
	slices.Reverse(m.Graph.Values)
	if !bytes.Equal(encode(t, m, container.Options{}), want) {
		t.Error("the order matters")
	}
	n := must(Read(nil, "", want))
	if n.Meta[0].Key != "empty" || n.Graph.Initializers[0].Name != "t_bf16" || n.Graph.Values[0].Name != "u_bf16" {
		t.Errorf("%s, %s, %s are first", n.Meta[0].Key, n.Graph.Initializers[0].Name, n.Graph.Values[0].Name)
	}
}

// weight returns an initializer of zeros.
func weight(name string, d tensor.DType, shape ...int) *graph.Initializer {
	return &graph.Initializer{Name: name, Tensor: tensor.New(d, shape...)}
}

// TestRefused writes models of other formats. The error names every reason, nothing is written, and
// the options that it names help.
func TestRefused(t *testing.T) {
	meta, nodes, names := &container.Options{DropMeta: true}, &container.Options{DropGraph: true}, &container.Options{Rename: true}
	x := weight("x", tensor.F32, 2)
	node := &graph.Node{Op: "Relu", Inputs: []string{"x"}, Outputs: []string{"y"}}
	text, _ := tensor.FromStrings([]string{"a"}, 1)
	complete := &graph.Model{
		Producer: "p", Doc: "d",
		Graph: &graph.Graph{
			Initializers: []*graph.Initializer{x}, Nodes: []*graph.Node{node}, Outputs: []*graph.Value{{Name: "y"}},
			Values: []*graph.Value{{Name: "h"}}, Quant: []*graph.QuantAnnotation{{Tensor: "y"}},
		},
	}
	with := func(g graph.Graph) *graph.Model { return &graph.Model{Graph: &g} }
	all := func(list ...*graph.Initializer) *graph.Model { return with(graph.Graph{Initializers: list}) }
	cases := []struct {
		name string
		m    *graph.Model
		o    *container.Options // with which it can be written; nil for none
		want string
	}{
		{"no graph", &graph.Model{}, nil, "no graph"},
		{"nodes", complete, nodes, "the graph (1 nodes, 0 inputs, 1 outputs, 0 functions)"},
		{"sparse", with(graph.Graph{Sparse: []*graph.SparseInitializer{{Name: "s"}}}), nil, `tensor "s" is sparse`},
		{"strings", all(&graph.Initializer{Name: "s", Tensor: text}), nil, `tensor "s": OINF has no type for elements of string`},
		{"complex", all(weight("c", tensor.C64, 1)), nil, "complex64"},
		{"e4m3", all(weight("c", tensor.F8E4M3FN, 1)), &container.Options{DType: tensor.F16}, "float8e4m3fn"},
		{"name", all(weight("a/b", tensor.F32)), names, `tensor "a/b": the name takes`},
		{"no name", all(weight("", tensor.F32)), names, `tensor ""`},
		{"twice", all(weight("a", tensor.F32), weight("a", tensor.F32)), nil, `"a" has the name "a" already`},
		{"documentation", all(&graph.Initializer{Name: "x", Tensor: x.Tensor, Doc: "d"}), meta, `tensor "x": its documentation`},
		{"metadata of a tensor", all(&graph.Initializer{Name: "x", Tensor: x.Tensor, Meta: []graph.Pair{{Key: "k"}}}), meta, `its metadata "k"`},
		{"producer", &graph.Model{Producer: "p", Graph: &graph.Graph{}}, meta, `the producer ("p")`},
		{"version", &graph.Model{Version: 3, Graph: &graph.Graph{}}, meta, "version (3)"},
		{"graph's metadata", with(graph.Graph{Meta: []graph.Pair{{Key: "k"}}}), meta, `metadata "k" of the graph`},
		{"quantised by name", with(graph.Graph{Quant: []*graph.QuantAnnotation{{Tensor: "y"}}}), meta, `quantisation of "y"`},
		{"text", &graph.Model{Meta: []graph.Pair{{Key: "k", Value: "two words"}}, Graph: &graph.Graph{}}, meta, `metadata "k": the text takes`},
		{"key", &graph.Model{Meta: []graph.Pair{{Key: "a b", Value: "c"}}, Graph: &graph.Graph{}}, names, `metadata "a b": the name`},
		{"list of text", &graph.Model{Meta: []graph.Pair{{Key: "k", Data: text}}, Graph: &graph.Graph{}}, meta, "elements of string"},
		{"size", &graph.Model{Sizes: []graph.Size{{Name: "a b"}}, Graph: &graph.Graph{}}, meta, `size variable "a b"`},
		{"sizes", &graph.Model{Sizes: []graph.Size{{Name: "a"}, {Name: "a"}}, Graph: &graph.Graph{}}, meta, "already"},
		{"declared", with(graph.Graph{Values: []*graph.Value{{Name: "v", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("N")})}}}), meta, "cannot declare float32[N]"},
		{"declared with text", with(graph.Graph{Values: []*graph.Value{{Name: "v", Doc: "d", Type: graph.TensorOf(tensor.F32, graph.Dims{})}}}), meta, "its documentation"},
		{"declared type", with(graph.Graph{Values: []*graph.Value{{Name: "v", Type: graph.TensorOf(tensor.C64, graph.Dims{})}}}), meta, "cannot declare complex64[]"},
		{"declared sequence", with(graph.Graph{Values: []*graph.Value{{Name: "v", Type: graph.Type{Kind: graph.SequenceType}}}}), meta, "cannot declare sequence"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Write(&b, c.m, container.Options{}); err == nil || !strings.Contains(err.Error(), c.want) || b.Len() > 0 {
				t.Errorf("got %v after %d bytes, want %q", err, b.Len(), c.want)
			}
			if c.o != nil {
				if problems := Verify(nil, "", encode(t, c.m, *c.o)); problems != nil {
					t.Error(problems)
				}
			}
		})
	}
	var b bytes.Buffer
	err := Write(&b, all(weight("a/b", tensor.F32), weight("c", tensor.C64)), container.Options{})
	if err == nil || !strings.Contains(err.Error(), "a/b") || !strings.Contains(err.Error(), "complex64") {
		t.Errorf("not all reasons: %v", err)
	}
}

// TestQuantRefused writes invalid quantisations.
func TestQuantRefused(t *testing.T) {
	good := (&quant{scheme: 1, scaleMode: perTensor, scaleCount: 1, scales: make([]byte, 4)}).pairs()
	for want, change := range map[string]func(list []graph.Pair) []graph.Pair{
		"there is no quant.zero_point_axis":   func(l []graph.Pair) []graph.Pair { return l[:4] },
		"scheme 3":                            func(l []graph.Pair) []graph.Pair { l[0].Value = "odd"; return l },
		"mode 0 of scales":                    func(l []graph.Pair) []graph.Pair { l[1].Kind = "none"; return l },
		"quant.scale is none":                 func(l []graph.Pair) []graph.Pair { l[1].Data = nil; return l },
		"is int32[1], not a vector":           func(l []graph.Pair) []graph.Pair { l[1].Data = tensor.New(tensor.I32, 1); return l },
		"is float32[], not a vector":          func(l []graph.Pair) []graph.Pair { l[1].Data = tensor.New(tensor.F32); return l },
		`quant.scale_axis is "x"`:             func(l []graph.Pair) []graph.Pair { l[2].Value = "x"; return l },
		"2 scales along axis 0 for the whole": func(l []graph.Pair) []graph.Pair { l[1].Data = tensor.New(tensor.F32, 2); return l },
	} {
		m := &graph.Model{Format: Name, Container: 2, Graph: &graph.Graph{Initializers: []*graph.Initializer{weight("x", tensor.I8, 2)}}}
		m.Graph.Initializers[0].Meta = change(slices.Clone(good))
		err := Write(&bytes.Buffer{}, m, container.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		encode(t, m, container.Options{DropMeta: true})
	}
	m := quantized()
	m.Container = 1
	if err := Write(&bytes.Buffer{}, m, container.Options{}); err == nil || !strings.Contains(err.Error(), "no place in version 1") {
		t.Error(err)
	}
	again(t, must(Read(nil, "", encode(t, m, container.Options{DropMeta: true}))))
}

// TestOthers writes parts that a model of another format may have.
func TestOthers(t *testing.T) {
	m := &graph.Model{
		Format: "safetensors", Container: 2, // the version of another format
		Meta: []graph.Pair{
			{Key: "format", Value: "pt"}, {Key: "scale", Data: must(tensor.From([]float32{2}))},
			{Key: "list", Kind: "int64", Data: must(tensor.From([]int64{2, 3}, 2))},
		},
		Graph: &graph.Graph{
			Initializers: []*graph.Initializer{
				{Name: "w", Tensor: must(tensor.From([]float32{1, 2.5, 70000}, 3)), Stored: &graph.Stored{DType: "bitset"}},
				{Name: "b", Tensor: must(tensor.From([]bool{true}, 1))},
				{Name: "q", Tensor: must(tensor.FromBytes(tensor.I4, tensor.Shape{3}, []byte{0x21, 0xf3}))},
			},
			Values: []*graph.Value{{Name: "w", Type: graph.Type{}}}, // not declared: w has data
		},
	}
	got := content(must(Read(nil, "", encode(t, m, container.Options{DType: tensor.F16}))))
	want := []string{
		"b boolbool[1] true", "format string pt", "list ndarray int64[2] 2 3", "q i4int4[3] 1 2 3",
		"scale f32 float32[] 00000040", "version 1", "w f16float16[3] 003c0041007c",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}

// TestRename escapes names, keeps names that need no escape, and fails if two tensors would have
// one name.
func TestRename(t *testing.T) {
	cases := map[string]string{
		"": "_x", "a/b": "a_x2fb", "é": "_xc3_xa9", " _x2f": "_x20_x5fx2f", "a.b-c_D9": "a.b-c_D9", "_x2f": "_x2f",
		"/_x2g": "_x2f_x2g", "/_x": "_x2f_x", "/_X2f": "_x2f_X2f",
	}
	m := &graph.Model{Graph: &graph.Graph{}}
	for name := range cases {
		m.Graph.Initializers = append(m.Graph.Initializers, weight(name, tensor.U8))
	}
	n := must(Read(nil, "", encode(t, m, container.Options{Rename: true})))
	var got, want []string
	for _, init := range n.Graph.Initializers {
		got = append(got, init.Name)
	}
	for _, name := range cases {
		want = append(want, name)
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	m.Graph.Initializers = []*graph.Initializer{weight("a_x2f", tensor.U8), weight("a/", tensor.U8)}
	err := Write(&bytes.Buffer{}, m, container.Options{Rename: true})
	if err == nil || !strings.Contains(err.Error(), `tensor "a/": "a_x2f" has the name "a_x2f" already`) {
		t.Error(err)
	}
}

// TestEscape checks that different names that need an escape stay different.
func TestEscape(t *testing.T) {
	met := map[string]string{}
	const letters = "_x2f/"
	for i := range 1 << 16 {
		name := ""
		for n := i; n > 0; n /= len(letters) + 1 {
			if k := n % (len(letters) + 1); k > 0 {
				name += letters[k-1 : k]
			}
		}
		if holds(name) {
			continue
		}
		e := escape(name)
		if other, ok := met[e]; ok && other != name || !holds(e) {
			t.Fatalf("%q and %q become %q", name, other, e)
		}
		met[e] = name
	}
}

// TestFails writes to a writer that accepts few bytes.
func TestFails(t *testing.T) {
	m := quantized()
	n := len(encode(t, m, container.Options{}))
	m.Graph.Initializers = append(m.Graph.Initializers, weight("large", tensor.F64, 1<<16))
	for _, room := range []int{0, 100, n, 1 << 17} {
		if err := Write(&narrow{room}, m, container.Options{}); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("%d bytes: %v", room, err)
		}
	}
}

// narrow accepts room bytes.
type narrow struct{ room int }

func (w *narrow) Write(b []byte) (int, error) {
	n := min(len(b), w.room)
	if w.room -= n; n < len(b) {
		return n, io.ErrShortWrite
	}
	return n, nil
}

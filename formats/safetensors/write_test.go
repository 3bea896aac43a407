package safetensors

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func zeros(name string, d tensor.DType, shape ...int) *graph.Initializer {
	return &graph.Initializer{Name: name, Tensor: tensor.New(d, shape...)}
}

func write(t *testing.T, m *graph.Model, o container.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, m, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWriteOrder compares a file with the bytes of the reference writer for the same tensors
// (safetensors 0.8.0 for Python), except for the order of metadata.
func TestWriteOrder(t *testing.T) {
	m := &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{
		zeros("b", tensor.Bool, 1), zeros("u8", tensor.U8, 1), zeros("i8", tensor.I8, 1), zeros("e5", tensor.F8E5M2, 1), zeros("e4", tensor.F8E4M3FN, 1),
		zeros("e8", tensor.F8E8M0, 1), zeros("e4z", tensor.F8E4M3FNUZ, 1), zeros("e5z", tensor.F8E5M2FNUZ, 1),
		zeros("u64", tensor.U64, 1), zeros("i64", tensor.I64, 1), zeros("f64", tensor.F64, 1), zeros("c64", tensor.C64, 1), zeros("f32", tensor.F32),
		zeros("Z", tensor.F32, 2, 0), zeros("u32", tensor.U32, 1), zeros("i32", tensor.I32, 1), zeros("bf16", tensor.BF16, 1), zeros("f16", tensor.F16, 1),
		zeros("u16", tensor.U16, 1), zeros("i16", tensor.I16, 1), zeros("a\"\\/\x01\b\f\n\u2028é\x7f<", tensor.F32, 1),
	}}}
	data := write(t, m, container.Options{})
	const want = `{"u64":{"dtype":"U64","shape":[1],"data_offsets":[0,8]},"i64":{"dtype":"I64","shape":[1],"data_offsets":[8,16]},"f64":{"dtype":"F64","shape":[1],"data_offsets":[16,24]},` +
		`"c64":{"dtype":"C64","shape":[1],"data_offsets":[24,32]},"Z":{"dtype":"F32","shape":[2,0],"data_offsets":[32,32]},` +
		`"a\"\\/\u0001\b\f\n` + "\u2028é\x7f" + `<":{"dtype":"F32","shape":[1],"data_offsets":[32,36]},"f32":{"dtype":"F32","shape":[],"data_offsets":[36,40]},` +
		`"u32":{"dtype":"U32","shape":[1],"data_offsets":[40,44]},"i32":{"dtype":"I32","shape":[1],"data_offsets":[44,48]},"bf16":{"dtype":"BF16","shape":[1],"data_offsets":[48,50]},` +
		`"f16":{"dtype":"F16","shape":[1],"data_offsets":[50,52]},"u16":{"dtype":"U16","shape":[1],"data_offsets":[52,54]},"i16":{"dtype":"I16","shape":[1],"data_offsets":[54,56]},` +
		`"e5z":{"dtype":"F8_E5M2FNUZ","shape":[1],"data_offsets":[56,57]},"e4z":{"dtype":"F8_E4M3FNUZ","shape":[1],"data_offsets":[57,58]},"e8":{"dtype":"F8_E8M0","shape":[1],"data_offsets":[58,59]},` +
		`"e4":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[59,60]},"e5":{"dtype":"F8_E5M2","shape":[1],"data_offsets":[60,61]},"i8":{"dtype":"I8","shape":[1],"data_offsets":[61,62]},` +
		`"u8":{"dtype":"U8","shape":[1],"data_offsets":[62,63]},"b":{"dtype":"BOOL","shape":[1],"data_offsets":[63,64]}}`
	head := string(data[8 : 8+int(data[0])+int(data[1])<<8])
	if strings.TrimRight(head, " ") != want || len(head)%8 != 0 || len(head)-len(want) > 7 {
		t.Errorf("header\n%s\nwant\n%s", head, want)
	}
	if data := write(t, &graph.Model{Graph: &graph.Graph{}}, container.Options{}); string(data) != "\x08\x00\x00\x00\x00\x00\x00\x00{}      " {
		t.Errorf("nothing is %q", data)
	}
}

func TestWriteMeta(t *testing.T) {
	m := &graph.Model{Graph: &graph.Graph{}, Meta: []graph.Pair{{Key: "z", Value: "é\n"}, {Key: "a", Value: `{"x":1}`, Kind: "json"}}}
	data := write(t, m, container.Options{})
	if want := `{"__metadata__":{"a":"{\"x\":1}","z":"é\n"}}`; strings.TrimRight(string(data[8:]), " ") != want {
		t.Errorf("%s, want %s", data[8:], want)
	}
}

// TestWriteRestored writes files in their own order as they were, until a tensor or the metadata
// changes.
func TestWriteRestored(t *testing.T) {
	data := file(`{ "v":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}, "w":{"dtype":"F32","shape":[1],"data_offsets":[3,7]}}`, 7)
	read := func() *graph.Model {
		m, err := Read(nil, "x", data)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if !bytes.Equal(write(t, read(), container.Options{}), data) {
		t.Error("written otherwise than it was")
	}
	changed := map[string]func(m *graph.Model, o *container.Options){
		"type":     func(m *graph.Model, o *container.Options) { o.DType = tensor.F16 },
		"metadata": func(m *graph.Model, o *container.Options) { m.Meta = []graph.Pair{{Key: "a"}} },
		"name":     func(m *graph.Model, o *container.Options) { m.Graph.Initializers[0].Name = "x" },
		"number":   func(m *graph.Model, o *container.Options) { m.Graph.Initializers = m.Graph.Initializers[:1] },
		"shape":    func(m *graph.Model, o *container.Options) { m.Graph.Initializers[0] = zeros("v", tensor.U8, 1, 3) },
	}
	for name, change := range changed {
		m, o := read(), container.Options{}
		change(m, &o)
		got := write(t, m, o)
		again, err := Read(nil, "y", got)
		if err != nil || bytes.Contains(got, []byte(`{ "v"`)) {
			t.Errorf("%s changed: %v", name, err)
			continue
		}
		if o.DType == tensor.Invalid {
			same(t, again, m)
		}
	}
}

func TestWriteRefused(t *testing.T) {
	m := &graph.Model{
		Meta:  []graph.Pair{{Key: "a", Value: "1"}, {Key: "a", Value: "2"}, {Key: "mean", Data: tensor.New(tensor.F32, 1)}, {Key: "bad", Value: "\xff"}},
		Sizes: []graph.Size{{Name: "batch", Value: 3}},
		Graph: &graph.Graph{
			Values:       []*graph.Value{{Name: "later"}},
			Initializers: []*graph.Initializer{zeros("__metadata__", tensor.F64, 1), zeros("\xffé", tensor.I4, 1), zeros("k", tensor.C128, 1), zeros("k", tensor.I32, 1), zeros("a%", tensor.F16, 1)},
		},
	}
	err := Write(&bytes.Buffer{}, m, container.Options{})
	if !errors.Is(err, graph.ErrUnsupported) {
		t.Fatal(err)
	}
	for _, w := range []string{`"a" is there more`, `"mean"`, `"bad"`, `"batch"`, `"later"`, `"__metadata__" has the name`, `"\xffé" has a name`, "int4", "complex128", `"k" is there more`} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("no %s in:\n%v", w, err)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n != 9 {
		t.Errorf("%d reasons:\n%v", n+1, err)
	}
	m.Graph.Initializers = []*graph.Initializer{zeros("__metadata__", tensor.F64, 1), zeros("\xffé", tensor.I32, 1), zeros("a%", tensor.F16, 1)}
	again, err := Read(nil, "x", write(t, m, container.Options{DropMeta: true, Rename: true, DType: tensor.BF16}))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range again.Graph.Initializers {
		names = append(names, x.Name+" "+x.Stored.DType)
	}
	if got := strings.Join(names, ", "); got != "%FF%C3%A9 I32, %5F_metadata__ BF16, a%25 BF16" {
		t.Errorf("tensors %s", got)
	}
	if len(again.Meta) != 1 || again.Meta[0].Value != "1" {
		t.Errorf("metadata %v", again.Meta)
	}
}

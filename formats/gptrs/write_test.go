package gptrs

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func from[T tensor.Element](t *testing.T, name string, data []T, shape ...int) *graph.Initializer {
	t.Helper()
	x, err := tensor.From(data, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return &graph.Initializer{Name: name, Tensor: x}
}

func write(t *testing.T, f *Format, m *graph.Model, o container.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b, m, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestWriteSmall writes the two small files from models made in memory.
func TestWriteSmall(t *testing.T) {
	m := &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{from(t, "w", []float32{1, -2}, 1, 2)}},
		Meta: []graph.Pair{{Key: "config", Value: `{"kind":"t","config":{}}`}}}
	if got := write(t, Checkpoint, m, container.Options{}); !bytes.Equal(got, smallCheckpoint) {
		t.Errorf("checkpoint %x", got)
	}
	m = &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{from(t, "ids", []int32{7, -1}, 2)}}}
	if got := write(t, Archive, m, container.Options{}); !bytes.Equal(got, smallArchive) {
		t.Errorf("archive %x", got)
	}
	again, err := Checkpoint.Read(nil, "x", write(t, Checkpoint, m, container.Options{}))
	if err != nil || again.Meta[0].Value != noConfig || !errors.Is(Check(again), UnsupportedKind) {
		t.Errorf("without a configuration: %v, %v", err, Check(again))
	}
}

func TestWriteAllTypes(t *testing.T) {
	f16 := &graph.Initializer{Name: "h", Tensor: tensor.New(tensor.F16, 3)}
	copy(f16.Tensor.Bytes(), "abcdef")
	bf16 := &graph.Initializer{Name: "b", Tensor: tensor.New(tensor.BF16, 1, 0)}
	scalar := from(t, "s", []float32{3})
	m := &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{f16, scalar, bf16, from(t, "i", []int32{1, 2}, 2, 1)}}}
	for _, f := range []*Format{Checkpoint, Archive} {
		data := write(t, f, m, container.Options{})
		again, err := f.Read(nil, "x", data)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for i, x := range again.Graph.Initializers {
			names = append(names, x.Name+" "+x.Stored.DType+" "+x.Tensor.String())
			if i == 1 && string(x.Tensor.Bytes()) != "abcdef" {
				t.Errorf("bytes %q", x.Tensor.Bytes())
			}
		}
		if got := strings.Join(names, ", "); got != "b bf16 bfloat16[1,0], h f16 float16[3], i i32 int32[2,1], s f32 float32[]" {
			t.Errorf("tensors %s", got)
		}
		if !bytes.Equal(write(t, f, again, container.Options{}), data) {
			t.Error("written otherwise the second time")
		}
	}
}

func TestWriteRefused(t *testing.T) {
	m := &graph.Model{
		Meta:  []graph.Pair{{Key: "author", Value: "x"}, {Key: "config", Kind: "json", Value: "{}"}, {Key: "mean", Data: tensor.New(tensor.F32, 1)}},
		Sizes: []graph.Size{{Name: "batch", Value: 3}},
		Graph: &graph.Graph{
			Nodes:        []*graph.Node{{Op: "Relu"}},
			Outputs:      []*graph.Value{{Name: "y"}},
			Initializers: []*graph.Initializer{from(t, "größe", []float64{1}, 1), from(t, "", []int32{1}, 1), from(t, "k", []int64{1}, 1), from(t, "k", []int32{1}, 1)},
		},
	}
	refused := func(f *Format, o container.Options, want ...string) {
		t.Helper()
		var b bytes.Buffer
		err := f.Write(&b, m, o)
		if b.Len() > 0 || !errors.Is(err, graph.ErrUnsupported) {
			t.Fatalf("%d bytes written, %v", b.Len(), err)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("no %q in:\n%v", w, err)
			}
		}
		if n := strings.Count(err.Error(), "\n") + 1; n != len(want) {
			t.Errorf("%d reasons, want %d:\n%v", n, len(want), err)
		}
	}
	refused(Checkpoint, container.Options{}, `"author"`, "config is no configuration", `"mean"`, `"batch"`, "1 nodes", `"größe" has a name that is not ASCII`, `"" has no name`,
		"float64", "int64", "more than once")
	refused(Archive, container.Options{}, `"author"`, `"config"`, `"mean"`, `"batch"`, "1 nodes", `"" has no name`, "float64", "int64", "more than once")
	o := container.Options{DropMeta: true, DropGraph: true, Rename: true, DType: tensor.F32}
	refused(Archive, o, "int64", "more than once")
	m.Graph.Initializers = append(m.Graph.Initializers[:2], from(t, "100%", []int32{1}, 1))
	got, err := Archive.Read(nil, "x", write(t, Archive, m, o))
	if err != nil || got.Graph.Initializers[0].Name != "%" || got.Graph.Initializers[1].Name != "100%25" || got.Graph.Initializers[2].Name != "gr%C3%B6%C3%9Fe" {
		t.Errorf("renamed: %v", err)
	}
	m.Meta[1].Value = `{"kind":"gpt"}`
	refused(Checkpoint, o, "vocab_size is missing")
	m.Meta = nil
	if got, err = Checkpoint.Read(nil, "x", write(t, Checkpoint, m, o)); err != nil || got.Graph.Initializers[2].Tensor.DType() != tensor.F32 {
		t.Errorf("converted: %v", err)
	}
}

// TestSource checks that absent base ids and reserved bytes are written as they were read, and that
// a model without a Source gets the defaults.
func TestSource(t *testing.T) {
	data := bytes.Clone(smallCheckpoint)
	at := bytes.Index(data, []byte("w\xf2")) + 1
	clear(data[at : at+16])
	data[at+16+4+16+4] = 7
	m, err := Checkpoint.Read(nil, "x", data)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(write(t, Checkpoint, m, container.Options{}), data) {
		t.Error("written otherwise than it was")
	}
	m.Source = nil
	if !bytes.Equal(write(t, Checkpoint, m, container.Options{}), smallCheckpoint) {
		t.Error("without an origin something of the file is left")
	}
}

// TestNamespaceID compares namespaces of up to 128 bits with their digits and keys.
func TestNamespaceID(t *testing.T) {
	base := BaseParamID("w")
	met := map[ID]bool{}
	for _, c := range []struct {
		high, low uint64
		want      string
	}{
		{0, 0, "00000000000000000000000000000000"},
		{0, 1, "00000000000000000000000000000001"},
		{1, 0, "00000000000000010000000000000000"},
		{0xfedcba9876543210, 0x0123456789abcdef, "fedcba98765432100123456789abcdef"},
	} {
		id := NamespaceID(c.high, c.low)
		if id.String() != c.want || id[0] != byte(c.low) || id[8] != byte(c.high) {
			t.Errorf("namespace %x %x is %v", c.high, c.low, id)
		}
		key := ParamKey(id, base)
		if met[key] {
			t.Errorf("namespace %v gives the key of another", id)
		}
		met[key] = true
	}
}

package formats_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const testdata = "onnx/testdata"

func TestLoad(t *testing.T) {
	for _, path := range testenv.Files(t, testdata, "*.onnx") {
		broken := strings.HasPrefix(filepath.Base(path), "broken_")
		m, err := formats.Load(path)
		if (err != nil) != broken {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		if problems := formats.Verify(path); (len(problems) > 0) != broken {
			t.Errorf("%s: problems %v", path, problems)
		}
		if f, err := formats.Probe(path); err != nil || f.Name != "onnx" {
			t.Errorf("%s is of format %q (%v)", path, f.Name, err)
		}
	}
}

func TestLoadRefused(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cases := []struct {
		name string
		path string
		kind error
		want string
	}{
		{"nowhere", filepath.Join(dir, "nix.onnx"), fs.ErrNotExist, "no such file"},
		{"folder", dir, graph.ErrFormat, "no file *.safetensors; a model of another format is opened by the path of its file"},
		{"unknown content", write("a.bin", "hello"), graph.ErrUnsupported, "no format that is known ("},
		{"empty", write("b.bin", ""), graph.ErrFormat, "b.bin: load: the file is empty"},
		{"pointer", write("p.onnx", "version https://git-lfs.github.com/spec/v1\n"), graph.ErrFormat, "git lfs pull"},
		{"page", write("p.bin", "<!DOCTYPE html>"), graph.ErrUnsupported, "a page of the web"},
		{"archive", write("p.pt", "PK\x03\x04"), graph.ErrUnsupported, "torch.onnx.export"},
		{"other framework", write("p.tflite", "\x1c\x00\x00\x00TFL3"), graph.ErrUnsupported, "TensorFlow Lite"},
		{"unknown content, known name", write("c.onnx", "hello"), graph.ErrFormat,
			"no format that is known; read as onnx by its extension: ModelProto"},
		{"empty, known name", write("d.onnx", ""), graph.ErrFormat, "d.onnx: load: the file is empty"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := formats.Load(c.path)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("got %v, want %q of kind %v", err, c.want, c.kind)
			}
			if got := formats.Verify(c.path); len(got) == 0 || got[0].Error() != err.Error() {
				t.Errorf("verify finds %v, load %v", got, err)
			}
			name, _ := filepath.Rel(dir, c.path)
			if _, err := formats.LoadFS(os.DirFS(dir), name); err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, c.kind) {
				t.Errorf("from a file system: got %v, want %q of kind %v", err, c.want, c.kind)
			}
			if err != nil && strings.Count(err.Error(), filepath.Base(c.path)) > 2 {
				t.Errorf("the file is named over and over: %v", err)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(testdata, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if m, err := formats.Decode("small", read("small.onnx")); err != nil || m.File != "small" {
		t.Error(err)
	}
	for name, want := range map[string]string{
		"broken_cycle.onnx": "part of a cycle", "broken_opset.onnx": "operator set 99", "external.onnx": "open the model as a file",
	} {
		if _, err := formats.Decode(name, read(name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	if _, err := formats.Decode("text", []byte("hello")); !errors.Is(err, graph.ErrUnsupported) {
		t.Errorf("text: %v", err)
	}
}

// TestSaveOver saves a model over the file that it is mapped from.
func TestSaveOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.onnx")
	m := &graph.Model{
		Opsets: []graph.Opset{{Version: 17}},
		Graph: &graph.Graph{Initializers: []*graph.Initializer{{Name: "w", Tensor: tensor.New(tensor.F32, 1<<16)}},
			Outputs: []*graph.Value{{Name: "w"}}},
	}
	for range 3 {
		if err := formats.Save(path, m, formats.Options{}); err != nil {
			t.Fatal(err)
		}
		m.Close()
		var err error
		if m, err = formats.Load(path); err != nil {
			t.Fatal(err)
		}
		m.Producer += "+"
	}
	defer m.Close()
	if m.Producer != "+++" || len(m.Graph.Initializers[0].Tensor.Bytes()) != 4<<16 {
		t.Errorf("producer %q", m.Producer)
	}
	if err := formats.Save(path+".txt", m, formats.Options{}); !errors.Is(err, graph.ErrUnsupported) {
		t.Errorf("saved a format that is not known: %v", err)
	}
}

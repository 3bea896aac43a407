package nacre_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// shifted returns the model y = x + w for w = 1, 2, 3.
func shifted() *graph.Model {
	w, err := tensor.From([]float32{1, 2, 3}, 3)
	check(err)
	vector := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(3)})
	return &graph.Model{IR: 10, Opsets: []graph.Opset{{Version: 21}}, Graph: &graph.Graph{
		Name:         "shifted",
		Inputs:       []*graph.Value{{Name: "x", Type: vector}},
		Outputs:      []*graph.Value{{Name: "y", Type: vector}},
		Initializers: []*graph.Initializer{{Name: "w", Tensor: w}},
		Nodes:        []*graph.Node{{Op: "Add", Version: 21, Inputs: []string{"x", "w"}, Outputs: []string{"y"}}},
	}}
}

// shiftedData is the name of the weights file of shifted, saved as m.onnx.
const shiftedData = "m.onnx.8e628779e6a74ee0.data"

// saveSplit saves shifted as m.onnx with its weights beside it, and returns the bytes of both
// files.
func saveSplit(dir string) (model, weights []byte) {
	path := filepath.Join(dir, "m.onnx")
	check(onnx.Save(path, shifted(), onnx.SaveOptions{External: 1}))
	model, err := os.ReadFile(path)
	check(err)
	weights, err = os.ReadFile(filepath.Join(dir, shiftedData))
	check(err)
	return model, weights
}

// splitModel returns the two files of saveSplit.
func splitModel() (model, weights []byte) {
	dir, err := os.MkdirTemp("", "nacre")
	check(err)
	defer os.RemoveAll(dir)
	return saveSplit(dir)
}

// externalFiles saves these files in the folder models below dir.
func externalFiles(t testing.TB) (dir string, model, weights []byte) {
	t.Helper()
	dir = t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "models"), 0o777); err != nil {
		t.Fatal(err)
	}
	model, weights = saveSplit(filepath.Join(dir, "models"))
	return dir, model, weights
}

// checkShifted runs the model and closes it.
func checkShifted(t *testing.T, m *nacre.Model, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Run(context.Background(),
		map[string]*nacre.Tensor{"x": made(t)(nacre.NewTensor([]float32{10, 20, 30}, 3))})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []io.Closer{s, m} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if y, err := nacre.Data[float32](out["y"]); err != nil || !slices.Equal(y, []float32{11, 22, 33}) {
		t.Errorf("y is %v (%v)", y, err)
	}
}

// TestExternalData reads one model in every way.
func TestExternalData(t *testing.T) {
	dir, model, weights := externalFiles(t)
	beside := nacre.Files{shiftedData: weights}
	all := nacre.Files{"models/m.onnx": model, "models/" + shiftedData: weights}
	mapFS := fstest.MapFS{}
	for name, data := range all {
		mapFS[name] = &fstest.MapFile{Data: data}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, c := range []struct {
		name string
		open func() (*nacre.Model, error)
	}{
		{"path", func() (*nacre.Model, error) { return nacre.Open(filepath.Join(dir, "models", "m.onnx")) }},
		{"Files", func() (*nacre.Model, error) { return nacre.OpenFS(all, "models/m.onnx") }},
		{"MapFS", func() (*nacre.Model, error) { return nacre.OpenFS(mapFS, "models/m.onnx") }},
		{"DirFS", func() (*nacre.Model, error) { return nacre.OpenFS(os.DirFS(dir), "models/m.onnx") }},
		{"Root", func() (*nacre.Model, error) { return nacre.OpenFS(root.FS(), "models/m.onnx") }},
		{"Decode with Files", func() (*nacre.Model, error) { return nacre.Decode("m", model, beside) }},
		{"Decode with a folder", func() (*nacre.Model, error) { return nacre.Decode("m", model, os.DirFS(filepath.Join(dir, "models"))) }},
		{"ReaderAt", func() (*nacre.Model, error) {
			return nacre.OpenReaderAt("m", bytes.NewReader(model), int64(len(model)), beside)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := c.open()
			checkShifted(t, m, err)
		})
	}
}

// TestExternalDataRefused gives models names of files that they must not use.
func TestExternalDataRefused(t *testing.T) {
	dir, model, weights := externalFiles(t)
	const location = shiftedData
	fill := func(begin, unit string) string {
		return begin + strings.Repeat(unit, len(location))[:len(location)-len(begin)]
	}
	secret := filepath.Join(dir, "models", "sub")
	if err := os.Mkdir(secret, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]error{
		fill("../", "m"): nacre.ErrFormat, fill("/etc/", "p"): nacre.ErrFormat, fill("a/../", "m"): nacre.ErrFormat, fill("m\x00", "m"): nacre.ErrFormat,
		fill("sub", "/"): nacre.ErrFormat, fill("", "./"): nacre.ErrFormat, fill("m.onnx.", "X"): fs.ErrNotExist,
	} {
		if len(name) != len(location) {
			t.Fatalf("%q does not take the place of %q", name, location)
		}
		changed := bytes.ReplaceAll(model, []byte(location), []byte(name))
		files := nacre.Files{"m.data": weights, "onnx.data": weights, "sub": nil}
		for what, beside := range map[string]fs.FS{"Files": files, "DirFS": os.DirFS(filepath.Join(dir, "models"))} {
			if _, err := nacre.Decode("m", changed, beside); !errors.Is(err, kind) {
				t.Errorf("%q in %s: got %v, want %v", name, what, err, kind)
			}
		}
	}
	if _, err := nacre.Decode("m", model); !errors.Is(err, nacre.ErrUnsupported) {
		t.Errorf("without files: %v", err)
	}
	if _, err := nacre.Decode("m", model,
		nacre.Files{location: weights[:len(weights)-1]}); !errors.Is(err, nacre.ErrFormat) {
		t.Errorf("with too few bytes: %v", err)
	}
	if _, err := nacre.Decode("m", model, nacre.Files{}, nacre.Files{}); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("with two file systems: %v", err)
	}
}

// TestLinks checks that neither OpenFS of a root nor Open follows a link out of the folder.
func TestLinks(t *testing.T) {
	dir, _, _ := externalFiles(t)
	inner := filepath.Join(dir, "models")
	outside := filepath.Join(dir, "outside.data")
	if err := os.Rename(filepath.Join(inner, shiftedData), outside); err != nil {
		t.Fatal(err)
	}
	testenv.Need(t, os.Symlink(outside, filepath.Join(inner, shiftedData)))
	root, err := os.OpenRoot(inner)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if m, err := nacre.OpenFS(root.FS(), "m.onnx"); err == nil {
		m.Close()
		t.Error("a link that leads out of a root was followed")
	}
	if m, err := nacre.Open(filepath.Join(inner, "m.onnx")); err == nil {
		m.Close()
		t.Error("a link was followed")
	}
}

func TestOpenErrors(t *testing.T) {
	dir, model, _ := externalFiles(t)
	files := nacre.Files{"m.onnx": model[:len(model)/2], "text.dat": []byte("text")}
	for _, c := range []struct {
		name string
		open func() (*nacre.Model, error)
		kind error
	}{
		{"no file", func() (*nacre.Model, error) { return nacre.Open(filepath.Join(dir, "none.onnx")) }, fs.ErrNotExist},
		{"no file in Files", func() (*nacre.Model, error) { return nacre.OpenFS(files, "none.onnx") }, fs.ErrNotExist},
		{"no file in a folder", func() (*nacre.Model, error) { return nacre.OpenFS(os.DirFS(dir), "none.onnx") }, fs.ErrNotExist},
		{"a name that leads out", func() (*nacre.Model, error) { return nacre.OpenFS(os.DirFS(dir), "../m.onnx") }, fs.ErrInvalid},
		{"a name that leads out of Files", func() (*nacre.Model, error) { return nacre.OpenFS(files, "../m.onnx") }, fs.ErrInvalid},
		{"an absolute name", func() (*nacre.Model, error) { return nacre.OpenFS(files, "/m.onnx") }, fs.ErrInvalid},
		{"no name", func() (*nacre.Model, error) { return nacre.OpenFS(files, "") }, fs.ErrInvalid},
		{"no file system", func() (*nacre.Model, error) { return nacre.OpenFS(nil, "m.onnx") }, nacre.ErrOption},
		{"cut off", func() (*nacre.Model, error) { return nacre.OpenFS(files, "m.onnx") }, nacre.ErrFormat},
		{"cut off in memory", func() (*nacre.Model, error) { return nacre.Decode("m", model[:len(model)/2]) }, nacre.ErrFormat},
		{"no format", func() (*nacre.Model, error) { return nacre.OpenFS(files, "text.dat") }, nacre.ErrUnsupported},
		{"no format in memory", func() (*nacre.Model, error) { return nacre.Decode("text", []byte("text")) }, nacre.ErrUnsupported},
		{"nothing", func() (*nacre.Model, error) { return nacre.Decode("nothing", nil) }, nacre.ErrFormat},
		{"no reader", func() (*nacre.Model, error) { return nacre.OpenReaderAt("m", nil, 1) }, nacre.ErrOption},
		{"a negative size", func() (*nacre.Model, error) { return nacre.OpenReaderAt("m", bytes.NewReader(model), -1) }, nacre.ErrOption},
		{"a reader that is too short", func() (*nacre.Model, error) {
			return nacre.OpenReaderAt("m", bytes.NewReader(model), int64(len(model))+1)
		}, io.ErrUnexpectedEOF},
		{"a huge size", func() (*nacre.Model, error) { return nacre.OpenReaderAt("m", bytes.NewReader(model), 1<<62) }, io.ErrUnexpectedEOF},
		{"a reader that fails", func() (*nacre.Model, error) { return nacre.OpenReaderAt("m", failing{}, 100) }, errBroken},
		{"a file that fails", func() (*nacre.Model, error) { return nacre.OpenFS(failingFS{}, "m.onnx") }, errBroken},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := c.open()
			if err == nil {
				m.Close()
			}
			if !errors.Is(err, c.kind) {
				t.Errorf("got %v, want %v", err, c.kind)
			}
		})
	}
}

var errBroken = errors.New("the disk is broken")

// failing is a reader that returns a few bytes and then an error.
type failing struct{}

func (failing) ReadAt(p []byte, at int64) (int, error) {
	if at > 0 {
		return 0, errBroken
	}
	return min(len(p), 10), errBroken
}

// failingFS has one file, which cannot be read.
type failingFS struct{}

func (failingFS) Open(name string) (fs.File, error) {
	f, err := fstest.MapFS{name: {Data: make([]byte, 100)}}.Open(name)
	return failingFile{f}, err
}

type failingFile struct{ fs.File }

func (failingFile) Read(p []byte) (int, error) { return iotest.ErrReader(errBroken).Read(p) }

// TestShards opens a folder and an index of safetensors in a file system.
func TestShards(t *testing.T) {
	dir := t.TempDir()
	m := shifted()
	m.Graph.Nodes, m.Graph.Inputs, m.Graph.Outputs = nil, nil, nil
	for _, name := range []string{"a", "b"} {
		m.Graph.Initializers[0].Name = name
		if err := formats.Save(filepath.Join(dir, name+".safetensors"), m,
			formats.Options{DropGraph: true, DropMeta: true}); err != nil {
			t.Fatal(err)
		}
	}
	files := fstest.MapFS{"m/model.safetensors.index.json": {Data: []byte(`{"weight_map": {"a": "a.safetensors", "b": "b.safetensors"}}`)}}
	for _, name := range []string{"a.safetensors", "b.safetensors"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files["m/"+name] = &fstest.MapFile{Data: data}
	}
	weights := func(m *nacre.Model, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		var list []string
		for _, w := range m.Weights() {
			list = append(list, w.String())
		}
		return strings.Join(list, ", ")
	}
	const want = "a float32[3], b float32[3]"
	sub, err := fs.Sub(files, "m")
	if err != nil {
		t.Fatal(err)
	}
	index := files["m/model.safetensors.index.json"].Data
	for what, got := range map[string]string{
		"folder": weights(nacre.OpenFS(files, "m")), "index": weights(nacre.OpenFS(files, "m/model.safetensors.index.json")),
		"index in memory": weights(nacre.Decode("index", index, sub)), "folder on disk": weights(nacre.Open(dir)),
	} {
		if got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	if _, err := nacre.Decode("index", index); !errors.Is(err, nacre.ErrUnsupported) {
		t.Errorf("an index without files: %v", err)
	}
	hostile := []byte(`{"weight_map": {"a": "../m/a.safetensors"}}`)
	if _, err := nacre.Decode("index", hostile, sub); !errors.Is(err, nacre.ErrFormat) {
		t.Errorf("an index that leads out: %v", err)
	}
	delete(files, "m/b.safetensors")
	if _, err := nacre.OpenFS(files, "m"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a shard that is not there: %v", err)
	}
}

package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/hnw"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// given saves a model with its weights as outputs, and returns path.
func given(t *testing.T, path string, weights map[string]*tensor.Tensor) string {
	t.Helper()
	g := &graph.Graph{Name: "given"}
	for _, name := range sortedKeys(weights) {
		w := weights[name]
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: name, Tensor: w})
		g.Nodes = append(g.Nodes, &graph.Node{Op: "Identity", Version: 17, Inputs: []string{name},
			Outputs: []string{name + "_out"}})
		g.Outputs = append(g.Outputs, &graph.Value{Name: name + "_out",
			Type: graph.TensorOf(w.DType(), graph.DimsOf(w.Shape()))})
	}
	m := &graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: g}
	if err := formats.Save(path, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// outputs runs the command and returns the files that it writes to a folder, by name.
func outputs(t *testing.T, args ...string) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	if code, _, stderr := call(append([]string{"run", "--out", dir}, args...)...); code != 0 {
		t.Fatalf("%v: %s", args, stderr)
	}
	files := map[string][]byte{}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d files, %v", len(list), err)
	}
	for _, f := range list {
		if files[f.Name()], err = os.ReadFile(filepath.Join(dir, f.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func equal(a, b map[string][]byte) bool {
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			return false
		}
	}
	return len(a) == len(b)
}

func export(t *testing.T, model, archive string) {
	t.Helper()
	if code, stdout, stderr := call("run", model, "--export-weights", archive); code != 0 || stdout != "" {
		t.Fatalf("%d, %s%s", code, stdout, stderr)
	}
	if list := formats.Verify(archive); list != nil {
		t.Fatal(list)
	}
}

// TestWeightsBits exports and imports numbers with bits that arithmetic would change.
func TestWeightsBits(t *testing.T) {
	dir := t.TempDir()
	of := func(d tensor.DType, words ...uint64) *tensor.Tensor {
		var b []byte
		for _, v := range words {
			b = append(b, binary.LittleEndian.AppendUint64(nil, v)[:d.Bits()/8]...)
		}
		x, err := tensor.FromBytes(d, tensor.Shape{len(words)}, b)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	weights := map[string]*tensor.Tensor{
		"single": of(tensor.F32, 0x80000000, 0x7fc12345, 0x7f812345, 0xffc00001, 1, 0x7f800000),
		"double": of(tensor.F64, 1<<63, 0x7ff8dead00000001, 0x7ff0000000000001, 1),
		"int":    of(tensor.I32, 1<<31, 5), "long": of(tensor.I64, 1<<63), "truth": of(tensor.Bool, 1, 0),
	}
	model := given(t, filepath.Join(dir, "given.onnx"), weights)
	other := map[string]*tensor.Tensor{}
	for name, w := range weights {
		other[name] = tensor.New(w.DType(), w.Shape()...)
	}
	zeros := given(t, filepath.Join(dir, "zeros.onnx"), other)
	archive := filepath.Join(dir, "given.hnw")
	export(t, model, archive)
	want := outputs(t, model)
	if equal(want, outputs(t, zeros)) {
		t.Fatal("the models do not differ")
	}
	for _, path := range []string{model, zeros} {
		if !equal(want, outputs(t, path, "--weights", archive)) {
			t.Errorf("%s with the archive gives other bytes", path)
		}
	}
	again := filepath.Join(dir, "again.hnw")
	if code, _, stderr := call("run", model, "--weights", archive, "--export-weights", again); code != 0 {
		t.Fatal(stderr)
	}
	first, _ := os.ReadFile(archive)
	if second, err := os.ReadFile(again); err != nil || !bytes.Equal(first, second) {
		t.Errorf("exported again, the archive is other bytes (%v)", err)
	}
}

func TestWeightsRun(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "digits.hnw")
	export(t, digits, archive)
	x := "image=" + write(t, filepath.Join(dir, "x.npy"), npyBytes(t, seven(t)))
	want := outputs(t, digits, "--input", x)
	if !equal(want, outputs(t, digits, "--input", x, "--weights", archive, "--export-weights",
		filepath.Join(dir, "b.hnw"))) {
		t.Error("the archive of its own weights changes what the model computes")
	}
	m, err := formats.Load(archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, init := range m.Graph.Initializers {
		if init.Tensor.DType() == tensor.F32 {
			init.Tensor = tensor.New(tensor.F32, init.Tensor.Shape()...)
		}
	}
	if err := formats.Save(archive, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	m.Close()
	if equal(want, outputs(t, digits, "--input", x, "--weights", archive)) {
		t.Error("weights of zeros change nothing")
	}
}

func TestWeightsRefused(t *testing.T) {
	dir := t.TempDir()
	small := given(t, filepath.Join(dir, "small.onnx"), map[string]*tensor.Tensor{"w": tensor.New(tensor.F32, 2, 3)})
	bytesModel := given(t, filepath.Join(dir, "bytes.onnx"), map[string]*tensor.Tensor{"table": tensor.New(tensor.U8, 4)})
	archive := filepath.Join(dir, "small.hnw")
	export(t, small, archive)
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	damaged := write(t, filepath.Join(dir, "damaged.hnw"), data)
	never := filepath.Join(dir, "never.hnw")
	cases := []struct {
		name string
		args []string
		kind error
		want []string
	}{
		{"no file", []string{small, "--weights", never}, hnw.ErrArchiveMissing, []string{never}},
		{"no archive", []string{small, "--weights", small}, hnw.ErrMalformed, nil},
		{"damaged", []string{small, "--weights", damaged}, hnw.ErrArchiveChecksum, []string{"Hydronnx.Small"}},
		{"of another model", []string{digits, "--weights", archive}, hnw.ErrTensorMissing, []string{"Hydronnx.Small", "conv1.weight"}},
		{"of another shape", []string{given(t, filepath.Join(dir, "other.onnx"), map[string]*tensor.Tensor{"w": tensor.New(tensor.F32, 3, 2)}), "--weights", archive},
			hnw.ErrTensorMetadata, []string{`"w"`, "f32[2,3]", "f32[3,2]"}},
		{"a type that archives do not have", []string{bytesModel, "--export-weights", never}, nil, []string{`"table" is uint8`}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := call(append([]string{"run", "--out", filepath.Join(dir, "out")}, c.args...)...)
			if code != exitFailed || stdout != "" {
				t.Errorf("code %d, stdout %q", code, stdout)
			}
			if c.kind != nil {
				c.want = append(c.want, c.kind.Error())
			}
			for _, want := range c.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q is not in %s", want, stderr)
				}
			}
			for _, path := range []string{never, filepath.Join(dir, "out")} {
				if _, err := os.Stat(path); err == nil {
					t.Errorf("%s was written", path)
				}
			}
		})
	}
}

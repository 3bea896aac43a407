package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// checkpoint writes a file with tensors and metadata and without nodes, and returns path.
func checkpoint(t *testing.T, path string) string {
	t.Helper()
	w, err := tensor.From([]float32{1, -0.1, float32(math.Inf(1)), float32(math.NaN()), 65519, 1e-8}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	n, err := tensor.From([]int64{1<<62 + 1, -5}, 2)
	if err != nil {
		t.Fatal(err)
	}
	m := &graph.Model{
		IR: 10, Opsets: []graph.Opset{{Version: 21}}, Meta: []graph.Pair{{Key: "author", Value: "me"}},
		Graph: &graph.Graph{Name: "g", Initializers: []*graph.Initializer{{Name: "w", Tensor: w}, {Name: "n", Tensor: n}}},
	}
	if err := formats.Save(path, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	return path
}

func inspected(t *testing.T, path string, values ...string) report {
	t.Helper()
	code, text, stderr := call(append([]string{"inspect", path, "--json"}, values...)...)
	if code != 0 {
		t.Fatal(stderr)
	}
	var r report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestConvert(t *testing.T) {
	dir := t.TempDir()
	in := checkpoint(t, filepath.Join(dir, "in.onnx"))
	out := filepath.Join(dir, "out.onnx")
	code, stdout, stderr := call("convert", in, out, "--dtype", "float16")
	if code != 0 || stdout != "" || !strings.Contains(stderr, "2 tensors") {
		t.Fatalf("%d, %q, %q", code, stdout, stderr)
	}
	m, err := formats.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var got []float32
	for _, v := range tensor.View[packed.F16](m.Graph.Initializers[0].Tensor.Aligned()) {
		got = append(got, v.Float32())
	}
	want := []float32{1, packed.ToF16(-0.1).Float32(), float32(math.Inf(1)), 0, 65504, 0}
	got[3] = 0 // the NaN
	if !slices.Equal(got, want) || m.Graph.Initializers[1].Tensor.DType() != tensor.I64 {
		t.Errorf("got %v, want %v", got, want)
	}
	again := filepath.Join(dir, "again.onnx")
	if code, _, stderr := call("convert", in, again, "--dtype", "float16"); code != 0 {
		t.Fatal(stderr)
	}
	a, b := read(t, out), read(t, again)
	if !slices.Equal(a, b) {
		t.Error("the same input gave other bytes")
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestConvertRefuses makes conversions fail. The file at the output's path stays unchanged.
func TestConvertRefuses(t *testing.T) {
	dir := t.TempDir()
	in := checkpoint(t, filepath.Join(dir, "in.onnx"))
	there := write(t, filepath.Join(dir, "there.onnx"), []byte("as it was"))
	for _, c := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no such type", []string{in, there, "--dtype", "float17"}, exitUsage, "float32"},
		{"a type that is no float", []string{in, there, "--dtype", "int8"}, exitUsage, "float32"},
		{"no such format", []string{in, there, "--to", "zip"}, exitFailed, "no format that is known"},
		{"no such extension", []string{in, there + ".zip"}, exitFailed, "no format that is known"},
		{"weights of a graph", []string{digits, there, "--dtype", "float16"}, exitFailed, "rely on their types"},
		{"no input", []string{filepath.Join(dir, "nix"), there}, exitFailed, "no such file"},
		{"a folder that is not there", []string{in, filepath.Join(dir, "nix", "out.onnx")}, exitFailed, "no such file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, _, stderr := call(append([]string{"convert"}, c.args...)...)
			if code != c.code || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, %q; want %d and %q", code, stderr, c.code, c.want)
			}
			if string(read(t, there)) != "as it was" {
				t.Error("the file that was there changed")
			}
			left, err := os.ReadDir(dir)
			if err != nil || len(left) != 2 {
				t.Errorf("left over: %v, %v", left, err)
			}
		})
	}
}

func TestInspectTensors(t *testing.T) {
	in := checkpoint(t, filepath.Join(t.TempDir(), "in.onnx"))
	r := inspected(t, in, "--values", "4")
	if r.Format != "onnx" || r.Version != 10 || len(r.Tensors) != 2 || r.TensorBytes != 40 {
		t.Errorf("got %+v", r)
	}
	if len(r.Meta) != 1 || r.Meta[0].Key != "author" || r.Meta[0].Value != "me" {
		t.Errorf("metadata %+v", r.Meta)
	}
	w := r.Tensors[0]
	if w.Name != "w" || w.DType != "float32" || w.Bytes != 24 || w.Offset == nil {
		t.Fatalf("got %+v", w)
	}
	file := read(t, in)
	if got := digest(file[*w.Offset:][:w.Bytes]); got != w.SHA256 {
		t.Errorf("checksum %s, want %s", w.SHA256, got)
	}
	if want := []any{1.0, -0.1, "Infinity", "NaN"}; !slices.Equal(w.Values, want) {
		t.Errorf("values %v, want %v", w.Values, want)
	}
	_, text, _ := call("inspect", in, "--json", "--values", "1")
	if !strings.Contains(text, "4611686018427387905") {
		t.Error("a large integer lost digits")
	}
}

// TestVerifyTensors verifies files of tensors alone. If the format has a listing of its contents,
// it is printed.
func TestVerifyTensors(t *testing.T) {
	dir := t.TempDir()
	plain, oinf := checkpoint(t, filepath.Join(dir, "a.onnx")), filepath.Join(dir, "a.oinf")
	if code, _, stderr := call("convert", plain, oinf); code != 0 {
		t.Fatal(stderr)
	}
	code, text, stderr := call("verify", plain)
	if want := plain + ": well formed, 0 nodes, 2 weights\n"; code != 0 || text != want {
		t.Errorf("%s%s, want %s", stderr, text, want)
	}
	code, text, stderr = call("verify", oinf)
	want := oinf + `: well formed, 0 nodes, 2 weights
author: str = "me"

n: i64[2] = { 4611686018427387905, -5 }
- [nbytes: 16, min: -5, max: 4.61169e+18, mean: 2.30584e+18, median: 2.30584e+18, std: 2.30584e+18]
- hist: {([-5, 4.61169e+17], 1), ([4.15052e+18, 4.61169e+18], 1)}

w: f32[2, 3] = { 
{ 1, -0.1, inf } ,
{ nan, 65519, 1e-08 } ,
}
- [nbytes: 24, min: -0.1, max: 65519, mean: 16380, median: 0.5, std: 28370.4, nan: 1, inf: 1]
- hist: {([-0.1, 6551.81], 3), ([58967.1, 65519], 1)}

`
	if code != 0 || text != want {
		t.Errorf("%s%s, want %s", stderr, text, want)
	}
}

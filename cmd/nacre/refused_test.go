package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/loom"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tensorFile saves a file of one tensor without a graph, and returns the path.
func tensorFile(t *testing.T, name string, meta ...graph.Pair) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	m := &graph.Model{Meta: meta,
		Graph: &graph.Graph{Initializers: []*graph.Initializer{{Name: "w", Tensor: tensor.New(tensor.F32, 2)}}}}
	if err := formats.Save(path, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRunWithoutGraph runs files of tensors alone.
func TestRunWithoutGraph(t *testing.T) {
	path := tensorFile(t, "w.safetensors")
	for _, args := range [][]string{{"run", path}, {"plan", path}, {"bench", path, "--count", "1"}} {
		code, stdout, stderr := call(args...)
		if code != exitFailed || stdout != "" ||
			!strings.Contains(stderr, path+": load: the file (safetensors) holds 1 tensor and no network") ||
			strings.Contains(stderr, "ran in") {
			t.Errorf("%q: exit code %d, %s%s", args, code, stdout, stderr)
		}
	}
	archive := filepath.Join(t.TempDir(), "w.hnw")
	if code, _, stderr := call("run", path, "--export-weights", archive); code != exitDone {
		t.Errorf("weights are not exported: %s", stderr)
	}
}

// TestEmptyFile calls commands on empty files with the extensions of every format.
func TestEmptyFile(t *testing.T) {
	dir := t.TempDir()
	names := []string{"m", "m.bin"}
	for _, f := range formats.Formats {
		names = append(names, "m"+f.Extensions[0])
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"run", "verify", "inspect", "bench"} {
			if code, _, stderr := call(command, path); code != exitFailed ||
				stderr != "nacre: "+path+": load: the file is empty\n" {
				t.Errorf("%s %s: exit code %d, %s", command, name, code, stderr)
			}
		}
	}
}

// TestRandomFile calls commands on random bytes in a file with the extension of ONNX.
func TestRandomFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.onnx")
	if err := os.WriteFile(path, []byte("\x93\x07\xf1random\x00\xffbytes\x12\x85"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"run", "verify", "inspect"} {
		if code, _, stderr := call(command, path); code != exitFailed ||
			!strings.Contains(stderr, "content is of no format that is known") {
			t.Errorf("%s: exit code %d, %s", command, code, stderr)
		}
	}
}

// TestConvertMessages checks the errors for outputs that cannot be written.
func TestConvertMessages(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{digits, dir}, dir + ": save: it is a folder; give the name of a file in it\n"},
		{[]string{digits, dir, "--to", "onnx"}, "it is a folder; give the name of a file in it\n"},
		{[]string{digits, filepath.Join(dir, "m.what")}, "m.what: save: the extension is of no format that is known (" + "safetensors"},
		{[]string{digits, filepath.Join(dir, "m.what")}, "; --to names one\n"},
		{[]string{digits, filepath.Join(dir, "m.safetensors")}, "--drop-graph and --drop-metadata leave out"},
	} {
		code, _, stderr := call(append([]string{"convert"}, c.args...)...)
		if code != exitFailed || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "nacre-tmp") {
			t.Errorf("%q: exit code %d, %s", c.args, code, stderr)
		}
		if !strings.Contains(c.want, "--drop") && strings.Contains(stderr, "--drop") {
			t.Errorf("%q: %s", c.args, stderr)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v is left, %v", entries, err)
	}
}

// TestConvertQuantised converts a layer of codes with a scale.
func TestConvertQuantised(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "m.json"), filepath.Join(dir, "m.safetensors")
	n := &loom.Network{Depth: 1, Rows: 1, Cols: 1, LayersPerCell: 1, Layers: []*loom.Layer{{
		Type: loom.Dense, Activation: loom.Linear, DType: loom.Int8, InputHeight: 2, OutputHeight: 1, SeqLength: 1,
		Weights: &loom.Blob{DType: loom.Int8, Scale: .25, Native: true, Data: []byte{3, 0xfe}, Shape: tensor.Shape{2}},
	}}}
	m, err := n.Model()
	if err != nil {
		t.Fatal(err)
	}
	if err := formats.Save(in, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := call("convert", in, out, "--dtype", "float32")
	if _, err := os.Stat(out); code != exitFailed || !strings.Contains(stderr, "--dequantize") ||
		!errors.Is(err, fs.ErrNotExist) {
		t.Errorf("exit code %d, %s, %v", code, stderr, err)
	}
	if code, _, stderr = call("convert", in, out, "--dtype", "float32", "--dequantize"); code != exitDone {
		t.Fatal(stderr)
	}
	if _, text, _ := call("inspect", out, "--values", "2"); !strings.Contains(text, "0.75 -0.5") {
		t.Errorf("the file holds\n%s", text)
	}
}

// TestVerifyKind verifies checkpoints of gpt.rs.
func TestVerifyKind(t *testing.T) {
	path := tensorFile(t, "m.chk", graph.Pair{Key: "config", Kind: "json", Value: `{"kind":"other"}`})
	code, stdout, stderr := call("verify", path)
	if code != exitDone || !strings.Contains(stdout, `tensors are sound; they were not compared with the network, of the unknown kind "other" (gpt, ministral, mobilenet_v2, resnet34 are known)`) {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
}

// TestVerifyNamesOperators verifies a model with operators that are not implemented. Each is named
// once, with its first node.
func TestVerifyNamesOperators(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.onnx")
	x := &graph.Value{Name: "x", Type: graph.Type{DType: tensor.F32}}
	y := &graph.Value{Name: "y", Type: graph.Type{DType: tensor.F32}}
	m := &graph.Model{
		Opsets: []graph.Opset{{Version: 21}},
		Graph: &graph.Graph{Inputs: []*graph.Value{x}, Outputs: []*graph.Value{y}, Nodes: []*graph.Node{
			{Name: "first", Op: "Twice", Version: 21, Inputs: []string{"x"}, Outputs: []string{"a"}},
			{Name: "second", Op: "Twice", Version: 21, Inputs: []string{"a"}, Outputs: []string{"b"}},
			{Op: "Thrice", Version: 21, Inputs: []string{"b"}, Outputs: []string{"y"}},
		}},
	}
	if err := formats.Save(path, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := call("verify", path)
	for _, want := range []string{
		path + `: validate: node "first" (Twice-21): operator Twice-21 is not implemented; a program can register it`,
		path + `: validate: node "y" (Thrice-21): operator Thrice-21 is not implemented; a program`,
	} {
		if code != exitFailed || strings.Count(stderr, want) != 1 {
			t.Errorf("exit code %d, without %q once: %s", code, want, stderr)
		}
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
)

const counting = `dynamic { x: f32[N]; }
volatile { y: f32[N]; seen: f32[4, N]; }
persistent { t: i32; K(i): f32[N] @table @fixed(i=4); }
block entry {
  op add(x, x) >> y;
  cache.write y >> K[t];
  cache.increment t;
  cache.read K >> seen;
  return;
}
`

// programFiles writes a program and its model, and returns their paths.
func programFiles(t *testing.T, text string) (program, model string) {
	t.Helper()
	dir := t.TempDir()
	program, model = filepath.Join(dir, "program.txt"), filepath.Join(dir, "model.oinf")
	if err := os.WriteFile(program, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	m := &graph.Model{Graph: &graph.Graph{}, Sizes: []graph.Size{{Name: "N", Value: 2}}}
	if err := formats.Save(model, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	for i, data := range []string{"\x00\x00\x80?\x00\x00\x00@", "\x00\x00@@\x00\x00\x80@"} {
		if err := os.WriteFile(filepath.Join(dir, "x"+string(rune('0'+i))+".bin"), []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return program, model
}

// TestRunProgram runs the steps of a program with a trace.
func TestRunProgram(t *testing.T) {
	testenv.Need(t, bindings.Available())
	program, model := programFiles(t, counting)
	dir := filepath.Dir(program)
	trace, out := filepath.Join(dir, "trace.json"), filepath.Join(dir, "out")
	inputs := "x=" + filepath.Join(dir, "x{step}.bin")
	code, stdout, stderr := call("run", program, "--model", model, "--steps", "2", "--input", inputs, "--trace", trace)
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, want := range []string{"step 0: y float32[2]", "first 2 4\n", "step 1: y float32[2]", "first 6 8\n",
		"step 1: seen float32[4,2]", "first 2 4 6 8 0 0 0 0"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	data, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	var events []formats.ProgramEvent
	if err := json.Unmarshal(data, &events); err != nil || len(events) != 10 || events[1].Kind != "CacheWrite" ||
		events[6].Output[0] != "K[t]" {
		t.Errorf("%d events (%v): %s", len(events), err, data)
	}
	if code, _, stderr = call("run", program, "--model", model, "--steps", "2", "--input", inputs, "--out",
		out); code != 0 {
		t.Fatal(stderr)
	}
	if _, err := os.Stat(filepath.Join(out, "step1", "seen.npy")); err != nil {
		t.Error(err)
	}
	if code, _, stderr = call("run", program, "--model", model, "--steps", "5", "--input",
		"x="+filepath.Join(dir, "x0.bin")); code == 0 || !strings.Contains(stderr, "step 4: ") ||
		!strings.Contains(stderr, "cache.write y >> K[t]") {
		t.Errorf("a write beyond the fixed size: %d, %s", code, stderr)
	}
}

// TestRunProgramDefaults runs a program without inputs.
func TestRunProgramDefaults(t *testing.T) {
	testenv.Need(t, bindings.Available())
	program, model := programFiles(t, strings.Replace(counting, "f32[N];", "f32[N] @init(3.0);", 1))
	code, stdout, stderr := call("run", program, "--model", model)
	if code != 0 || !strings.Contains(stdout, "first 6 6\n") {
		t.Errorf("%d: %s\n%s", code, stderr, stdout)
	}
}

// TestProgramRefused calls commands with programs and wrong flags.
func TestProgramRefused(t *testing.T) {
	program, model := programFiles(t, counting)
	onnx := filepath.Join(t.TempDir(), "m.onnx")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", program}, `there is no size variable "N"`},
		{[]string{"run", program, "--model", program}, `there is no size variable "N"`},
		{[]string{"run", program, "--model", model, "--steps", "0"}, "--steps 0"},
		{[]string{"run", program, "--model", model, "--input", "z=z.npy"}, `takes no input "z"`},
		{[]string{"inspect", model, "--model", model}, "no program of OpenInfer"},
		{[]string{"convert", program, filepath.Join(t.TempDir(), "m.safetensors"), "--model", model}, "the program has no place in safetensors"},
		{[]string{"convert", program, onnx}, `there is no size variable "N"`},
	} {
		if code, _, stderr := call(c.args...); code == 0 || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: %d, %s; want %q", c.args, code, stderr, c.want)
		}
	}
}

// TestConvertProgram converts a program to JSON, back to text, and to an ONNX model with states. It
// runs the model.
func TestConvertProgram(t *testing.T) {
	testenv.Need(t, bindings.Available())
	program, model := programFiles(t, counting)
	dir := t.TempDir()
	asJSON, asText, onnx := filepath.Join(dir, "m.json"), filepath.Join(dir, "m.oig"), filepath.Join(dir, "m.onnx")
	for _, args := range [][]string{
		{"convert", program, asJSON}, {"convert", asJSON, asText}, {"convert", asJSON, onnx, "--model", model},
		{"verify", asText}, {"verify", asJSON, "--model", model}, {"inspect", asText, "--model", model},
	} {
		if code, stdout, stderr := call(args...); code != 0 {
			t.Fatalf("%v: %s%s", args, stdout, stderr)
		}
	}
	text, err := os.ReadFile(asText)
	if err != nil || !strings.Contains(string(text), "  K(i): f32[N] @table @fixed(i=4);\n") {
		t.Errorf("%s (%v)", text, err)
	}
	m, err := nacre.Open(onnx)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	states := m.States()
	if len(states) != 2 || states[1].Input != "past.K" || states[1].Output != "present.K" || states[1].Axis != -1 {
		t.Errorf("states %v", states)
	}
}

// TestConvertProgramOperators checks that the error names operators that ONNX lacks.
func TestConvertProgramOperators(t *testing.T) {
	program, model := programFiles(t, `volatile { x: i4[2]; y: i4[2]; all: f32[1]; } persistent { K(i): f32 @table; }
block entry { op add(x, x) >> y; cache.read K >> all; }`)
	code, _, stderr := call("convert", program, filepath.Join(t.TempDir(), "m.onnx"), "--model", model)
	if code == 0 || !strings.Contains(stderr, "openinfer.add") || !strings.Contains(stderr, "openinfer.table_read") {
		t.Errorf("%d, %s", code, stderr)
	}
}

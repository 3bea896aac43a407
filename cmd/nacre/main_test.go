package main

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/cmd/nacre/demo"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/npy"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const digits = "demo/digits.onnx"

// call runs the command in this process.
func call(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(context.Background(), args, &out, &err)
	return code, out.String(), err.String()
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("output differs from %s (-update rewrites it):\n%s", path, got)
	}
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// seven returns the network's input for the first picture of a seven.
func seven(t *testing.T) *tensor.Tensor {
	t.Helper()
	pictures, err := demo.Pictures()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pictures {
		if p.Digit == 7 {
			counts, err := demo.Counts(p.Grey)
			if err != nil {
				t.Fatal(err)
			}
			x, err := tensor.From(counts, 1, 1, demo.Side, demo.Side)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
	}
	t.Fatal("no picture of 7")
	return nil
}

func npyBytes(t *testing.T, x *tensor.Tensor) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := npy.Write(&buf, wrapped(t, x)); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// npyTensor returns the tensor of a .npy file.
func npyTensor(t *testing.T, data []byte) *tensor.Tensor {
	t.Helper()
	x, err := npy.Decode(nil, data)
	if err != nil {
		t.Fatal(err)
	}
	return plainTensor(x)
}

// pbTypes are numbers of element types in a TensorProto.
var pbTypes = map[tensor.DType]uint64{tensor.F32: 1, tensor.F16: 10, tensor.BF16: 16}

// pbBytes returns a TensorProto of elements of a type in pbTypes.
func pbBytes(name string, x *tensor.Tensor) []byte {
	var b []byte
	for _, d := range x.Shape() {
		b = protowire.AppendTag(b, 1, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(d))
	}
	b = protowire.AppendTag(b, 2, protowire.VarintType)
	b = protowire.AppendVarint(b, pbTypes[x.DType()])
	b = protowire.AppendTag(b, 8, protowire.BytesType)
	b = protowire.AppendString(b, name)
	b = protowire.AppendTag(b, 9, protowire.BytesType)
	return protowire.AppendBytes(b, x.Bytes())
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	broken := write(t, filepath.Join(dir, "broken.onnx"), []byte("this is no model"))
	input := write(t, filepath.Join(dir, "seven.npy"), npyBytes(t, seven(t)))
	cases := []struct {
		name   string
		args   []string
		code   int
		stderr string // substring
	}{
		{"nothing", nil, 2, "Usage"},
		{"help", []string{"--help"}, 0, ""},
		{"unknown command", []string{"fly"}, 2, `unknown command "fly"`},
		{"unknown flag", []string{"run", "--fly", digits}, 2, "unknown flag: --fly"},
		{"no model", []string{"run"}, 2, "the form is nacre run MODEL"},
		{"flags that exclude each other", []string{"run", digits, "--test-data", ".", "--input", "a=b"}, 2, "test-data"},
		{"bad threads", []string{"run", digits, "--threads", "-1"}, 2, "negative"},
		{"unknown device", []string{"run", digits, "--device", "abacus"}, 2, "abacus"},
		{"no such level", []string{"run", digits, "--device", "vulkan:0/L9"}, 1, "0/L9"},
		{"no such device", []string{"run", digits, "--device", "vulkan:no such device"}, 1, "--device cpu runs every model"},
		{"no file", []string{"run", filepath.Join(dir, "none.onnx")}, 1, "none.onnx"},
		{"broken file", []string{"verify", broken}, 1, "broken.onnx"},
		{"missing input", []string{"run", digits}, 1, "image float32[batch,1,8,8]"},
		{"unknown input", []string{"run", digits, "--input", "picture=" + input}, 1, `no input "picture"`},
		{"malformed input flag", []string{"run", digits, "--input", "image"}, 2, "NAME=VALUE"},
		{"input twice", []string{"run", digits, "--input", "image=" + input, "--input", "image=" + input}, 2, "twice"},
		{"unreadable ending", []string{"run", digits, "--input", "image=" + broken}, 1, ".onnx"},
		{"bad dim", []string{"bench", digits, "--dim", "batch"}, 2, "NAME=N"},
		{"dim of no input", []string{"bench", digits, "--dim", "time=3"}, 1, `"time"`},
		{"bad pattern", []string{"conformance", dir, "--run", "("}, 2, "--run"},
		{"markdown of nothing", []string{"devices", "--markdown"}, 2, "--ops"},
		{"no cases", []string{"conformance", t.TempDir()}, 1, "no model with stored results"},
		{"no test data", []string{"run", digits, "--test-data", dir}, 1, "output_0.pb"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := call(c.args...)
			if code != c.code || !strings.Contains(stderr, c.stderr) {
				t.Errorf("exit code %d, stderr %q; want %d and %q", code, stderr, c.code, c.stderr)
			}
			if code == 2 && stdout != "" {
				t.Errorf("wrong usage wrote to stdout: %q", stdout)
			}
		})
	}
}

func TestInspect(t *testing.T) {
	code, text, stderr := call("inspect", digits, "--values", "2")
	if code != 0 {
		t.Fatal(stderr)
	}
	golden(t, "inspect.txt", text)
	code, text, stderr = call("inspect", digits, "--json")
	if code != 0 {
		t.Fatal(stderr)
	}
	var r report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Nodes) != 10 || len(r.Tensors) != 8 || r.Opsets["ai.onnx"] != 17 ||
		r.Inputs[0].Type != "float32[batch,1,8,8]" {
		t.Errorf("got %+v", r)
	}
}

func TestVerify(t *testing.T) {
	code, text, stderr := call("verify", digits)
	if code != 0 {
		t.Fatal(stderr)
	}
	golden(t, "verify.txt", text)
}

func TestRunInputs(t *testing.T) {
	x := seven(t)
	dir := t.TempDir()
	picture := image.NewGray(image.Rect(0, 0, demo.Side, demo.Side))
	for i, v := range tensor.View[float32](x) {
		picture.SetGray(i%demo.Side, i/demo.Side, color.Gray{Y: uint8(v * 15)})
	}
	var encoded bytes.Buffer
	if err := png.Encode(&encoded, picture); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, file string
		data       []byte
		flags      []string
	}{
		{"npy", "x.npy", npyBytes(t, x), nil},
		{"pb", "x.pb", pbBytes("image", x), nil},
		{"raw", "x.bin", x.Bytes(), nil},
		{"picture", "x.png", encoded.Bytes(), []string{"--image-scale", "0.0666667"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file := write(t, filepath.Join(dir, c.file), c.data)
			code, stdout, stderr := call(append([]string{"run", digits, "--input", "image=" + file}, c.flags...)...)
			if code != 0 {
				t.Fatal(stderr)
			}
			if !strings.Contains(stdout, "probabilities float32[1,10]") || !regexp.MustCompile(`best 7: (1|0\.[89])`).MatchString(stdout) {
				t.Errorf("got %s", stdout)
			}
		})
	}
}

func TestRunOut(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "x.npy"), npyBytes(t, seven(t)))
	trace := filepath.Join(dir, "trace.json")
	code, stdout, stderr := call("run", digits, "--input", "image="+file, "--out", filepath.Join(dir, "out"),
		"--profile", trace)
	if code != 0 {
		t.Fatal(stderr)
	}
	result := filepath.Join(dir, "out", "probabilities.npy")
	if want := "probabilities float32[1,10] -> " + result + "\n"; stdout != want {
		t.Errorf("stdout is %q, want %q", stdout, want)
	}
	data, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	if got := npyTensor(t, data); got.String() != "float32[1,10]" {
		t.Errorf("stored %v", got)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "out", ".*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
	var events []map[string]any
	if data, err = os.ReadFile(trace); err == nil {
		err = json.Unmarshal(data, &events)
	}
	if err != nil || len(events) == 0 {
		t.Errorf("trace of %d events (%v)", len(events), err)
	}
	if !strings.Contains(stderr, "Conv") {
		t.Errorf("no table of operators in stderr: %q", stderr)
	}
}

// testFolder fills a folder with the input x.npy, the network's output and four cases: right and
// wrong have stored results, bare has none, and the model of broken is not one.
func testFolder(t *testing.T, dir string) {
	t.Helper()
	x := seven(t)
	model, err := os.ReadFile(digits)
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, filepath.Join(dir, "x.npy"), npyBytes(t, x))
	if code, _, stderr := call("run", digits, "--input", "image="+file, "--out", dir); code != 0 {
		t.Fatal(stderr)
	}
	data, err := os.ReadFile(filepath.Join(dir, "probabilities.npy"))
	if err != nil {
		t.Fatal(err)
	}
	y := npyTensor(t, data)
	wrong := y.Clone()
	tensor.View[float32](wrong)[3] = 5
	for name, answer := range map[string]*tensor.Tensor{"right": y, "wrong": wrong} {
		set := filepath.Join(dir, "cases", name, "test_data_set_0")
		write(t, filepath.Join(dir, "cases", name, "model.onnx"), model)
		write(t, filepath.Join(set, "input_0.pb"), pbBytes("image", x))
		write(t, filepath.Join(set, "output_0.pb"), pbBytes("probabilities", answer))
	}
	write(t, filepath.Join(dir, "cases", "bare", "model.onnx"), model)
	write(t, filepath.Join(dir, "cases", "broken", "model.onnx"), []byte("no model"))
	write(t, filepath.Join(dir, "cases", "broken", "test_data_set_0", "output_0.pb"), nil)
}

// TestRunOverridden overrides an input with a value in the model, by --input and by stored data,
// with and without a file for that input.
func TestRunOverridden(t *testing.T) {
	testenv.Need(t, bindings.Available())
	vector := func(v ...float32) *tensor.Tensor {
		x, err := tensor.From(v, len(v))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	of := func(name string) *graph.Value {
		return &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n")})}
	}
	m := &graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{
		Inputs: []*graph.Value{of("bias"), of("x")}, Outputs: []*graph.Value{of("y")},
		Initializers: []*graph.Initializer{{Name: "bias", Tensor: vector(1, 2)}},
		Nodes:        []*graph.Node{{Op: "Add", Version: 17, Inputs: []string{"x", "bias"}, Outputs: []string{"y"}}},
	}}
	dir := t.TempDir()
	path := filepath.Join(dir, "model.onnx")
	if err := formats.Save(path, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "test_data_set_0", "input_0.pb"), pbBytes("x", vector(10, 10)))
	write(t, filepath.Join(dir, "test_data_set_0", "output_0.pb"), pbBytes("y", vector(11, 12)))
	bias := write(t, filepath.Join(dir, "test_data_set_1", "input_0.pb"), pbBytes("bias", vector(3, 3)))
	x := write(t, filepath.Join(dir, "test_data_set_1", "input_1.pb"), pbBytes("x", vector(10, 10)))
	write(t, filepath.Join(dir, "test_data_set_1", "output_0.pb"), pbBytes("y", vector(13, 13)))
	if code, stdout, stderr := call("conformance", dir); code != 0 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := call("run", path, "--test-data", dir); code != 0 || strings.Count(stdout, "ok\n") != 2 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, flags := range [][]string{{"--input", "x=" + x}, {"--input", "x=" + x, "--input", "bias=" + bias}} {
		want := map[int]string{2: "first 11 12", 4: "first 13 13"}[len(flags)]
		if code, stdout, stderr := call(append([]string{"run", path}, flags...)...); code != 0 ||
			!strings.Contains(stdout, want) {
			t.Errorf("%q: exit code %d\n%s%s", flags, code, stdout, stderr)
		}
		if code, stdout, stderr := call(append([]string{"plan", path}, flags...)...); code != 0 ||
			!strings.Contains(stdout, "Add-17") {
			t.Errorf("%q: exit code %d\n%s%s", flags, code, stdout, stderr)
		}
	}
}

func TestRunTestData(t *testing.T) {
	dir := t.TempDir()
	testFolder(t, dir)
	right, wrong := filepath.Join(dir, "cases", "right"), filepath.Join(dir, "cases", "wrong")
	for _, data := range []string{right, filepath.Join(right, "test_data_set_0")} {
		code, stdout, stderr := call("run", digits, "--test-data", data)
		if want := "test_data_set_0 probabilities float32[1,10] abs 0 rel 0 ok\n"; code != 0 || stdout != want {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q; want %q", data, code, stdout, stderr, want)
		}
	}
	code, stdout, stderr := call("run", digits, "--test-data", wrong)
	if code != 1 || !strings.Contains(stdout, "MISMATCH: 1 of 10 elements differ; element 3 is") ||
		!strings.Contains(stderr, "1 output does not match") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if code, _, _ := call("run", digits, "--test-data", wrong, "--atol", "6"); code != 0 {
		t.Errorf("a wide tolerance did not accept: exit code %d", code)
	}
}

func TestConformanceCommand(t *testing.T) {
	dir := t.TempDir()
	testFolder(t, dir)
	folder, report := filepath.Join(dir, "cases"), filepath.Join(dir, "report.json")
	code, stdout, stderr := call("conformance", folder, "--json", report)
	if code != 1 || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	// The text of a reason depends on kernels and on the protobuf package.
	stdout = regexp.MustCompile(`(?m)at byte.*$`).ReplaceAllString(strings.ReplaceAll(stdout, dir, "DIR"), "at byte N")
	golden(t, "conformance-command.txt", regexp.MustCompile(`element 3 is [-+.e0-9]+`).ReplaceAllString(stdout, "element 3 is X"))
	var r tally
	data, err := os.ReadFile(report)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil || r.Passed != 1 || r.Failed != 2 || r.Skipped != 1 || len(r.Cases) != 3 {
		t.Errorf("report %+v (%v)", r, err)
	}
	if code, stdout, _ = call("conformance", folder, "--run", "^right$"); code != 0 ||
		stdout != "1 passed, 0 failed, 0 skipped\n" {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	if code, _, stderr = call("conformance", folder, "--run", "^none$"); code != 1 ||
		!strings.Contains(stderr, "no case of") {
		t.Errorf("no case matches: exit code %d, stderr %q", code, stderr)
	}
	if code, _, stderr = call("conformance", folder, filepath.Join(folder, "bare")); code != 1 ||
		!strings.Contains(stderr, "(1 without)") {
		t.Errorf("a folder without results: exit code %d, stderr %q", code, stderr)
	}
	if code, stdout, _ = call("conformance", folder, "--list"); code != 0 || stdout != "broken\nright\nwrong\n" {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
}

// TestVerifyWarns verifies a model with a metadata key twice.
func TestVerifyWarns(t *testing.T) {
	data, err := os.ReadFile(digits)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		entry := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "twice")
		data = protowire.AppendBytes(protowire.AppendTag(data, 14, protowire.BytesType), entry)
	}
	path := write(t, filepath.Join(t.TempDir(), "digits.onnx"), data)
	code, stdout, stderr := call("verify", path)
	if code != 0 || !strings.Contains(stdout, "can run") || !strings.Contains(stderr, `warning: `+path) || !strings.Contains(stderr, `"twice" twice`) {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}

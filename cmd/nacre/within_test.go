package main

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/gptrs"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sum saves a model that adds n weights to its input, with a set of test data beside it.
func sum(t *testing.T, dir string, n int) (model, input string) {
	t.Helper()
	w := tensor.New(tensor.F32, n)
	for i := range tensor.View[float32](w) {
		tensor.View[float32](w)[i] = float32(i % 251)
	}
	value := func(name string) *graph.Value {
		return &graph.Value{Name: name, Type: graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{n}))}
	}
	m := &graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{
		Name: "sum", Inputs: []*graph.Value{value("x")}, Outputs: []*graph.Value{value("y")},
		Initializers: []*graph.Initializer{{Name: "w", Tensor: w}},
		Nodes:        []*graph.Node{{Op: "Add", Version: 17, Inputs: []string{"x", "w"}, Outputs: []string{"y"}}},
	}}
	model, input = filepath.Join(dir, "model.onnx"), filepath.Join(dir, "x.npy")
	if err := formats.Save(model, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	write(t, input, npyBytes(t, tensor.New(tensor.F32, n)))
	for name, x := range map[string]*tensor.Tensor{"input_0.pb": tensor.New(tensor.F32, n), "output_0.pb": w} {
		data, err := onnx.WriteTensor(nil, "", x)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "test_data_set_0", name), data)
	}
	return model, input
}

// copying saves a model that gives its input back, and returns a call of nacre run for it.
func copying(t *testing.T, dir, name string, x graph.Type, file string, data []byte) []string {
	t.Helper()
	m := &graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{
		Name: name, Inputs: []*graph.Value{{Name: "x", Type: x}}, Outputs: []*graph.Value{{Name: "y", Type: x}},
		Nodes: []*graph.Node{{Op: "Identity", Version: 17, Inputs: []string{"x"}, Outputs: []string{"y"}}},
	}}
	model := filepath.Join(dir, name+".onnx")
	if err := formats.Save(model, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	return []string{"run", model, "--input", "x=" + write(t, filepath.Join(dir, file), data)}
}

// noise encodes a picture of about n random pixels.
func noise(t *testing.T, n int, encode func(w io.Writer, img image.Image) error) []byte {
	t.Helper()
	const width = 1 << 8
	img := image.NewNRGBA(image.Rect(0, 0, width, max(n/width, 1)))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = uint8(r.Uint32())
	}
	var b bytes.Buffer
	if err := encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// inputs returns calls of nacre run with inputs of about n elements in every form of files.
func inputs(t *testing.T, dir string, n int) map[string][]string {
	t.Helper()
	texts, err := tensor.FromStrings(slices.Repeat([]string{"ab"}, n), n)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	x := tensor.New(tensor.F32, n)
	if err := gptrs.Archive.Write(&archive,
		&graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{{Name: "input", Tensor: x}}}},
		formats.Options{}); err != nil {
		t.Fatal(err)
	}
	bools := tensor.New(tensor.Bool, n)
	proto, err := onnx.WriteTensor(nil, "", bools)
	if err != nil {
		t.Fatal(err)
	}
	vector := func(d tensor.DType) graph.Type { return graph.TensorOf(d, graph.DimsOf(tensor.Shape{n})) }
	picture := graph.TensorOf(tensor.F32, graph.DimsOf(tensor.Shape{1, 3, 16, 16}))
	return map[string][]string{
		"input of text": copying(t, dir, "text", vector(tensor.String), "text.npy", npyBytes(t, texts)),
		"input.ten":     copying(t, dir, "archive", vector(tensor.F32), "x.ten", archive.Bytes()),
		"input.pb":      copying(t, dir, "proto", vector(tensor.Bool), "x.pb", proto),
		"input.bin":     copying(t, dir, "raw", vector(tensor.F32), "x.bin", x.Bytes()),
		"input.png":     copying(t, dir, "png", picture, "x.png", noise(t, n, png.Encode)),
		"input.jpg": copying(t, dir, "jpg", picture, "x.jpg", noise(t, n, func(w io.Writer, img image.Image) error {
			return jpeg.Encode(w, img, nil)
		})),
	}
}

// commands returns a call of every command that works on a model, with a model of n weights.
func commands(t *testing.T, dir string, n int) map[string][]string {
	model, input := sum(t, dir, n)
	at := func(name string) string { return filepath.Join(dir, name) }
	return map[string][]string{
		"run":            {"run", model, "--input", "x=" + input},
		"run --json":     {"run", model, "--input", "x=" + input, "--json"},
		"run --out":      {"run", model, "--input", "x=" + input, "--out", at("out")},
		"run with data":  {"run", model, "--test-data", at("test_data_set_0")},
		"plan":           {"plan", model},
		"run --profile":  {"run", model, "--input", "x=" + input, "--profile", at("profile.json")},
		"export":         {"run", model, "--export-weights", at("weights.hnw")},
		"inspect":        {"inspect", model, "--values", "1000000"},
		"inspect --json": {"inspect", model, "--json", "--values", "1000000"},
		"hydronnx":       {"inspect", model, "--style", "hydronnx"},
		"verify":         {"verify", model},
		"convert":        {"convert", model, at("copy.onnx"), "--dtype", "float16", "--drop-graph"},
		"emit":           {"emit", model, "-o", at("text.ch"), "--weights", "archive", "--archive", at("archive.hnw")},
		"bench":          {"bench", model, "--count", "1"},
		"kernels":        {"bench", model, "--count", "1", "--kernels"},
		"check":          {"check", model},
		"conformance":    {"conformance", dir},
	}
}

// looks calls a command in contexts that end at different checks, and returns how often the command
// checks its context. If every is false, it counts with a context that does not end.
func looks(t *testing.T, name string, args []string, every bool) int {
	t.Helper()
	for at := 0; ; at += 1 + at/16 {
		if !every && at == 0 {
			at = 1 << 40
		}
		ctx := testenv.EndingAfter(at)
		var stdout, stderr bytes.Buffer
		code := run(ctx, args, &stdout, &stderr)
		if !ctx.Over() {
			if code != exitDone {
				t.Errorf("%s: exit code %d, %s", name, code, &stderr)
			}
			return ctx.Asked()
		}
		if code != exitFailed || !strings.Contains(stderr.String(), "deadline exceeded") {
			t.Errorf("%s: the context ends when it was asked %d times: exit code %d, %s", name, at, code, &stderr)
		}
	}
}

// TestEnds ends the context of every command at different checks, and counts the checks again on a
// long tensor.
func TestEnds(t *testing.T) {
	testenv.Need(t, bindings.Available())
	short, long := t.TempDir(), t.TempDir()
	const n = 9 * pieces.Elements
	same := []string{"plan", "hydronnx", "verify", "conformance"} // these check no elements, or have a context of their own
	few, many := commands(t, short, 8), commands(t, long, n)
	maps.Copy(few, inputs(t, short, 8))
	maps.Copy(many, inputs(t, long, n))
	for name, args := range few {
		t.Run(name, func(t *testing.T) {
			a := looks(t, name, args, true)
			if b := looks(t, name, many[name], false); b < a+2 && !slices.Contains(same, name) {
				t.Errorf("it looks %d times where tensors are short and %d times where they have %d elements", a, b, n)
			}
		})
	}
	program, weights := programFiles(t, counting)
	decoder := decoderFolder(t, map[string]string{"tokenizer.json": byteTokenizer(t)})
	for name, args := range map[string][]string{
		"demo":            {"demo"},
		"generate":        {"generate", decoder, "--prompt", "ab", "--max-tokens", "3", "--count", "2"},
		"generate --json": {"generate", decoder, "--prompt", "ab", "--max-tokens", "3", "--json"},
		"run --tokens":    {"run", filepath.Join(decoder, "model.onnx"), "--tokens", "1,2,3"},
		"program":         {"run", program, "--model", weights, "--input", "x=" + filepath.Join(filepath.Dir(program), "x0.bin")},
	} {
		t.Run(name, func(t *testing.T) { looks(t, name, args, true) })
	}
	for _, dir := range []string{short, long} {
		files, err := filepath.Glob(filepath.Join(dir, ".*"))
		if err != nil || len(files) > 0 {
			t.Errorf("%v is left, %v", files, err)
		}
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// forged is a word that every hostile name tries to print at the beginning of a line.
const forged = "FORGED"

// hostile returns a name that steers a terminal, forges lines and reverses letters.
func hostile(word string) string {
	return word + "\x1b]0;title\a\x1b[2J\u009b31m\b\x7f\r\n" + forged + "\r\u2028" + forged + "\t\u202e" + word
}

// shownSafely checks that text, the output of a command, has no control characters and no forged
// line.
func shownSafely(t *testing.T, args []string, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if escapes := strings.ReplaceAll(line, "\t", " "); printable.Text(escapes) != escapes {
			t.Errorf("%q prints %q", args, line)
		}
		if strings.HasPrefix(strings.TrimSpace(line), forged) {
			t.Errorf("%q prints a line that a name forges: %q", args, line)
		}
	}
}

// hostileModel returns the model y = relu(x) + w. All its names and texts are hostile.
func hostileModel(typ graph.Type, op string) *graph.Model {
	meta := []graph.Pair{{Key: hostile("key"), Value: hostile("value")}}
	value := func(name string, typ graph.Type) *graph.Value {
		return &graph.Value{Name: hostile(name), Type: typ, Doc: hostile("doc"), Meta: meta}
	}
	node := func(op string, outputs string, inputs ...string) *graph.Node {
		return &graph.Node{Op: op, Version: 21, Name: hostile("node " + op), Inputs: inputs, Outputs: []string{outputs},
			Doc: hostile("doc"), Meta: meta}
	}
	x, y, w, s := hostile("x"), hostile("y"), hostile("w"), hostile("s")
	g := &graph.Graph{
		Name: hostile("graph"), Doc: hostile("doc"), Meta: meta,
		Inputs:  []*graph.Value{value("x", typ)},
		Outputs: []*graph.Value{value("y", graph.Type{}), value("s", graph.Type{})},
		Initializers: []*graph.Initializer{
			{Name: w, Tensor: tensor.New(tensor.F32, 2), Doc: hostile("doc"), Meta: meta},
			{Name: hostile("t"), Tensor: must(tensor.FromStrings([]string{hostile("text")}, 1))},
		},
		Nodes: []*graph.Node{
			node(op, hostile("hidden"), x), node("Add", y, hostile("hidden"), w), node("Identity", s, hostile("t")),
		},
	}
	return &graph.Model{
		IR: 10, Producer: hostile("producer"), ProducerVer: hostile("1"), Domain: hostile("domain"), Doc: hostile("doc"),
		Opsets: []graph.Opset{{Version: 21}, {Domain: hostile("domain"), Version: 1}}, Graph: g, Meta: meta,
	}
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err) // the test is wrong
	}
	return x
}

// TestShownNames runs every command on files with hostile names and texts.
func TestShownNames(t *testing.T) {
	testenv.Need(t, bindings.Available())
	dir := filepath.Join(t.TempDir(), hostile("dir"))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		testenv.Skip(t, "no such names of folders here: ", err)
	}
	save := func(name string, m *graph.Model) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := formats.Save(path, m, formats.Options{}); err != nil {
			t.Fatal(err)
		}
		return path
	}
	two := graph.TensorOf(tensor.F32, graph.Dims{graph.Known(2)})
	open := graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol(hostile("n")), graph.Known(2)})
	model := save("model.onnx", hostileModel(two, "Relu"))
	wide := save("open.onnx", hostileModel(open, "Relu"))
	unknown := save("unknown.onnx", hostileModel(two, hostile("Relu")))
	three := save("three.onnx", hostileModel(graph.TensorOf(tensor.F32, graph.Dims{graph.Known(3)}), "Relu"))
	tensors := filepath.Join(dir, "tensors.safetensors")
	plain := []*graph.Initializer{{Name: hostile("w"), Tensor: tensor.New(tensor.F32, 2)}}
	save("tensors.safetensors", &graph.Model{Graph: &graph.Graph{Initializers: plain},
		Meta: []graph.Pair{{Key: hostile("key"), Value: hostile("value")}}})
	weights := filepath.Join(dir, "weights.safetensors")
	save("weights.safetensors", &graph.Model{Graph: &graph.Graph{Initializers: []*graph.Initializer{
		{Name: hostile("w") + "weight", Tensor: tensor.New(tensor.F32, 2, 32)},
	}}})
	ones := tensor.New(tensor.F32, 2)
	input := write(t, filepath.Join(dir, "x.npy"), npyBytes(t, ones))
	cases := filepath.Join(dir, "cases")
	save("cases/"+hostile("case")+"/model.onnx", hostileModel(two, "Relu"))
	sets := filepath.Join(cases, hostile("case"), "test_data_set_0")
	write(t, filepath.Join(sets, "input_0.pb"), pbBytes(hostile("x"), ones))
	write(t, filepath.Join(sets, "output_0.pb"), pbBytes(hostile("y"), tensor.New(tensor.F32, 3)))
	chat := decoderFolder(t, map[string]string{
		"tokenizer.json": byteTokenizer(t), "chat_template.jinja": `{{ raise_exception("\u001b[2J\nFORGED\u202e") }}`,
	})
	broken := decoderFolder(t, map[string]string{"tokenizer.json": `{"model":{"type":"` + "\u202e\u009b" + `"}}`, "config.json": "{\"\x1b\nFORGED"})
	given := "--input=" + hostile("x") + "=" + input
	out := filepath.Join(t.TempDir(), hostile("out"))
	calls := [][]string{
		{"inspect", model}, {"inspect", model, "--json"}, {"inspect", model, "--values", "2"}, {"inspect", model, "--style", "hydronnx"},
		{"inspect", wide}, {"inspect", tensors}, {"inspect", tensors, "--json"}, {"inspect", model, "--style", hostile("")},
		{"inspect", model, "--nodes"}, {"inspect", model, "--layers"}, {"inspect", unknown, "--nodes", "--json"},
		{"inspect", model, "--html", out, "--plan"}, {"profile", model, "--count", "1", "--html", out}, {"profile", unknown},
		{"verify", model}, {"verify", wide}, {"verify", unknown}, {"verify", three}, {"verify", tensors}, {"verify", input},
		{"run", model}, {"run", model, given}, {"run", model, given, "--json"}, {"run", model, given, "--out", out},
		{"run", model, "--input", hostile("none") + "=" + input}, {"run", model, "--input", hostile("none")}, {"run", three, given},
		{"run", model, given, "--profile", filepath.Join(t.TempDir(), "trace")}, {"run", unknown, given}, {"run", tensors},
		{"plan", model}, {"plan", model, "--json"}, {"plan", wide}, {"run", wide, given},
		{"plan", wide, "--dim", hostile("m") + "=2"}, {"run", model, "--test-data", sets}, {"run", model, hostile("--flag")},
		{"convert", model, filepath.Join(t.TempDir(), hostile("m")+".onnx")}, {"convert", model, filepath.Join(dir, "m.oinf")},
		{"convert", model, filepath.Join(dir, "m.hnw")}, {"convert", tensors, filepath.Join(dir, "w.hnw"), "--rename"},
		{"emit", model, "-o", filepath.Join(dir, "m.chelis"), "--to", "chelis"}, {"emit", unknown, "-o", filepath.Join(dir, "m.chelis"), "--to", "chelis"},
		{"bench", model, "--count", "1"}, {"bench", model, "--count", "1", "--json"}, {"bench", model, "--kernels"}, {"bench", unknown},
		{"check", model}, {"check", unknown}, {"check", three},
		{"quantize", weights, filepath.Join(t.TempDir(), hostile("q")+".gguf"), "--to", "q8_0"}, {"quantize", model, out + ".onnx", "--to", "q4"},
		{"quantize", weights, out + ".gguf", "--to", "q8_0", "--json"}, {"quantize", weights, out, "--to", hostile("q4")},
		{"quantize", weights, out + ".gguf", "--to", "q4_k", "--layer", hostile("(")}, {"quantize", weights, out + ".onnx", "--to", "q4"},
		{"conformance", cases}, {"conformance", cases, "--list"}, {"conformance", hostile("none")},
		{"generate", chat, "--chat", "--prompt", "Hi"}, {"generate", broken, "--prompt", "Hi"}, {"generate", model, "--tokens", "1"},
		{"generate", hostile("none"), "--tokens", "1"},
		{"chat", model}, {"chat", broken}, {"chat", chat, "--messages", hostile("none")}, {"chat", hostile("none")},
		{"speak", hostile("text"), "--voice", hostile("none"), "-o", out}, {"speak", hostile("text"), "--voice", voices + "tiny.onnx", "-o", out, "--phonemes"},
		{"man", input}, {"web", hostile("none")}, {"web", dir, "--voices", hostile("none")},
		{"devices"}, {"formats"}, {"demo"}, {"version"}, {hostile("command")},
	}
	for _, args := range calls {
		code, stdout, stderr := call(args...)
		shownSafely(t, args, stdout)
		shownSafely(t, args, stderr)
		if code != exitDone && code != exitFailed && code != exitUsage || stdout+stderr == "" {
			t.Errorf("%q: exit code %d, and prints %q", args, code, stdout+stderr)
		}
	}
	_, help, _ := call("--help")
	for _, line := range regexp.MustCompile(`(?m)^  ([a-z]+) `).FindAllStringSubmatch(help, -1) {
		if !slices.Contains([]string{"help", "nacre"}, line[1]) &&
			!slices.ContainsFunc(calls, func(args []string) bool { return args[0] == line[1] }) {
			t.Errorf("no call of %s", line[1])
		}
	}
}

// TestPrinting finds output that bypasses package printable.
func TestPrinting(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	printing := regexp.MustCompile(`\bfmt\.(Fp|P)rint|\bos\.Std(out|err)\.Write`)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if printing.MatchString(line) {
				t.Error(fmt.Sprintf("%s:%d: printable.Fprintf shows text of files safely; have: ", file, i+1), line)
			}
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// mapOf returns a map from keys to values.
func mapOf(t *testing.T, keys *tensor.Tensor, values ...float32) *nacre.Map {
	t.Helper()
	v, err := tensor.From(values, len(values))
	if err != nil {
		t.Fatal(err)
	}
	return &nacre.Map{Keys: wrapped(t, keys), Values: wrapped(t, v)}
}

func integers(t *testing.T, list ...int64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.From(list, len(list))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func texts(t *testing.T, list ...string) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromStrings(list, len(list))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestComposedValues prints and stores maps, sequences and optional values.
func TestComposedValues(t *testing.T) {
	two := mapOf(t, integers(t, 10, 2), 0.25, 0.75)
	many := &nacre.Sequence{}
	table := ""
	for i := range shownParts + 2 {
		many.Items = append(many.Items, two)
		if i < shownParts {
			table += fmt.Sprintf("  %d  0.25  0.75\n", i)
		}
	}
	matrix := wrapped(t, tensor.New(tensor.I64, 1, 2))
	for _, c := range []struct {
		name        string
		v           nacre.Value
		shown, json string
	}{
		{"numbers", two, "v map(int64[2], float32[2])\n  10  0.25\n  2   0.75\n", `{"10":0.25,"2":0.75}`},
		{"texts", mapOf(t, texts(t, `a"b`, "c"), 1, float32(math.Inf(1))), "v map(string[2], float32[2])\n  a\"b  1\n  c    +Inf\n", `{"a\"b":1,"c":"Infinity"}`},
		{"empty map", mapOf(t, integers(t)), "v {}\n", `{}`},
		{"sequence", &nacre.Sequence{Items: []nacre.Value{two}}, "v sequence of 1 value\n     10    2\n  0  0.25  0.75\n", `[{"10":0.25,"2":0.75}]`},
		{"empty sequence", &nacre.Sequence{}, "v sequence of 0 values\n", `[]`},
		{"other keys", &nacre.Sequence{Items: []nacre.Value{two, mapOf(t, integers(t, 10), 1)}},
			"v sequence of 2 values\n  {10: 0.25, 2: 0.75}\n  {10: 1}\n", `[{"10":0.25,"2":0.75},{"10":1}]`},
		{"tensors", &nacre.Sequence{Items: []nacre.Value{matrix}}, "v sequence of 1 value\n  int64[1,2]\n", `[{"dtype":"int64","shape":[1,2],"values":[0,0]}]`},
		{"none", &nacre.Optional{}, "v optional()\n", `null`},
		{"optional", &nacre.Optional{Item: two}, "v map(int64[2], float32[2])\n  10  0.25\n  2   0.75\n", `{"10":0.25,"2":0.75}`},
		{"many", many, "v sequence of 10 values\n" + "     10    2\n" + table + "  and 2 more\n", ""},
		{"wide", mapOf(t, integers(t, 0, 1, 2, 3, 4, 5, 6, 7, 8), make([]float32, 9)...), "v map(int64[9], float32[9])\n  0  0\n  1  0\n  2  0\n  3  0\n  4  0\n  5  0\n  6  0\n  7  0\n  and 1 more\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			if _ = describe(t.Context(), &b, "v", c.v); b.String() != c.shown {
				t.Errorf("shown as %q, want %q", b.String(), c.shown)
			}
			dir := t.TempDir()
			if err := writeOutputs(t.Context(), &b, dir, []nacre.Info{{Name: "v"}},
				map[string]nacre.Value{"v": c.v}); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(filepath.Join(dir, "v.json"))
			if err != nil {
				t.Fatal(err)
			}
			var plain bytes.Buffer
			if err := json.Compact(&plain, data); err != nil || c.json != "" && strings.TrimSpace(plain.String()) != c.json {
				t.Errorf("stored as %s (%v), want %s", data, err, c.json)
			}
		})
	}
}

// zipped saves a model that returns a map for every matrix row of its input.
func zipped(t *testing.T, path string) {
	t.Helper()
	zip := &graph.Node{Op: "ZipMap", Domain: "ai.onnx.ml", Version: 1, Inputs: []string{"scores"}, Outputs: []string{"maps"},
		Attrs: []*graph.Attr{{Name: "classlabels_strings", Kind: graph.AttrStrings, Strs: [][]byte{[]byte("yes"), []byte("no")}}}}
	number, item := graph.TensorOf(tensor.F32, graph.Dims{}), graph.Type{Kind: graph.MapType, Key: tensor.String}
	item.Elem = &number
	m := &graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}, {Domain: "ai.onnx.ml", Version: 1}}, Graph: &graph.Graph{
		Name: "zipped", Nodes: []*graph.Node{zip},
		Inputs:  []*graph.Value{{Name: "scores", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Unknown(), graph.Known(2)})}},
		Outputs: []*graph.Value{{Name: "maps", Type: graph.Type{Kind: graph.SequenceType, Elem: &item}}},
	}}
	if err := formats.Save(path, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
}

// TestRunMaps runs a classifier that returns its probabilities as maps.
func TestRunMaps(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "model.onnx")
	zipped(t, model)
	x, err := tensor.From([]float32{0.25, 0.75, 1, 0}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	file := write(t, filepath.Join(dir, "x.npy"), npyBytes(t, x))
	code, stdout, stderr := call("run", model, "--input", "scores="+file)
	if want := "maps sequence of 2 values\n     no    yes\n  0  0.75  0.25\n  1  0     1\n"; code != exitDone ||
		stdout != want {
		t.Errorf("exit code %d, %q, want %q: %s", code, stdout, want, stderr)
	}
	code, stdout, stderr = call("run", model, "--input", "scores="+file, "--json", "--out", dir)
	var got map[string]any
	list := []any{map[string]any{"no": 0.75, "yes": 0.25}, map[string]any{"no": 0.0, "yes": 1.0}}
	if err := json.Unmarshal([]byte(stdout), &got); code != exitDone || err != nil ||
		!reflect.DeepEqual(got, map[string]any{"maps": list}) {
		t.Errorf("exit code %d, %s (%v): %s", code, stdout, err, stderr)
	}
	if !strings.Contains(stderr, "maps sequence of 2 values -> ") {
		t.Errorf("stderr is %q", stderr)
	}
	var stored []any
	if data, err := os.ReadFile(filepath.Join(dir, "maps.json")); err != nil || json.Unmarshal(data, &stored) != nil ||
		!reflect.DeepEqual(stored, list) {
		t.Errorf("stored %s (%v)", data, err)
	}
	for _, args := range [][]string{{"--test-data", dir, "--json"}, {"--tokens", "1", "--json"}} {
		if code, _, _ := call(append([]string{"run", model}, args...)...); code == exitDone {
			t.Errorf("%v: no error", args)
		}
	}
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// nulls lists the paths of nulls in JSON.
func nulls(v any, at string) []string {
	var list []string
	switch v := v.(type) {
	case nil:
		return []string{at}
	case []any:
		for i, x := range v {
			list = append(list, nulls(x, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case map[string]any:
		for key, x := range v {
			list = append(list, nulls(x, at+"."+key)...)
		}
	}
	return list
}

// lacking saves two models without most optional fields: one of tensors, one with constant outputs.
func lacking(t *testing.T, folder string) (void, constant string) {
	t.Helper()
	void, constant = filepath.Join(folder, "void.oinf"), filepath.Join(folder, "constant.onnx")
	scalar := graph.TensorOf(tensor.F32, graph.Dims{})
	for path, m := range map[string]*graph.Model{
		void: {
			Meta: []graph.Pair{{Key: "none", Data: tensor.New(tensor.I32, 0)}, {Key: "one", Data: tensor.New(tensor.I32)}},
			Graph: &graph.Graph{
				Values:       []*graph.Value{{Name: "declared", Type: scalar}},
				Initializers: []*graph.Initializer{{Name: "scalar", Tensor: tensor.New(tensor.F32)}, {Name: "empty", Tensor: tensor.New(tensor.F32, 0, 2)}},
			},
		},
		constant: {IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{
			Name: "constant", Outputs: []*graph.Value{{Name: "y", Type: scalar}},
			Nodes: []*graph.Node{{Op: "Constant", Version: 17, Outputs: []string{"y"}, Attrs: []*graph.Attr{{Name: "value_float", Kind: graph.AttrFloat, Float: 2}}}},
		}},
	} {
		if err := formats.Save(path, m, formats.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	return void, constant
}

// TestNoNull checks that no JSON of the command has a null.
func TestNoNull(t *testing.T) {
	folder := t.TempDir()
	testFolder(t, folder)
	void, constant := lacking(t, folder)
	report := filepath.Join(folder, "report.json")
	for _, args := range [][]string{
		{"inspect", void, "--json"},
		{"inspect", void, "--json", "--values", "3"},
		{"inspect", constant, "--json"},
		{"inspect", digits, "--json"},
		{"plan", constant, "--json"},
		{"plan", digits, "--json"},
		{"bench", constant, "--count", "1", "--json"},
		{"bench", constant, "--count", "1", "--kernels", "--json"},
		{"bench", digits, "--count", "1", "--json"},
		{"profile", digits, "--count", "1", "--json"},
		{"inspect", constant, "--nodes", "--json"},
		{"inspect", constant, "--layers", "--json"},
		{"devices", "--json"},
		{"devices", "--ops", "--json"},
		{"formats", "--json"},
		{"conformance", filepath.Join(folder, "cases"), "--run", "^right$", "--json", report},
	} {
		t.Run(strings.ReplaceAll(strings.Join(args, " "), folder, "DIR"), func(t *testing.T) {
			code, text, stderr := call(args...)
			if args[0] == "conformance" {
				data, err := os.ReadFile(report)
				if err != nil {
					t.Fatal(err, stderr)
				}
				text = string(data)
			} else if code != exitDone {
				t.Fatalf("exit code %d, %s", code, stderr)
			}
			var v any
			if err := json.Unmarshal([]byte(text), &v); err != nil {
				t.Fatal(err)
			}
			if list := nulls(v, ""); list != nil {
				t.Errorf("null at %q", list)
			}
		})
	}
}

// codesOf returns the numbers of all codes of a type narrower than a byte.
func codesOf(l *packed.Layout) (list []float64) {
	if l == packed.Fp4 {
		return []float64{0, .5, 1, 1.5, 2, 3, 4, 6, 0, -.5, -1, -1.5, -2, -3, -4, -6}
	}
	n := 1 << l.Bits
	for code := range n {
		switch {
		case l.Binary:
			code = 2*code - 1
		case l.Signed && code >= n/2:
			code -= n
		}
		list = append(list, float64(code))
	}
	return list
}

// saved writes a model to a file of the first format that can hold it, and returns the path.
func saved(t *testing.T, m *graph.Model) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m")
	for _, f := range formats.Formats {
		err := formats.SaveAs(path, f.Name, m, formats.Options{DropMeta: true})
		if err == nil {
			return path
		}
		if !errors.Is(err, graph.ErrUnsupported) {
			t.Fatal(err)
		}
	}
	t.Fatal("no format holds the model")
	return ""
}

// TestInspectPacked prints every code of the types narrower than a byte, as text and as JSON.
func TestInspectPacked(t *testing.T) {
	for _, l := range packed.Layouts {
		t.Run(l.Name, func(t *testing.T) {
			d, err := tensor.ParseDType(l.Name)
			if err != nil {
				t.Fatal(err)
			}
			want := codesOf(l)
			x := tensor.New(d, len(want))
			for i := range len(want) * l.Bits { // bit by bit, the lowest of a code first
				code, bit := i/l.Bits, i%l.Bits
				x.Bytes()[i/8] |= byte(code>>bit&1) << (i % 8)
			}
			m := &graph.Model{Opsets: []graph.Opset{{Version: 25}},
				Graph: &graph.Graph{Name: "g", Initializers: []*graph.Initializer{{Name: "w", Tensor: x}}}}
			path := saved(t, m)
			_, text, stderr := call("inspect", path, "--json", "--values", "16")
			var r struct{ Tensors []struct{ Values []float64 } }
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				t.Fatal(err, stderr)
			}
			got := r.Tensors[0].Values
			if len(got) != len(want) {
				t.Fatalf("%v, want %v", got, want)
			}
			words := make([]string, len(want))
			for i, v := range want {
				words[i] = fmt.Sprint(v)
				if got[i] != v {
					t.Errorf("code %d is %v, want %v", i, got[i], v)
				}
			}
			line := strings.Join(words, " ")
			if l == packed.Fp4 {
				line = strings.Replace(line, "6 0 -0.5", "6 -0.0 -0.5", 1)
			}
			if _, text, _ = call("inspect", path, "--values", "16"); !strings.Contains(text, "  "+line+"\n") {
				t.Errorf("no %q in\n%s", line, text)
			}
		})
	}
}

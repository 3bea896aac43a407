package openinfer

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/formats/oinf"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// baseline is a case of the operators' manifest.
type baseline struct {
	Name, Op, File, Mode string
	Inputs               []string
	InputType            string `json:"input_dtype"`
	OutputType           string `json:"output_dtype"`
	Expected             string
	Attrs                []struct {
		Name, Kind string
		Scalar     string `json:"scalar_kind"`
		Value      json.RawMessage
	}
}

// wrong lists the cases with an expectation computed in another width than the language's.
var wrong = []string{
	"sub_acc_u8_u16", "sub_acc_u8_u32", "sub_acc_u8_u64", "sub_acc_u16_u32", "sub_acc_u16_u64", "sub_acc_u32_u64",
	"popcount_normal_i8_to_u8", "popcount_normal_i16_to_u8", "popcount_normal_i32_to_u8", "popcount_normal_i2_to_u8", "popcount_normal_i4_to_u8",
}

// TestBaselines runs every case of the manifest.
func TestBaselines(t *testing.T) {
	dir := filepath.Join(fixtures.Dir(t, oinf.Name), "upstream", "v1", "op_baselines")
	var manifest struct{ Cases []baseline }
	data, err := os.ReadFile(filepath.Join(dir, "full_matrix", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	byFile := map[string][]baseline{}
	for _, c := range manifest.Cases {
		byFile[c.File] = append(byFile[c.File], c)
	}
	passed, skipped := 0, 0
	for file, cases := range byFile {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".oinf"), func(t *testing.T) {
			p, s := runBaselines(t, filepath.Join(dir, filepath.FromSlash(file)), cases)
			passed, skipped = passed+p, skipped+s
		})
	}
	if passed+skipped != len(manifest.Cases) || skipped > len(wrong) || passed == 0 {
		t.Errorf("%d of %d cases passed, %d are known to be wrong", passed, len(manifest.Cases), skipped)
	}
	t.Logf("%d of %d cases passed, %d are known to be wrong", passed, len(manifest.Cases), skipped)
}

func runBaselines(t *testing.T, file string, cases []baseline) (passed, skipped int) {
	tensors := readTensors(t, file)
	var trials []trial
	var wants []*tensor.Tensor
	for _, c := range cases {
		if slices.Contains(wrong, c.Name) {
			skipped++
			continue
		}
		in, ok := parseDType(c.InputType)
		out, ok2 := parseDType(c.OutputType)
		want := tensors[c.Expected]
		if !ok || !ok2 || want == nil {
			t.Fatalf("%s: types %q and %q, expected %q", c.Name, c.InputType, c.OutputType, c.Expected)
		}
		tr := trial{name: c.Name, word: c.Op, in: in, out: out, over: c.Mode == "inplace", dims: want.Shape()}
		for _, name := range c.Inputs {
			if tensors[name] == nil {
				t.Fatalf("%s: no tensor %q", c.Name, name)
			}
			tr.inputs = append(tr.inputs, tensors[name])
		}
		for _, a := range c.Attrs {
			tr.attrs = append(tr.attrs, attr{a.Name, attrValue(t, a.Kind, a.Scalar, a.Value)})
		}
		trials, wants = append(trials, tr), append(wants, want)
	}
	for i, got := range run(t, trials) {
		if where := differs(trials[i].out, got, wants[i], tolerances[trials[i].out]); where != "" {
			t.Errorf("%s: %s", trials[i].name, where)
		} else {
			passed++
		}
	}
	return passed, skipped
}

// readTensors returns the tensors of a file by their names.
func readTensors(t *testing.T, file string) map[string]*tensor.Tensor {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := oinf.Read(nil, file, data)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]*tensor.Tensor{}
	for _, init := range m.Graph.Initializers {
		list[init.Name] = init.Tensor
	}
	return list
}

// attrValue returns the value of an attribute of the manifest.
func attrValue(t *testing.T, kind, scalar string, value json.RawMessage) any {
	t.Helper()
	switch kind + scalar {
	case "dtype":
		word := decoded[string](t, value)
		d, ok := parseDType(word)
		if !ok {
			t.Fatalf("no type %q", word)
		}
		return d
	case "string":
		return decoded[string](t, value)
	case "int_list":
		return decoded[[]int64](t, value)
	case "scalarbool":
		return decoded[bool](t, value)
	case "scalarint":
		return decoded[int64](t, value)
	case "scalaruint":
		return decoded[uint64](t, value)
	case "scalarfloat":
		if string(value) == "null" {
			return math.Inf(1)
		}
		return decoded[float64](t, value)
	}
	t.Fatalf("attribute of kind %q %q", kind, scalar)
	return nil
}

func decoded[T any](t *testing.T, data json.RawMessage) (v T) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

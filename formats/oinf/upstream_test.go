package oinf

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestUpstream reads the files of the format's own tools, compares them with the index, and writes
// them again.
func TestUpstream(t *testing.T) {
	dir := upstream(t)
	var index []struct {
		File     string
		Bytes    int
		Version  int `json:"format_version"`
		SHA256   string
		Sizevars map[string]string
		Metadata map[string]struct {
			Type  string
			Value any
		}
		Tensors []tensorAnswer
	}
	parse(t, filepath.Join(dir, "INDEX.json"), &index)
	for _, a := range index {
		t.Run(a.File, func(t *testing.T) {
			data := slurp(t, filepath.Join(dir, a.File))
			m, err := Read(nil, a.File, data)
			if a.Version == 0 {
				if err == nil || len(Verify(nil, a.File, data)) == 0 {
					t.Error("accepted")
				}
				return
			}
			if err != nil || Verify(nil, a.File, data) != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != a.SHA256 || len(data) != a.Bytes {
				t.Fatal("the answer is of another file")
			}
			all := answer{Version: a.Version, Tensors: a.Tensors}
			for i := range all.Tensors {
				all.Tensors[i].Tag = tagOfWord(all.Tensors[i].DType)
			}
			if len(m.Sizes) != len(a.Sizevars) || len(m.Meta) != len(a.Metadata) {
				t.Errorf("%d size variables and %d metadata entries", len(m.Sizes), len(m.Meta))
			}
			for _, s := range m.Sizes {
				all.Sizevars = append(all.Sizevars, struct{ Name, Value string }{s.Name, a.Sizevars[s.Name]})
			}
			for _, p := range m.Meta {
				want := a.Metadata[p.Key]
				if p.Kind != want.Type {
					t.Errorf("metadata %q is of kind %s, want %s", p.Key, p.Kind, want.Type)
				}
				sameValue(t, p, want.Value, "")
			}
			m.Meta = nil
			all.model(t, m, data)
			rewrite(t, must(Read(nil, a.File, data)), data)
		})
	}
}

func tagOfWord(word string) uint32 {
	for tag, row := range types {
		if row.word == word && word != "" {
			return uint32(tag)
		}
	}
	return 0
}

// upstream returns a folder of files of the format's own tools. If the samples have none, it skips
// the test.
func upstream(t *testing.T, path ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{fixtures.Dir(t, Name), "upstream"}, path...)...)
	if _, err := os.Stat(dir); err != nil {
		testenv.SkipSamples(t, "the samples have no ", dir)
	}
	return dir
}

// named reads a file and returns its tensors by name.
func named(t *testing.T, path string) map[string]*graph.Initializer {
	t.Helper()
	m, err := Read(nil, path, slurp(t, path))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*graph.Initializer{}
	for _, init := range m.Graph.Initializers {
		found[init.Name] = init
	}
	return found
}

// TestBaselines compares the tensors of upstream's own test data with the lists beside them.
func TestBaselines(t *testing.T) {
	dir := upstream(t)
	lists, err := filepath.Glob(filepath.Join(dir, "v1", "*_baselines", "*.json"))
	if err != nil || len(lists) == 0 {
		testenv.SkipSamples(t, "no samples in ", dir)
	}
	for _, path := range lists {
		var list struct {
			File    string
			Tensors []struct {
				Name, DType string
				Shape       tensor.Shape
			}
		}
		parse(t, path, &list)
		found := named(t, filepath.Join(filepath.Dir(path), list.File))
		if len(found) != len(list.Tensors) {
			t.Errorf("%s: %d tensors, want %d", path, len(found), len(list.Tensors))
		}
		for _, want := range list.Tensors {
			init := found[want.Name]
			if init == nil || !init.Tensor.Shape().Equal(want.Shape) || init.Stored.DType != want.DType && init.Tensor.DType().String() != want.DType {
				t.Errorf("%s: tensor %q is %v, want %s%v", path, want.Name, init, want.DType, want.Shape)
			}
		}
	}
}

// TestGraphBaselines computes two small graphs: relu(x @ w + b), and relu(x) + abs(x).
func TestGraphBaselines(t *testing.T) {
	dir := upstream(t, "v1", "graph_baselines")
	values := func(found map[string]*graph.Initializer, name string) (list []float64) {
		if found[name] == nil {
			t.Fatalf("no tensor %q", name)
		}
		walk(t.Context(), found[name].Tensor, func(part []float64) { list = append(list, part...) })
		return list
	}
	near := func(what string, i int, got, want float64) {
		if math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: element %d is %g, want %g", what, i, got, want)
		}
	}
	found := named(t, filepath.Join(dir, "graph_branch.oinf"))
	x := values(found, "branch_x")
	for i, want := range values(found, "branch_out") {
		near("branch", i, max(x[i], 0)+math.Abs(x[i]), want)
	}
	found = named(t, filepath.Join(dir, "graph_simple.oinf"))
	x, w, b := values(found, "simple_x"), values(found, "simple_w"), values(found, "simple_b")
	for i, want := range values(found, "simple_out") {
		sum := b[i]
		for k := range 3 {
			sum += x[i/4*3+k] * w[k*4+i%4]
		}
		near("simple", i, max(sum, 0), want)
	}
}

// TestMatrixBaselines finds the tensors of every case in the matrix of operators. It computes the
// cases of add and eq on integers, because they depend on the meaning of a packed type's bits.
func TestMatrixBaselines(t *testing.T) {
	dir := upstream(t, "v1", "op_baselines")
	var list struct {
		Cases []struct {
			Name, File, Op, Mode, Expected string
			Inputs                         []string
			In                             string `json:"input_dtype"`
			Out                            string `json:"output_dtype"`
		}
	}
	parse(t, filepath.Join(dir, "full_matrix", "manifest.json"), &list)
	files := map[string]map[string]*graph.Initializer{}
	computed := 0
	for _, c := range list.Cases {
		if files[c.File] == nil {
			files[c.File] = named(t, filepath.Join(dir, c.File))
		}
		found := files[c.File]
		out := found[c.Expected]
		if out == nil || out.Stored.DType != c.Out {
			t.Errorf("%s: %q is %v, want %s", c.Name, c.Expected, out, c.Out)
			continue
		}
		var in []*tensor.Tensor
		for _, name := range c.Inputs {
			init := found[name]
			if init == nil || init.Stored.DType != c.In {
				t.Errorf("%s: %q is %v, want %s", c.Name, name, init, c.In)
				continue
			}
			in = append(in, init.Tensor)
		}
		if len(in) != 2 || !in[0].DType().IsInteger() || c.Mode == "accumulate" || c.Op != "add" && c.Op != "eq" {
			continue
		}
		computed++
		for i := range out.Tensor.Len() {
			var want string
			a, b := integer(in[0], i), integer(in[1], i)
			if c.Op == "eq" {
				want = map[bool]string{true: "true", false: "false"}[a == b]
			} else {
				want = wrapped(a+b, in[0].DType())
			}
			if got := out.Tensor.Text(i); got != want {
				t.Errorf("%s: element %d is %s, want %s", c.Name, i, got, want)
			}
		}
	}
	if computed == 0 {
		t.Error("nothing was computed")
	}
}

// integer returns an element modulo 2^64.
func integer(x *tensor.Tensor, i int) uint64 {
	text := x.Text(i)
	negative := strings.HasPrefix(text, "-")
	var v uint64
	for _, c := range strings.TrimPrefix(text, "-") {
		v = v*10 + uint64(c-'0')
	}
	if negative {
		v = -v
	}
	return v
}

// wrapped returns the text of v in the width of a type.
func wrapped(v uint64, d tensor.DType) string {
	raw := make([]byte, 8)
	for i := range raw {
		raw[i] = byte(v >> (8 * i))
	}
	return must(tensor.FromBytes(d, tensor.Shape{}, raw[:d.Bytes(1)])).Text(0)
}

// TestGraphRuns finds the tensors of the small runs.
func TestGraphRuns(t *testing.T) {
	dir := filepath.Join(fixtures.Dir(t, Name), "generated", "graphs")
	runs, err := filepath.Glob(filepath.Join(dir, "*.io.oinf"))
	if err != nil || len(runs) == 0 {
		testenv.SkipSamples(t, "no samples in ", dir)
	}
	for _, path := range runs {
		var run struct {
			Steps []struct{ Inputs, Outputs map[string]string }
		}
		parse(t, strings.TrimSuffix(path, ".io.oinf")+".json", &run)
		found := named(t, path)
		n := 0
		for _, step := range run.Steps {
			for _, side := range []map[string]string{step.Inputs, step.Outputs} {
				for _, name := range side {
					if n++; found[name] == nil {
						t.Errorf("%s has no tensor %q", path, name)
					}
				}
			}
		}
		if n == 0 || n != len(found) {
			t.Errorf("%s has %d tensors, and %d are used", path, len(found), n)
		}
		rewrite(t, must(Read(nil, path, slurp(t, path))), slurp(t, path))
	}
}

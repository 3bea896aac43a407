package main

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestLiteral reads values that are written down, and compares them with the JSON of --json.
func TestLiteral(t *testing.T) {
	for _, c := range []struct {
		name, text string
		dtype      nacre.DType
		axes       int
		want       string // JSON of the tensor, or the start of an error after a !
	}{
		{"number", "16000", nacre.Int64, 0, `{"dtype":"int64","shape":[],"values":[16000]}`},
		{"number of a batch", "1.5", nacre.Float32, 2, `{"dtype":"float32","shape":[1,1],"values":[1.5]}`},
		{"list", "1,2,3", nacre.Int32, 1, `{"dtype":"int32","shape":[3],"values":[1,2,3]}`},
		{"list with brackets", " [1, 2,3]", nacre.Int8, 1, `{"dtype":"int8","shape":[3],"values":[1,2,3]}`},
		{"list of a batch", "1,2,3", nacre.Uint8, 2, `{"dtype":"uint8","shape":[1,3],"values":[1,2,3]}`},
		{"lists", "[[1,2],[3,4]]", nacre.Float64, 2, `{"dtype":"float64","shape":[2,2],"values":[1,2,3,4]}`},
		{"lists without brackets", "[1],[2]", nacre.Int16, 2, `{"dtype":"int16","shape":[2,1],"values":[1,2]}`},
		{"too many axes", "[[[1]]]", nacre.Uint16, 1, `{"dtype":"uint16","shape":[1,1,1],"values":[1]}`},
		{"no elements", "[]", nacre.Uint32, 1, `{"dtype":"uint32","shape":[0],"values":[]}`},
		{"large", "18446744073709551615", nacre.Uint64, 0, `{"dtype":"uint64","shape":[],"values":[18446744073709551615]}`},
		{"halves", "0.5,65504", nacre.Float16, 1, `{"dtype":"float16","shape":[2],"values":[0.5,65504]}`},
		{"short halves", "0.5,-2", nacre.BFloat16, 1, `{"dtype":"bfloat16","shape":[2],"values":[0.5,-2]}`},
		{"no numbers", `"NaN","-Infinity"`, nacre.Float32, 1, `{"dtype":"float32","shape":[2],"values":["NaN","-Infinity"]}`},
		{"booleans", "true,0", nacre.Bool, 1, `{"dtype":"bool","shape":[2],"values":[true,false]}`},
		{"texts", `"a","b c"`, nacre.String, 1, `{"dtype":"string","shape":[2],"values":["a","b c"]}`},
		{"object", `{"dtype":"int8","shape":[2,1],"values":[1,2]}`, nacre.Float32, 1, `{"dtype":"int8","shape":[2,1],"values":[1,2]}`},
		{"lists that differ", "[[1,2],[3]]", nacre.Float32, 2, "!lists differ in shape"},
		{"number and list", "[1,[2]]", nacre.Float32, 2, "!lists differ in shape"},
		{"out of range", "256", nacre.Uint8, 0, "!256 is no uint8"},
		{"fraction", "1.5", nacre.Int64, 0, "!1.5 is no int64"},
		{"null", "null", nacre.Float32, 0, "!<nil> is no float32"},
		{"text without marks", "1", nacre.String, 0, "!1 is no string"},
		{"narrow", "-8,7,1", nacre.Int4, 1, `{"dtype":"int4","shape":[3],"values":[-8,7,1]}`},
		{"beyond narrow", "8", nacre.Int4, 0, "!8 is no int4"},
		{"short floats", "1", nacre.Float8E5M2, 0, "!elements of float8e5m2"},
		{"object of another form", `{"a":1}`, nacre.Float32, 0, "!dtype"},
		{"object without shape", `{"dtype":"int8"}`, nacre.Float32, 0, "!an object has"},
		{"object with another count", `{"dtype":"int8","shape":[3],"values":[1]}`, nacre.Float32, 0, "!1 values do not fill"},
	} {
		if !isLiteral(c.text) {
			t.Errorf("%s is no literal", c.name)
		}
		x, err := literal([]byte(c.text), nacre.Info{Kind: nacre.TensorKind, DType: c.dtype, Shape: make([]nacre.Dim, c.axes)})
		if start, fails := strings.CutPrefix(c.want, "!"); fails {
			if err == nil || !strings.HasPrefix(err.Error(), start) {
				t.Errorf("%s: got %v, %v", c.name, x, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, err := json.Marshal(asJSON(t.Context(), x)); err != nil || string(got) != c.want {
			t.Errorf("%s: got %s (%v), want %s", c.name, got, err, c.want)
		}
	}
	for _, text := range []string{"16k", "x.npy", "1 2", "[1", "a,b", "-", "@1"} {
		if isLiteral(text) {
			t.Errorf("%q is a literal", text)
		}
	}
}

// TestRunValues gives a model its input in every form.
func TestRunValues(t *testing.T) {
	testenv.Need(t, bindings.Available())
	dir := t.TempDir()
	x, err := tensor.From([]float32{1, 2, 3}, 3)
	if err != nil {
		t.Fatal(err)
	}
	array, proto, text := npyBytes(t, x), pbBytes("x", x), []byte(" [1,2,3]\n")
	run := copying(t, dir, "copy", graph.TensorOf(tensor.F32, graph.Dims{graph.Unknown()}), "x.npy", array)[:2]
	seen := []any{1.0, 2.0, 3.0}
	file, list := filepath.Join(dir, "x.npy"), write(t, filepath.Join(dir, "x.json"), text)
	for _, c := range []struct {
		value string
		stdin []byte
		want  []any // nil for an error
	}{
		{"1,2,3", nil, seen}, {"[1,2,3]", nil, seen}, {"4", nil, []any{4.0}},
		{file, nil, seen}, {"@" + file, nil, seen}, {list, nil, seen},
		{"-", array, seen}, {"-", proto, seen}, {"-", text, seen},
		{"-", nil, nil}, {"-", []byte("no tensor"), nil}, {"@1,2,3", nil, nil}, {"16k", nil, nil},
	} {
		stdin(t, string(c.stdin))
		code, stdout, stderr := call(append(run, "--json", "--input", "x="+c.value)...)
		var got map[string]struct{ Values []any }
		_ = json.Unmarshal([]byte(stdout), &got)
		if (code == exitDone) != (c.want != nil) || !reflect.DeepEqual(got["y"].Values, c.want) {
			t.Errorf("%s with %q: exit code %d, %v, want %v: %s", c.value, c.stdin, code, got, c.want, stderr)
		}
	}
	t.Chdir(dir)
	write(t, "7", []byte("a file whose name is a number"))
	if code, _, stderr := call(append(run, "--input", "x=7")...); code != exitFailed || !strings.Contains(stderr, `ending in ""`) {
		t.Errorf("a file named 7: exit code %d, %s", code, stderr)
	}
}

// TestRunRandom checks that random inputs follow from the seed, and that the flags are checked.
func TestRunRandom(t *testing.T) {
	testenv.Need(t, bindings.Available())
	random := func(args ...string) string {
		code, stdout, stderr := call(append([]string{"run", digits, "--random", "--json"}, args...)...)
		if code != exitDone {
			t.Fatal(stderr)
		}
		return stdout
	}
	if a, b := random("--seed", "3"), random("--seed", "3"); a != b || a == random("--seed", "4") {
		t.Errorf("a seed gives %s and %s", a, b)
	}
	var got map[string]struct{ Shape []int }
	if err := json.Unmarshal([]byte(random("--dim", "batch=2")), &got); err != nil || !reflect.DeepEqual(got["probabilities"].Shape, []int{2, 10}) {
		t.Errorf("got %v (%v)", got, err)
	}
	for _, args := range [][]string{{"--dim", "batch=2"}, {"--random", "--test-data", "."}, {"--picture", "probabilities"},
		{"--random", "--picture", "probabilities=x.jpg"}, {"--random", "--picture", "none=x.png"}} {
		if code, _, stderr := call(append([]string{"run", digits}, args...)...); code != exitUsage {
			t.Errorf("%q: exit code %d, %s", args, code, stderr)
		}
	}
}

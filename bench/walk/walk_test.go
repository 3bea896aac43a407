package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/bench/turns"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestMain runs the tests, or serves models to one of them.
func TestMain(m *testing.M) {
	if side.Serving() {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestWalk walks a few rows with this program on both sides.
func TestWalk(t *testing.T) {
	testenv.Need(t, bindings.Available())
	self := func() *exec.Cmd { return exec.Command(os.Args[0], side.ServeWord) }
	w := &walk{
		options: options{Options: turns.Options{Bounds: turns.Bounds{Rounds: 3}}}, folder: t.TempDir(),
		sides: [2]contender{{name: "Nacre", command: self}, {name: "other", command: self}},
	}
	defer w.close()
	all, err := rows()
	if err != nil {
		t.Fatal(err)
	}
	wanted := regexp.MustCompile("^operators/(Shape|SplitToSequence|StringConcat|ai.onnx.ml.ZipMap|RandomUniform.*)$")
	var list []row
	for _, r := range all {
		if wanted.MatchString(r.Title()) {
			list = append(list, r)
		}
	}
	opened := len(list)
	list = append(list,
		row{group: ofOpening, name: "chain", build: func(folder string) error { return saved(folder, topologies.Chain(8)) }},
		row{group: ofOperators, name: "broken", build: func(folder string) error {
			return saved(folder, &graph.Model{Graph: &graph.Graph{Nodes: []*graph.Node{{Op: "NoSuchOperator",
				Outputs: []string{"y"}}}}})
		}})
	w.walk(t.Context(), list)
	if len(w.results.Rows) != opened+3 {
		t.Fatalf("%d rows of %d, of which one has two", len(w.results.Rows), len(list))
	}
	for _, r := range w.results.Rows {
		if failed := r.Error != ""; failed != (r.Name == "broken") {
			t.Errorf("%s: %s", r.Name, r.Error)
		} else if !failed && (r.Best[0] <= 0 || r.Best[1] <= 0 || r.Median[0] < r.Best[0]) {
			t.Errorf("%s took %g and %g", r.Name, r.Best, r.Median)
		}
	}
	if err := w.finish(); err == nil || !strings.Contains(err.Error(), "1 rows failed") {
		t.Errorf("a row failed, and the walk ends with %v", err)
	}
}

// TestAnswers compares tensors that differ.
func TestAnswers(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, x *tensor.Tensor, err error) {
		if err == nil {
			var data []byte
			if data, err = onnx.WriteTensor(nil, "", x); err == nil {
				err = os.WriteFile(filepath.Join(folder, name+"_0.pb"), data, 0o666)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	floats := func(name string, v ...float32) {
		x, err := tensor.From(v, len(v))
		write(name, x, err)
	}
	floats("plain", 1, 2, 3)
	floats("near", 1, 2, 3.0001)
	floats("far", 1, 2, 3.01)
	floats("short", 1, 2)
	ints, err := tensor.From([]int64{1, 2, 3}, 3)
	write("integers", ints, err)
	words, err := tensor.FromStrings([]string{"a"}, 1)
	write("words", words, err)
	words, err = tensor.FromStrings([]string{"b"}, 1)
	write("other words", words, err)
	for _, c := range []struct {
		got, want string
		row       row
		same      bool
	}{
		{"near", "plain", row{}, true},
		{"far", "plain", row{}, false},
		{"far", "plain", row{share: 0.01}, true},
		{"far", "plain", row{drawn: true}, true},
		{"short", "plain", row{drawn: true}, false},
		{"integers", "plain", row{}, false},
		{"words", "words", row{}, true},
		{"words", "other words", row{}, false},
		{"plain", "missing", row{}, false},
		{"missing", "missing", row{}, false},
	} {
		err := compareAnswers(filepath.Join(folder, c.got), filepath.Join(folder, c.want), &c.row)
		if (err == nil) != c.same {
			t.Errorf("%s beside %s: %v", c.got, c.want, err)
		}
	}
}

package openinfer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// stepper runs a program step by step.
type stepper struct {
	session *nacre.Session
	stream  *nacre.Stream // nil for a program without states
}

func newStepper(t testing.TB, m *nacre.Model, o nacre.Options) (*stepper, error) {
	t.Helper()
	s, err := m.NewSession(o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { s.Close() })
	p := &stepper{session: s}
	if len(m.States()) > 0 {
		if p.stream, err = s.NewStream(context.Background(), nacre.StreamOptions{}); err != nil {
			return nil, err
		}
		t.Cleanup(func() { p.stream.Close() })
	}
	return p, nil
}

func (p *stepper) step(ctx context.Context, inputs map[string]*nacre.Tensor) (map[string]*nacre.Tensor, error) {
	if p.stream == nil {
		return p.session.Run(ctx, inputs)
	}
	return p.stream.Run(ctx, inputs)
}

// fetch returns the value of a variable after a step.
func (p *stepper) fetch(out map[string]*nacre.Tensor, name string) (*nacre.Tensor, error) {
	for _, as := range []string{name, name + ".out"} {
		if t := out[as]; t != nil {
			return t, nil
		}
	}
	if p.stream != nil {
		return p.stream.State("past." + name)
	}
	return nil, fmt.Errorf("there is no output %q", name)
}

// ways returns the options under which every program must give the same results.
func ways() map[string]nacre.Options {
	return map[string]nacre.Options{
		"optimised": {}, "one thread": {Threads: 1}, "two threads": {Threads: 2}, "not optimised": {NoOptimize: true, Threads: 1},
	}
}

// graphCase is a run of the fixtures.
type graphCase struct {
	Name, Model, Graph, IO string
	Steps                  []struct{ Inputs, Outputs map[string]string }
	Tolerance              struct{ Abs, Rel float64 }
}

// TestFixtureGraphs runs every graph of the fixtures over its steps.
func TestFixtureGraphs(t *testing.T) {
	testenv.Need(t, bindings.Available())
	dir := filepath.Join(fixtures.Dir(t, "oinf"), "generated", "graphs")
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		testenv.SkipSamples(t, "no graphs in ", dir)
	}
	n := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c graphCase
		if json.Unmarshal(data, &c) != nil || c.Graph == "" {
			continue // a graph, not a case
		}
		n++
		for name, o := range ways() {
			t.Run(c.Name+"/"+name, func(t *testing.T) { c.run(t, dir, o) })
		}
	}
	t.Logf("%d graphs", n)
}

func (c *graphCase) run(t *testing.T, dir string, o nacre.Options) {
	m, err := openProgram(filepath.Join(dir, c.Graph), beside(t, dir, c.Model))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	io, err := nacre.Open(filepath.Join(dir, c.IO))
	if err != nil {
		t.Fatal(err)
	}
	defer io.Close()
	o.Outputs = c.outputs(m)
	p, err := newStepper(t, m, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range c.Steps {
		inputs := map[string]*nacre.Tensor{}
		for name, from := range step.Inputs {
			if inputs[name], err = io.Weight(from); err != nil {
				t.Fatal(err)
			}
		}
		out, err := p.step(context.Background(), inputs)
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		for name, from := range step.Outputs {
			want, err := io.Weight(from)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.fetch(out, name)
			if err == nil {
				err = compare(got, want, c.Tolerance.Abs, c.Tolerance.Rel)
			}
			if err != nil {
				t.Errorf("step %d, %s: %v", i, name, err)
			}
		}
	}
}

// outputs returns the outputs of the model, and further values that the steps name.
func (c *graphCase) outputs(m *nacre.Model) []string {
	var list []string
	for _, v := range m.Outputs() {
		list = append(list, v.Name)
	}
	for _, step := range c.Steps {
		for name := range step.Outputs {
			known := []string{name, name + ".out", "present." + name}
			if !slices.ContainsFunc(known, func(s string) bool { return slices.Contains(list, s) }) {
				list = append(list, name)
			}
		}
	}
	return list
}

// beside finds a model by its path, or by the end of its path, in dir or a folder above it.
func beside(t *testing.T, dir, path string) string {
	for at := dir; ; at = filepath.Dir(at) {
		for rest := filepath.FromSlash(path); rest != "."; {
			if name := filepath.Join(at, rest); exists(name) {
				return name
			}
			_, after, ok := cut(rest)
			if !ok {
				break
			}
			rest = after
		}
		if at == filepath.Dir(at) {
			t.Fatalf("there is no model %s at or above %s", path, dir)
		}
	}
}

func cut(path string) (string, string, bool) {
	for i := range path {
		if os.IsPathSeparator(path[i]) {
			return path[:i], path[i+1:], true
		}
	}
	return path, "", false
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// compare compares tensors, byte for byte if the tolerance is 0.
func compare(got, want *nacre.Tensor, abs, rel float64) error {
	if got == nil {
		return fmt.Errorf("there is no value, want %v", want)
	}
	if got.DType() != want.DType() || fmt.Sprint(got.Shape()) != fmt.Sprint(want.Shape()) {
		return fmt.Errorf("got %v, want %v", got, want)
	}
	if abs == 0 && rel == 0 {
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			return fmt.Errorf("got %v, want %v: the elements differ", numbers(got), numbers(want))
		}
		return nil
	}
	g, w := numbers(got), numbers(want)
	for i := range w {
		if d := math.Abs(g[i] - w[i]); !(d <= abs+rel*math.Abs(w[i])) && !(math.IsNaN(g[i]) && math.IsNaN(w[i])) && g[i] != w[i] {
			return fmt.Errorf("element %d is %v, want %v", i, g[i], w[i])
		}
	}
	return nil
}

// numbers returns the elements as float64.
func numbers(t *nacre.Tensor) []float64 {
	d := tensor.DType(t.DType())
	x, err := tensor.FromBytes(d, t.Shape(), t.Bytes())
	if err != nil {
		return nil
	}
	list := make([]float64, t.Len())
	at := tensor.Numbers(x)
	for i := range list {
		list[i] = at(i)
	}
	return list
}

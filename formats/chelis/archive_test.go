package chelis

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/hnw"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// record returns the fields of a type.
func (s *source) record(name string) []parameter {
	for _, t := range s.types {
		if t.name == name {
			return t.body
		}
	}
	panic("there is no type " + name)
}

// stored reads the weights of an archive as the module does, as fields of a variable.
func (in *interpreter) stored(s *source, variable, archive string) {
	for _, d := range s.defs {
		if d.result.name != "ForwardWeights" {
			continue
		}
		if len(d.params) != 1 || d.params[0].kind.String() != "string" {
			panic(d.name + " takes no path")
		}
		local := &interpreter{in.defs, map[string]any{d.params[0].name: archive}}
		for _, l := range d.lines {
			local.vars[l.name] = local.eval(l.expr)
			if l.kind.name != "" {
				fits(local.vars[l.name].(*array), l.kind, nil)
			}
		}
		for i, f := range s.record("ForwardWeights") {
			w := local.eval(d.tail.args[i]).(*array)
			fits(w, f.kind, nil)
			if d.tail.fields[i] != f.name {
				panic(d.tail.fields[i] + " where " + f.name + " belongs")
			}
			in.vars[variable+"."+f.name] = w
		}
		return
	}
	panic("nothing reads the weights")
}

// readStored evaluates a function of Std.Io.Tensors. An opened archive is its path.
func readStored(name string, args []any) any {
	if name == "open_hnw" {
		return args[0].(string)
	}
	m, err := formats.Load(args[0].(string))
	if err != nil {
		panic(err)
	}
	defer m.Close()
	for _, init := range m.Graph.Initializers {
		if !slices.ContainsFunc(init.Meta, func(p graph.Pair) bool { return p.Key == "id" && p.Value == args[1].(string) }) {
			continue
		}
		a := arrayOf(init.Tensor)
		if name != "read_"+a.kind || !slices.Equal(a.shape, append([]int{}, list(args[2])...)) {
			panic(fmt.Sprintf("tensor %s is %s%v", args[1], a.kind, a.shape))
		}
		return &array{a.kind, []int{len(a.data)}, a.data}
	}
	panic(fmt.Sprintf("no tensor named %s", args[1]))
}

// mixed returns a network with weights of every type, a computed constant, and this number of
// inputs.
func mixed(inputs int) *graph.Model {
	b := graph.NewBuilder("mixed")
	n := graph.Symbol("rows")
	x := b.Input("path", floats(n, graph.Known(3)))
	for range inputs - 1 {
		x = b.Op("Add", []string{x, b.Input("archive", floats(n, graph.Known(3)))})
	}
	weight := func(name string, t *tensor.Tensor) string { return b.Weight(&graph.Initializer{Name: name, Tensor: t}) }
	special := f32(3, 4)
	tensor.View[float32](special)[5] = float32(math.Inf(-1))
	x = b.Op("Relu", []string{b.Op("MatMul", []string{x, weight("weights", special)})})
	x = b.Op("Where", []string{weight("stored", filled(tensor.Bool, []float64{1, 0, 1, 1}, 4)), x, weight("unit", f32())})
	x = b.Op("Gather", []string{x, weight("index.a", filled(tensor.I64, []float64{2, 0, 1}, 3))}, graph.IntAttr("axis", 1))
	x = b.Op("Mul", []string{b.Op("Cast", []string{x}, graph.IntAttr("to", 11)), weight("index.b", filled(tensor.F64, []float64{0.1, 3, -2}, 3))})
	x = b.Op("Add", []string{x, b.Op("Cast", []string{weight("whole", filled(tensor.I32, steps, 3))}, graph.IntAttr("to", 11))})
	weight("unused", f32(2))
	out := graph.TensorOf(tensor.F64, graph.Dims{n, graph.Known(3)})
	if inputs > 1 {
		b.Output(b.Op("Neg", []string{x}), "z", out)
	}
	b.Output(x, "y", out)
	return model(b)
}

// TestArchive evaluates modules that read weights from an archive.
func TestArchive(t *testing.T) {
	for inputs := 1; inputs <= 2; inputs++ {
		m := mixed(inputs)
		text, err := emitted(m, Options{Archive: true, MaxElements: 1})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "mixed.hnw")
		if err := formats.SaveAs(path, hnw.Name, m, formats.Options{DropGraph: true, DropMeta: true}); err != nil {
			t.Fatal(err)
		}
		given := map[string]*tensor.Tensor{"path": f32(2, 3), "archive": f32(2, 3)}
		if inputs == 1 {
			delete(given, "archive")
		}
		if err := runStored(m, text, path, given); err != nil {
			t.Errorf("%d inputs: %v\n%s", inputs, err, text)
		}
		for _, part := range []string{"\nimport Std.Io.Tensors (open_hnw, read_bool, read_f32, read_f64, read_i32, read_i64)\n", ": string) -> ForwardWeights ! { IO } = {\n", ": ForwardWeights) -> "} {
			if !strings.Contains(text, part) {
				t.Errorf("%d inputs: no %q in\n%s", inputs, part, text)
			}
		}
		if strings.Contains(text, "unused") {
			t.Errorf("%d inputs: a weight is read that nothing uses", inputs)
		}
	}
	b := graph.NewBuilder("none")
	b.Output(b.Op("Relu", []string{b.Input("x", floats(known(2)...))}), "y", floats(known(2)...))
	if text, err := emitted(model(b), Options{Archive: true}); err != nil || strings.Contains(text, "Weights") {
		t.Errorf("without weights: %v\n%s", err, text)
	}
	empty := single("Concat", 13, f32(2, 3), []*tensor.Tensor{tensor.New(tensor.F32, 2, 0)}, []*graph.Attr{graph.IntAttr("axis", 1)}, floats(known(2, 3)...))
	if _, err := emitted(empty, Options{Archive: true}); !errors.Is(err, ErrWeightConversion) {
		t.Errorf("a weight without elements: %v", err)
	}
}

package quantize_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/quantize"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sight returns a network of convolutions with a residual sum, a mean and a product.
func sight(t *testing.T, version int) *graph.Model {
	t.Helper()
	g := &graph.Graph{Name: "sight"}
	add := func(name string, scale float32, shape ...int) string {
		x := random(t, tensor.F32, shape...)
		for i := range tensor.View[float32](x) {
			tensor.View[float32](x)[i] *= scale
		}
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: name, Tensor: x})
		return name
	}
	g.Inputs = []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Known(1), graph.Known(3), graph.Known(12), graph.Known(12)})}}
	g.Outputs = []*graph.Value{{Name: "y", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Known(1), graph.Known(10)})}}
	node := func(op, output string, inputs []string, attrs ...*graph.Attr) {
		g.Nodes = append(g.Nodes, &graph.Node{Name: output, Op: op, Version: version, Inputs: inputs, Outputs: []string{output}, Attrs: attrs})
	}
	pads := graph.IntsAttr("pads", 1, 1, 1, 1)
	node("Conv", "c1", []string{"x", add("w1", 0.2, 16, 3, 3, 3), add("b1", 0.5, 16)}, pads)
	node("Relu", "r1", []string{"c1"})
	node("MaxPool", "p1", []string{"r1"}, graph.IntsAttr("kernel_shape", 2, 2), graph.IntsAttr("strides", 2, 2))
	node("Conv", "c2", []string{"p1", add("w2", 0.1, 16, 16, 3, 3), add("b2", 0.3, 16)}, pads)
	node("Relu", "r2", []string{"c2"})
	node("Conv", "c3", []string{"r2", add("w3", 0.1, 16, 16, 3, 3), "b2"}, pads)
	node("Add", "sum", []string{"c3", "p1"})
	node("Relu", "r3", []string{"sum"})
	node("Conv", "c4", []string{"r3", add("w4", 0.3, 16, 1, 3, 3), add("b4", 0.1, 16)}, pads, graph.IntAttr("group", 16))
	node("GlobalAveragePool", "mean", []string{"c4"})
	node("Flatten", "flat", []string{"mean"})
	node("Gemm", "y", []string{"flat", add("w5", 0.3, 10, 16), add("b5", 1, 10)}, graph.IntAttr("transB", 1))
	return &graph.Model{Format: onnx.Name, IR: 8, Opsets: []graph.Opset{{Version: version}}, Graph: g}
}

// pictures are inputs of sight.
func pictures(t *testing.T, count int) quantize.Runs {
	return func(yield func(map[string]*nacre.Tensor, error) bool) {
		for n := range count {
			x := tensor.New(tensor.F32, 1, 3, 12, 12)
			for i := range x.Len() {
				tensor.View[float32](x)[i] = float32(math.Sin(float64(i*(n+3)%97)/9) * (1 + float64(n%3)/3))
			}
			if !yield(map[string]*nacre.Tensor{"x": given(t, x)}, nil) {
				return
			}
		}
	}
}

// planOf returns the plan of a model, as text.
func planOf(t *testing.T, m *graph.Model) string {
	t.Helper()
	copied := *m
	model, err := nacre.NewModel(&copied)
	if err != nil {
		t.Fatal(err)
	}
	s, err := model.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for inputs := range pictures(t, 1) {
		text, err := s.Plan(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	return ""
}

// TestStatic quantises a network with ranges of each method, and runs the result.
func TestStatic(t *testing.T) {
	for _, method := range quantize.Methods {
		for _, signed := range []bool{false, true} {
			m := sight(t, 17)
			ranges, err := quantize.MeasureRanges(t.Context(), m, pictures(t, 8), method, nacre.Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			made, report, err := quantize.Model(t.Context(), m, quantize.Options{Type: typeOf(t, "int8"), Ranges: ranges, SignedActivations: signed})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, a := range report.Activations {
				names = append(names, a.Name)
				if a.Scale <= 0 || a.Low > a.High || a.Type != map[bool]string{false: "uint8", true: "int8"}[signed] {
					t.Errorf("%s: activation %+v", method, a)
				}
				if at := float64(a.Zero)*float64(a.Scale) + float64(a.Low); !signed && a.Low <= 0 && math.Abs(at) > float64(a.Scale) {
					t.Errorf("%s: zero point %d of %s, from %g in steps of %g", method, a.Zero, a.Name, a.Low, a.Scale)
				}
			}
			if want := []string{"x", "r1", "r2", "c3", "r3", "c4", "mean"}; !slices.Equal(names, want) {
				t.Errorf("%s: codes of %q, want %q", method, names, want)
			}
			d, err := quantize.Compare(t.Context(), m, made, pictures(t, 8), nacre.Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s signed=%t: error %.4f", method, signed, d.Error)
			if d.Error > 0.02 || d.Error == 0 {
				t.Errorf("%s: error %g", method, d.Error)
			}
			plan := planOf(t, made)
			for op, count := range map[string]int{"FusedQLinearConv": 4, "MatMulIntegerToFloat": 1, "QLinearGlobalAveragePool": 1} {
				if n := strings.Count(plan, op); n < count {
					t.Errorf("%s: %d of %s in the plan, want %d\n%s", method, n, op, count, plan)
				}
			}
			if warned := slices.ContainsFunc(report.Warnings, func(w string) bool { return strings.Contains(w, "VNNI") }); !warned {
				t.Errorf("%s: warnings %q", method, report.Warnings)
			}
			path := t.TempDir() + "/static.onnx"
			if err := formats.SaveAs(path, onnx.Name, made, formats.Options{}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestStaticReduced takes weights of 7 bits, with which nothing saturates.
func TestStaticReduced(t *testing.T) {
	m := sight(t, 17)
	ranges, err := quantize.MeasureRanges(t.Context(), m, pictures(t, 4), quantize.MinMax, nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	made, report, err := quantize.Model(t.Context(), m, quantize.Options{Type: typeOf(t, "int8"), Ranges: ranges, ReduceRange: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Warnings) != 0 {
		t.Errorf("warnings %q", report.Warnings)
	}
	for _, x := range made.Graph.Initializers {
		if x.Tensor.DType() != tensor.I8 {
			continue
		}
		for _, c := range x.Tensor.Bytes() {
			if int8(c) < -63 || int8(c) > 63 {
				t.Fatalf("%s has code %d", x.Name, int8(c))
			}
		}
	}
}

// TestConvWeights gives filters codes without ranges.
func TestConvWeights(t *testing.T) {
	for name, most := range map[string]float64{"int8": 0.01, "uint8": 0.01, "int4": 0.2} {
		m := sight(t, 21)
		made, report, err := quantize.Model(t.Context(), m, quantize.Options{Type: typeOf(t, name)})
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		for _, l := range report.Layers {
			if l.To == name {
				changed++
			}
		}
		d, err := quantize.Compare(t.Context(), m, made, pictures(t, 3), nacre.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		if changed < 4 || !(d.Error > 0) || d.Error > most {
			t.Errorf("%s: %d weights, error %g", name, changed, d.Error)
		}
	}
}

// TestRangesRefused says what is wrong with ranges.
func TestRangesRefused(t *testing.T) {
	m := sight(t, 17)
	ranges, err := quantize.MeasureRanges(t.Context(), m, pictures(t, 1), quantize.MinMax, nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	delete(ranges.Values, "r2")
	for want, o := range map[string]quantize.Options{
		`value "r2"`: {Type: typeOf(t, "int8"), Ranges: ranges},
		"type is q4": {Type: typeOf(t, "q4"), Ranges: ranges},
		"blocks of":  {Type: typeOf(t, "int8"), Ranges: ranges, Block: 32},
	} {
		if _, _, err := quantize.Model(t.Context(), m, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, f := range map[string]func() error{
		"no method": func() error {
			_, err := quantize.MeasureRanges(t.Context(), m, pictures(t, 1), "median", nacre.Options{})
			return err
		},
		"no calibration input": func() error {
			_, err := quantize.MeasureRanges(t.Context(), m, pictures(t, 0), quantize.MinMax, nacre.Options{})
			return err
		},
		"operator set 12": func() error {
			_, err := quantize.MeasureRanges(t.Context(), sight(t, 12), pictures(t, 1), quantize.MinMax, nacre.Options{})
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

package chelis

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/hnw"
	"github.com/nacre-ml/nacre/formats/internal/fixtures"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestFixtureModules compares modules with the samples' modules. The names and digests in the
// samples' archives refer to these.
func TestFixtureModules(t *testing.T) {
	dir := fixtures.Dir(t, hnw.Name)
	files, err := filepath.Glob(filepath.Join(dir, "models", "*_inline.ch"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		base := strings.TrimSuffix(file, "_inline.ch")
		for suffix, placeholder := range map[string]bool{"_inline.ch": false, "_placeholder.ch": true} {
			want, err := os.ReadFile(base + suffix)
			if err != nil {
				t.Fatal(err)
			}
			m, err := formats.Load(base + ".onnx")
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			first, _, _ := strings.Cut(string(want), "\n")
			got, err := emitted(m, Options{Module: strings.TrimPrefix(first, "module "), Placeholder: placeholder})
			if err != nil || got != string(want) {
				t.Errorf("%s%s: %v\n%.600s\nwant\n%.600s", base, suffix, err, got, want)
			}
		}
	}
}

// TestFixtureRuns evaluates the modules of the sample models.
func TestFixtureRuns(t *testing.T) {
	dir := fixtures.Dir(t, hnw.Name)
	text, err := os.ReadFile(filepath.Join(dir, "golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	type values struct {
		DType  string
		Shape  []int
		Values []float64
	}
	var golden struct {
		Run []struct {
			Model, Weights  string
			Inputs, Outputs map[string]values
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil || len(golden.Run) == 0 {
		t.Fatalf("%d runs, %v", len(golden.Run), err)
	}
	for i, r := range golden.Run {
		m, err := formats.Load(filepath.Join(dir, r.Model))
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		apart, err := emitted(m, Options{Archive: true})
		if err != nil {
			t.Errorf("%d, %s: %v", i, r.Model, err)
			continue
		}
		if r.Weights != "" {
			if err := hnw.Replace(nil, m, filepath.Join(dir, r.Weights)); err != nil {
				t.Fatal(err)
			}
		}
		module, err := emitted(m, Options{})
		if err != nil {
			t.Errorf("%d, %s: %v", i, r.Model, err)
			continue
		}
		inputs := map[string]*array{}
		var order []string
		for name, v := range r.Inputs {
			inputs[name], order = &array{v.DType, v.Shape, v.Values}, append(order, name)
		}
		got, err := evaluate(module, inputs, order)
		if err != nil {
			t.Errorf("%d, %s: %v", i, r.Model, err)
			continue
		}
		if r.Weights != "" {
			read, err := evaluateWith(apart, filepath.Join(dir, r.Weights), inputs, order)
			if err != nil {
				t.Errorf("%d, %s with %s: %v\n%s", i, r.Model, r.Weights, err, apart)
				continue
			}
			got = append(got, read...)
		}
		for _, want := range r.Outputs {
			for k, v := range want.Values {
				if math.Abs(got[0].data[k]-v) > 1e-5 || math.Abs(got[len(got)-1].data[k]-v) > 1e-5 {
					t.Errorf("%d, %s: element %d is %v, want %v", i, r.Model, k, got[0].data[k], v)
				}
			}
		}
	}
}

func f32(shape ...int) *tensor.Tensor {
	t := tensor.New(tensor.F32, shape...)
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(rand.NormFloat64())
	}
	return t
}

func floats(dims ...graph.Dim) graph.Type { return graph.TensorOf(tensor.F32, dims) }

func model(b *graph.Builder) *graph.Model {
	return b.Model(&graph.Model{Format: "onnx", File: "net.onnx"})
}

// TestNames emits networks with names that are keywords, collide, or have no letters.
func TestNames(t *testing.T) {
	pool := []string{"def", "tensor", "relu", "matmul", "x", "X", "x ", "x_2", "", "形状", "größe", "fc.a", "fc.b", "fc_c", "conv1.w", "conv2.w", "layer/0", "layer/1",
		"w_f32", "w_int", "a_bool", "1", "1 ", "forward", "main", "inputs", "ForwardInputs", "_", "__", "n", "shape", "f32", "true", "where0", "where", "a.b.c", "ab_cd", "ab_ef", "AB_GH"}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		r.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		var names []string
		for _, name := range pool {
			if name != "" {
				names = append(names, name)
			}
		}
		next := func() string { name := names[0]; names = names[1:]; return name }
		b := graph.NewBuilder("names")
		n := graph.Symbol(pool[len(pool)-1] + "n")
		width := graph.Known(4)
		var values []string
		given := map[string]*tensor.Tensor{}
		for range 1 + r.IntN(3) {
			name := next()
			values = append(values, b.Input(name, floats(n, width)))
			given[name] = f32(3, 4)
		}
		for range 1 + r.IntN(5) {
			values = append(values, b.Weight(&graph.Initializer{Name: next(), Tensor: f32(4)}))
		}
		x := values[0]
		for _, v := range values[1:] {
			x = b.Name(b.Op([]string{"Add", "Mul", "Sub"}[r.IntN(3)], []string{x, v}), next())
			if r.IntN(3) == 0 {
				x = b.Name(b.Op("Tanh", []string{x}), next())
			}
		}
		b.Output(b.Op("Softmax", []string{x}), next(), floats(n, width))
		if r.IntN(2) == 0 {
			b.Output(b.Op("Relu", []string{x}), next(), floats(n, width))
		}
		m := model(b)
		if err := graph.Validate(m); err != nil {
			t.Fatal(err)
		}
		text, err := emitted(m, Options{})
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		} else if err := runModule(m, text, given, nil); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text)
		}
	}
}

// TestSymbols checks that named axes become dimension variables.
func TestSymbols(t *testing.T) {
	b := graph.NewBuilder("symbols")
	n := graph.Symbol("Batch")
	x := b.Input("x", floats(n, graph.Known(4)))
	y := b.Op("Gemm", []string{x, b.Weight(&graph.Initializer{Name: "w", Tensor: f32(4, 6)}), b.Weight(&graph.Initializer{Name: "b", Tensor: f32(6)})})
	shape := b.Op("Concat", []string{b.Op("Slice", []string{b.Op("Shape", []string{x}), b.Ints(0), b.Ints(1)}), b.Ints(2, 3)}, graph.IntAttr("axis", 0))
	y = b.Op("Reshape", []string{y, shape})
	b.Output(b.Op("ReduceMean", []string{y, b.Ints(2)}, graph.IntAttr("keepdims", 0)), "y", floats(n, graph.Known(2)))
	m := model(b)
	text, err := emitted(m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const head = "def forward[batch](x: tensor[batch, 4, f32]) -> tensor[batch, 2, f32] = {\n"
	const bias = "reshape(expand(reshape(b(), [1i64, 6i64]), 0i32, shape(x, 0i32)), [shape(x, 0i32), 6i64])"
	if !strings.Contains(text, head) || !strings.Contains(text, bias) {
		t.Errorf("no %s or %s in\n%s", head, bias, text)
	}
	for _, rows := range []int{1, 5} {
		if err := runModule(m, text, map[string]*tensor.Tensor{"x": f32(rows, 4)}, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestRefusals checks the errors of models that cannot be emitted.
func TestRefusals(t *testing.T) {
	net := func(op string, in graph.Type, w *tensor.Tensor, out graph.Type) *graph.Model {
		b := graph.NewBuilder("refused")
		inputs := []string{b.Input("x", in)}
		if w != nil {
			inputs = append(inputs, b.Weight(&graph.Initializer{Name: "w", Tensor: w}))
		}
		b.Output(b.Op(op, inputs), "y", out)
		return model(b)
	}
	two := floats(graph.Known(2))
	infinite := f32(2)
	tensor.View[float32](infinite)[1] = float32(math.Inf(1))
	old := net("Relu", two, nil, two)
	old.Opsets[0].Version = 10
	half := graph.TensorOf(tensor.F16, known(2))
	for _, c := range []struct {
		name string
		m    *graph.Model
		o    Options
		want error
		text string
	}{
		{"opset", old, Options{}, ErrUnsupportedOpset, "operator set 10"},
		{"dtype", net("Relu", half, nil, half), Options{}, ErrUnsupportedDtype, "float16"},
		{"operator", net("Round", two, nil, two), Options{}, ErrUnsupportedOperator, "unsupported operator: Round"},
		{"anonymous", net("Relu", floats(graph.Unknown()), nil, floats(graph.Unknown())), Options{}, ErrInternalInconsistency, `axis 0 of input "x"`},
		{"large", net("Add", two, f32(2), two), Options{MaxElements: 1}, ErrWeightTooLarge, "WeightConversionFailure"},
		{"infinite", net("Add", two, infinite, two), Options{}, ErrWeightConversion, "element 1 is +Inf"},
		{"unwritable", net("Concat", floats(graph.Symbol("n")), nil, two), Options{}, nil, ""},
	} {
		if c.name == "unwritable" {
			c.m.Graph.Nodes[0].Attrs = append(c.m.Graph.Nodes[0].Attrs, graph.IntAttr("axis", 0))
			c.m.Graph.Nodes[0].Inputs = append(c.m.Graph.Nodes[0].Inputs, "x")
			c.want, c.text = ErrUnsupportedShape, "2*n"
		}
		_, err := emitted(c.m, c.o)
		if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.want, c.text)
		}
		if c.name == "large" || c.name == "infinite" {
			if _, err := emitted(c.m, Options{Placeholder: true, MaxElements: 1}); err != nil {
				t.Errorf("%s: placeholder: %v", c.name, err)
			}
		}
	}
}

// TestLiterals checks that numbers are printed as the formatter of Chelis does.
func TestLiterals(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0.0f32"}, {math.Copysign(0, -1), "-0.0f32"}, {1, "1.0f32"}, {0.1, "0.1f32"}, {1e-5, "0.00001f32"}, {1e-6, "1e-6f32"}, {-math.MaxFloat32, "-3.4028235e38f32"},
		{1e15, "1000000000000000.0f32"}, {0.00012, "0.00012f32"}, {1.0 / 3, "0.33333334f32"},
	} {
		if got := float(tensor.F32, float64(float32(c.v))); got != c.want || printNumber(strings.TrimPrefix(got, "-")) != strings.TrimPrefix(got, "-") {
			t.Errorf("%v is %s, want %s", c.v, got, c.want)
		}
	}
	if got := integer(tensor.I64, math.MinInt64); got != "cast(-9223372036854775808, i64)" {
		t.Error(got)
	}
}

// TestCheck checks that check refuses modules of bad style.
func TestCheck(t *testing.T) {
	const good = "module M\nexport (forward)\ndef w1() -> tensor[1, f32] = to_tensor([0.5f32])\ndef forward(x: tensor[1, f32]) -> tensor[1, f32] = add(x, w1())\n"
	if err := check(good); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{
		{"0.5f32", "0.50f32"}, {"\ndef w1", "\n\ndef w1"}, {"add(x, w1())", "{\n  add(x, w1())\n}"}, {"add(x, ", "add(x,"}, {"w1", "tensor"}, {"w1", "W1"}, {"w1()", "relu()"},
		{"module M", "module MLP"}, {"add(x", "add(y"}, {"add(x", "plus(x"}, {"w1", "w_bool"}, {"tensor[1, f32] = add", "tensor[n, f32] = add"},
	} {
		if err := check(strings.ReplaceAll(good, c[0], c[1])); err == nil {
			t.Errorf("%q in place of %q passes", c[1], c[0])
		}
	}
	if err := check(strings.Replace(good, "def forward", "def fc_a() -> tensor[1, f32] = to_tensor([0.5f32])\ndef fc_b() -> tensor[1, f32] = to_tensor([0.5f32])\ndef forward", 1)); err == nil {
		t.Error("a shared prefix passes")
	}
}

// known returns extents that are numbers.
func known(list ...int) graph.Dims {
	dims := make(graph.Dims, len(list))
	for i, v := range list {
		dims[i] = graph.Known(v)
	}
	return dims
}

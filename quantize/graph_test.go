package quantize_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/quantize"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// typeOf returns the type of that name.
func typeOf(t *testing.T, name string) quantize.Type {
	t.Helper()
	x, err := quantize.TypeOf(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// random returns a tensor of normal numbers.
func random(t *testing.T, d tensor.DType, shape ...int) *tensor.Tensor {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(shape[0]), 5))
	x := tensor.New(d, shape...)
	for i := range x.Len() {
		v := float32(r.NormFloat64() + 0.2)
		if d == tensor.F16 {
			tensor.View[packed.F16](x)[i] = packed.ToF16(v)
		} else {
			tensor.View[float32](x)[i] = v
		}
	}
	return x
}

const deep, wide = 80, 48

// network returns a model of a product, a Gemm with a bias, one with its weight transposed, and a
// table. Its inputs are of one row for each column of a weight, so that identities show weights.
func network(t *testing.T, d tensor.DType, version int) *graph.Model {
	t.Helper()
	g := &graph.Graph{Name: "g"}
	add := func(name string, x *tensor.Tensor) string {
		g.Initializers = append(g.Initializers, &graph.Initializer{Name: name, Tensor: x})
		return name
	}
	x := graph.Dims{graph.Known(deep), graph.Known(deep)}
	y := graph.Dims{graph.Known(deep), graph.Known(wide)}
	g.Inputs = []*graph.Value{{Name: "x", Type: graph.TensorOf(d, x)},
		{Name: "ids", Type: graph.TensorOf(tensor.I64, graph.Dims{graph.Known(7)})}}
	for _, name := range []string{"a", "b", "c"} {
		g.Outputs = append(g.Outputs, &graph.Value{Name: name, Type: graph.TensorOf(d, y)})
	}
	g.Outputs = append(g.Outputs, &graph.Value{Name: "e", Type: graph.TensorOf(d, graph.Dims{graph.Known(7), graph.Known(64)})})
	bias := tensor.New(d, wide)
	g.Nodes = []*graph.Node{
		{Name: "a", Op: "MatMul", Version: version, Inputs: []string{"x", add("A", random(t, d, deep, wide))}, Outputs: []string{"a"}},
		{Name: "b", Op: "Gemm", Version: version, Inputs: []string{"x", add("B", random(t, d, wide, deep)), add("bias", bias)}, Outputs: []string{"b"},
			Attrs: []*graph.Attr{graph.IntAttr("transB", 1)}},
		{Name: "c", Op: "Gemm", Version: version, Inputs: []string{"x", "A"}, Outputs: []string{"c"}},
		{Name: "e", Op: "Gather", Version: version, Inputs: []string{add("E", random(t, d, 7, 64)), "ids"}, Outputs: []string{"e"}},
	}
	return &graph.Model{Format: onnx.Name, IR: 10, Opsets: []graph.Opset{{Version: version}}, Graph: g}
}

// given returns a tensor as package nacre has it.
func given(t *testing.T, x *tensor.Tensor) *nacre.Tensor {
	t.Helper()
	y, err := nacre.FromBytes(nacre.DType(x.DType()), x.Bytes(), x.Shape()...)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// outputs runs a model on an identity and on all rows of the table.
func outputs(t *testing.T, m *graph.Model, d tensor.DType) map[string][]float64 {
	t.Helper()
	model, err := nacre.NewModel(m)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	s, err := model.NewSession(nacre.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, ids := tensor.New(d, deep, deep), tensor.New(tensor.I64, 7)
	for i := range deep {
		if d == tensor.F16 {
			tensor.View[packed.F16](x)[i*deep+i] = packed.ToF16(1)
		} else {
			tensor.View[float32](x)[i*deep+i] = 1
		}
	}
	for i := range 7 {
		tensor.View[int64](ids)[i] = int64(i)
	}
	got, err := s.Run(context.Background(), map[string]*nacre.Tensor{"x": given(t, x), "ids": given(t, ids)})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]float64{}
	for name, y := range got {
		z, err := tensor.FromBytes(tensor.DType(y.DType()), y.Shape(), y.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		at := tensor.Numbers(z)
		for i := range y.Len() {
			all[name] = append(all[name], at(i))
		}
	}
	return all
}

// TestNodes quantises the weights of nodes, runs the models on identities, and compares the error of
// the results with the report's error.
func TestNodes(t *testing.T) {
	for _, c := range []struct {
		to         string
		dtype      tensor.DType
		block      int
		asymmetric bool
		most       float64
		ops        string
	}{
		{"q4", tensor.F32, 0, false, 0.09, "MatMulNBits MatMulNBits Add MatMulNBits GatherBlockQuantized"},
		{"q4", tensor.F32, 16, true, 0.08, "MatMulNBits MatMulNBits Add MatMulNBits GatherBlockQuantized"},
		{"q4", tensor.F16, 64, true, 0.1, "MatMulNBits MatMulNBits Add MatMulNBits GatherBlockQuantized"},
		{"q8", tensor.F32, 0, false, 0.006, "MatMulNBits MatMulNBits Add MatMulNBits GatherBlockQuantized"},
		{"q8", tensor.F32, 128, true, 0.007, "MatMulNBits MatMulNBits Add MatMulNBits Gather"},
		{"q2", tensor.F32, 16, false, 0.4, "MatMulNBits MatMulNBits Add MatMulNBits GatherBlockQuantized"},
		{"q2", tensor.F32, 32, true, 0.36, "MatMulNBits MatMulNBits Add MatMulNBits GatherBlockQuantized"},
		{"int8", tensor.F32, 0, false, 0.01, "DequantizeLinear MatMul DequantizeLinear Gemm Gemm DequantizeLinear Gather"},
		{"uint8", tensor.F16, 0, false, 0.01, "DequantizeLinear MatMul DequantizeLinear Gemm Gemm DequantizeLinear Gather"},
		{"int4", tensor.F32, 16, false, 0.09, "DequantizeLinear MatMul DequantizeLinear Gemm Gemm DequantizeLinear Gather"},
		{"uint4", tensor.F32, 16, false, 0.08, "DequantizeLinear MatMul DequantizeLinear Gemm Gemm DequantizeLinear Gather"},
	} {
		t.Run(fmt.Sprintf("%s/%v/%d/%t", c.to, c.dtype, c.block, c.asymmetric), func(t *testing.T) {
			m := network(t, c.dtype, 21)
			want := outputs(t, m, c.dtype)
			o := quantize.Options{Type: typeOf(t, c.to), Block: c.block, Asymmetric: c.asymmetric, Threads: 2}
			made, report, err := quantize.Model(context.Background(), m, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := graph.Validate(made); err != nil {
				t.Fatal(err)
			}
			var ops []string
			for _, n := range made.Graph.Nodes {
				ops = append(ops, n.Op)
			}
			if got := strings.Join(ops, " "); got != c.ops {
				t.Errorf("nodes are %s, want %s", got, c.ops)
			}
			got := outputs(t, made, c.dtype)
			for output, weight := range map[string]string{"a": "A", "b": "B", "c": "A", "e": "E"} {
				var lost, power float64
				for i, v := range want[output] {
					lost += (got[output][i] - v) * (got[output][i] - v)
					power += v * v
				}
				e := math.Sqrt(lost / power)
				said := -1.0
				for _, l := range report.Layers {
					if l.Name == weight && said < 0 || l.Name == weight && output == "e" {
						said = l.Error
					}
				}
				if math.Abs(e-said) > 1e-3*said+1e-4*float64(c.dtype.Bits()%32/16*4) || e > c.most {
					t.Errorf("output %s: error %.5f, the report says %.5f, at most %.5f", output, e, said, c.most)
				}
			}
			if report.Bytes >= report.Before || len(report.Layers) < 3 {
				t.Errorf("%d bytes of %d, %d layers", report.Bytes, report.Before, len(report.Layers))
			}
		})
	}
}

// TestRules keeps weights by names and by their errors.
func TestRules(t *testing.T) {
	o := quantize.Options{Type: typeOf(t, "q4"), Layers: []quantize.Rule{{Pattern: regexp.MustCompile("^A$"), Type: quantize.Keep}, {Pattern: regexp.MustCompile("^E$"), Type: typeOf(t, "q8")}}}
	_, report, err := quantize.Model(context.Background(), network(t, tensor.F32, 17), o)
	if err != nil {
		t.Fatal(err)
	}
	to := map[string]string{}
	for _, l := range report.Layers {
		to[l.Name] = l.To
	}
	if to["A"] != "float32" || to["B"] != "q4" || to["E"] != "q8" {
		t.Errorf("types are %v", to)
	}
	o = quantize.Options{Type: typeOf(t, "q4"), KeepAbove: 0.001}
	made, report, err := quantize.Model(context.Background(), network(t, tensor.F32, 17), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range report.Layers {
		if l.To != "float32" || !(l.Error > 0.001) || !strings.Contains(l.Note, "above the limit") {
			t.Errorf("weight %s became %s at an error of %g: %s", l.Name, l.To, l.Error, l.Note)
		}
	}
	if len(made.Graph.Nodes) != 4 || len(made.Graph.Initializers) != 4 {
		t.Errorf("%d nodes and %d constants", len(made.Graph.Nodes), len(made.Graph.Initializers))
	}
}

// TestRefusedNodes quantises what cannot be quantised. Messages name the weight, the type and the way
// out.
func TestRefusedNodes(t *testing.T) {
	nan := network(t, tensor.F32, 21)
	tensor.View[float32](nan.Graph.Initializers[1].Tensor)[5] = float32(math.NaN())
	double := network(t, tensor.F32, 21)
	double.Graph.Initializers = []*graph.Initializer{{Name: "A", Tensor: tensor.New(tensor.F64, deep, wide)}}
	none := network(t, tensor.F32, 21)
	none.Graph.Nodes = none.Graph.Nodes[:0]
	for _, c := range []struct {
		m    *graph.Model
		to   string
		o    quantize.Options
		want []string
	}{
		{network(t, tensor.F32, 17), "int4", quantize.Options{}, []string{`"A"`, "int4", "set 21", "17", "q4"}},
		{nan, "q4", quantize.Options{}, []string{`"B"`, "NaN", "rule"}},
		{double, "q4", quantize.Options{}, []string{`"A"`, "float64", "convert"}},
		{none, "q4", quantize.Options{}, []string{"no nodes"}},
		{network(t, tensor.F32, 21), "q4_k", quantize.Options{}, []string{"q4_k", "gguf", "int4"}},
		{network(t, tensor.F32, 21), "q4_k", quantize.Options{Format: "gguf"}, []string{"nodes", "onnx"}},
		{network(t, tensor.F32, 21), "q4", quantize.Options{Block: 24}, []string{"24", "power of two"}},
	} {
		c.o.Type = typeOf(t, c.to)
		_, _, err := quantize.Model(context.Background(), c.m, c.o)
		for _, word := range c.want {
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v, want a message with %q", c.to, err, word)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := quantize.Model(ctx, network(t, tensor.F32, 21), quantize.Options{Type: typeOf(t, "q4")}); err == nil {
		t.Error("no error in a context that has ended")
	}
}

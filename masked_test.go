package nacre_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestMaskedRows computes attention with a query whose keys are all hidden, with and without the
// optimiser: by false and by -inf, which give zeros, or NaN after a softmax of its own; and by the
// least float, which gives the mean of the values in float32, and in float16 what a query without a
// mask gives. OPERATORS.md says so.
func TestMaskedRows(t *testing.T) {
	testenv.Need(t, bindings.Available())
	const queries, keys, size, hidden = 9, 21, 16, 4
	const mean, unmasked = 1, 2 // the mean of the values, and the result without a mask
	node := func(op, in, out string, attrs ...*graph.Attr) *graph.Node {
		n := standardNode(op, in, out, attrs...)
		n.Version = 23
		return n
	}
	attention := []*graph.Node{node("Attention", "q k v m", "y", graph.FloatAttr("scale", 0.25))}
	composed := []*graph.Node{
		node("Transpose", "k", "kt", graph.IntsAttr("perm", 0, 1, 3, 2)), node("MatMul", "q kt", "s"), node("Add", "s m", "b"),
		node("Softmax", "b", "p", graph.IntAttr("axis", -1)), node("MatMul", "p v", "y"),
	}
	to := func(in, out string, code int64) *graph.Node { return node("Cast", in, out, graph.IntAttr("to", code)) }
	const single, half = 1, 10
	inHalf := []*graph.Node{
		to("q", "hq", half), to("k", "hk", half), to("v", "hv", half), to("m", "hm", half),
		node("Attention", "hq hk hv hm", "hy", graph.FloatAttr("scale", 0.25)), to("hy", "y", single),
	}
	for _, c := range []struct {
		name  string
		nodes []*graph.Node
		mask  any     // of a hidden key; nil for false
		want  float64 // of the hidden query, or one of the two below
	}{
		{"Attention, false", attention, nil, 0},
		{"Attention, -inf", attention, float32(math.Inf(-1)), 0},
		{"Attention, least", attention, float32(-math.MaxFloat32), mean},
		{"Attention of float16, -inf", inHalf, float32(math.Inf(-1)), 0},
		{"Attention of float16, least", inHalf, float32(-65504), unmasked},
		{"softmax, -inf", composed, float32(math.Inf(-1)), math.NaN()},
		{"softmax, least", composed, float32(-math.MaxFloat32), mean},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind := tensor.F32
			mask, err := nacre.Zeros(nacre.Float32, queries, keys)
			if c.mask == nil {
				kind = tensor.Bool
				mask, err = nacre.Zeros(nacre.Bool, queries, keys)
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.mask == nil {
				for i := range mask.Bytes() {
					mask.Bytes()[i] = 1
				}
				clear(mask.Bytes()[hidden*keys:][:keys])
			} else {
				list, err := nacre.Data[float32](mask)
				if err != nil {
					t.Fatal(err)
				}
				for i := range keys {
					list[hidden*keys+i] = c.mask.(float32)
				}
			}
			value := func(name string, d tensor.DType, shape ...int) *graph.Value {
				return &graph.Value{Name: name, Type: graph.TensorOf(d, graph.DimsOf(shape))}
			}
			var file bytes.Buffer
			if err := onnx.Write(&file, &graph.Model{IR: 10, Opsets: []graph.Opset{{Version: 23}}, Graph: &graph.Graph{
				Inputs: []*graph.Value{
					value("q", tensor.F32, 1, 1, queries, size), value("k", tensor.F32, 1, 1, keys, size), value("v", tensor.F32, 1, 1, keys, size),
					value("m", kind, queries, keys),
				},
				Outputs: []*graph.Value{{Name: "y"}}, Nodes: c.nodes,
			}}); err != nil {
				t.Fatal(err)
			}
			m, err := nacre.Decode("masked.onnx", file.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			r := rand.New(rand.NewPCG(1, 2))
			inputs := map[string]*nacre.Tensor{"m": mask}
			for name, rows := range map[string]int{"q": queries, "k": keys, "v": keys} {
				x, err := nacre.Zeros(nacre.Float32, 1, 1, rows, size)
				if err != nil {
					t.Fatal(err)
				}
				list, _ := nacre.Data[float32](x)
				for i := range list {
					list[i] = float32(r.NormFloat64())
				}
				inputs[name] = x
			}
			values, _ := nacre.Data[float32](inputs["v"])
			q, _ := nacre.Data[float32](inputs["q"])
			k, _ := nacre.Data[float32](inputs["k"])
			var first []float32
			for _, plain := range []bool{false, true} {
				out, err := ready(t, m, nacre.Options{NoOptimize: plain}).Run(context.Background(), inputs)
				if err != nil {
					t.Fatal(err)
				}
				got, err := nacre.Float32s(out["y"])
				if err != nil {
					t.Fatal(err)
				}
				for j, x := range got[hidden*size:][:size] {
					want := c.want
					if want == mean || want == unmasked {
						want = weighted(want == unmasked, q[hidden*size:][:size], k, values, j)
					}
					if !(math.Abs(float64(x)-want) < 2e-3) && !(math.IsNaN(want) && x != x) {
						t.Errorf("NoOptimize %t: column %d of the hidden query is %v, want %v", plain, j, x, want)
					}
				}
				if first == nil {
					first = got
				}
				for i, x := range got {
					if math.Abs(float64(x-first[i])) > 2e-3 || (x != x) != (first[i] != first[i]) {
						t.Errorf("element %d is %v with the optimiser and %v without", i, first[i], x)
					}
				}
			}
		})
	}
}

// weighted returns column j of the weighted mean of rows of values. The weights are equal, or the
// softmax of a query's products with the keys.
func weighted(softmax bool, query, keys, values []float32, j int) float64 {
	size := len(query)
	sum, weights := 0.0, 0.0
	for i := range len(keys) / size {
		score := 0.0
		for c, x := range query {
			score += float64(x) * float64(keys[i*size+c]) / 4
		}
		w := 1.0
		if softmax {
			w = math.Exp(score)
		}
		sum, weights = sum+w*float64(values[i*size+j]), weights+w
	}
	return sum / weights
}

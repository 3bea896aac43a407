package quantize

import (
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestCompensateBlocks compares the errors of products with rows in blocks, with compensation and
// without, for inputs whose columns depend on each other.
func TestCompensateBlocks(t *testing.T) {
	const n, k, hidden = 16, 512, 64
	r := rand.New(rand.NewPCG(41, 42))
	mixing, h := make([]float64, hidden*k), make([]float64, k*k)
	for i := range mixing {
		mixing[i] = r.NormFloat64()
	}
	for range k {
		x, z := make([]float64, k), make([]float64, hidden)
		for i := range z {
			z[i] = r.NormFloat64()
		}
		for i := range x {
			x[i] = 3 * r.NormFloat64()
			for c, v := range z {
				x[i] += v * mixing[c*k+i]
			}
		}
		for i, v := range x {
			for c, w := range x {
				h[i*k+c] += v * w / k
			}
		}
	}
	weight := tensor.New(tensor.F32, n, k)
	for i := range tensor.View[float32](weight) {
		tensor.View[float32](weight)[i] = float32(r.NormFloat64())
	}
	list := []*graph.Initializer{{Name: "blk.0.ffn_up.weight", Tensor: weight}}
	m := &graph.Model{Format: "gguf", Container: 3, Graph: &graph.Graph{Initializers: list}}
	columns := make([]float32, k)
	for i := range columns {
		columns[i] = float32(h[i*k+i])
	}
	for _, name := range []string{"q4_0", "q8_0", "q4_k", "q6_k", "iq3_s"} {
		to, err := TypeOf(name)
		if err != nil {
			t.Fatal(err)
		}
		var errs [2]float64
		for i := range errs {
			o := Options{Type: to, Pure: true, Threads: 2, Importance: &Importance{
				Columns:  map[string][]float32{"blk.0.ffn_up.weight": columns},
				products: map[string][]float64{"blk.0.ffn_up.weight": h},
			}, Compensate: i == 1}
			made, report, err := Model(t.Context(), m, o)
			if err != nil {
				t.Fatal(err)
			}
			var s sums
			y := make([]float32, n*k)
			to.blocks.Unpack(y, made.Graph.Initializers[0].Tensor.Bytes())
			s.addProducts(tensor.View[float32](weight), y, h, k)
			if errs[i] = s.error(); i == 1 && errs[i] != report.Layers[0].Error {
				t.Errorf("%s: the report says %g, and the error is %g", name, report.Layers[0].Error, errs[i])
			}
		}
		t.Logf("%s: error %.4f, with compensation %.4f", name, errs[0], errs[1])
		if errs[1] > 0.95*errs[0] {
			t.Errorf("%s: error %.4f, with compensation %.4f", name, errs[0], errs[1])
		}
	}
	other := &Importance{products: map[string][]float64{"blk.0.ffn_up.weight": {1}}}
	o := Options{Type: Types[0], Compensate: true, Importance: other}
	if _, _, err := Model(t.Context(), m, o); err == nil {
		t.Error("products of another model are taken")
	}
}

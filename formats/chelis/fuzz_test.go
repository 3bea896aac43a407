package chelis

import (
	"math"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// FuzzForms emits networks with random names and one random weight. Every module passes the
// formatter and the linter, or Emit returns an error of a known kind.
func FuzzForms(f *testing.F) {
	for _, names := range [][4]string{{"x", "w", "b", "n"}, {"weights", "stored", "path", "archive"}, {"ForwardWeights", "open_hnw", "read_f32", "load"}, {"fc.a", "fc.b", "fc.c", "IO"}, {"\x00", "\"", "\\", "\n"}} {
		f.Add(names[0], names[1], names[2], names[3], float32(math.Copysign(0, -1)))
	}
	f.Add("a", "b", "c", "d", float32(1e-45))
	f.Fuzz(func(t *testing.T, x, w, v, n string, value float32) {
		weight := func(name string) *graph.Initializer {
			return &graph.Initializer{Name: name, Tensor: filled(tensor.F32, []float64{float64(value)}, 3)}
		}
		b := graph.NewBuilder("fuzz")
		rows := graph.Dims{graph.Symbol(n), graph.Known(3)}
		y := b.Op("Add", []string{b.Input(x, floats(rows...)), b.Weight(weight(w))})
		b.Output(b.Op("Mul", []string{y, b.Weight(weight(v))}), "y", floats(rows...))
		m := model(b)
		if graph.Validate(m) != nil {
			return
		}
		for _, o := range []Options{{}, {Placeholder: true}, {Archive: true}} {
			if text, err := emitted(m, o); err != nil && !refusal(err) {
				t.Errorf("%+v: %v\n%s", o, err, text)
			}
		}
	})
}

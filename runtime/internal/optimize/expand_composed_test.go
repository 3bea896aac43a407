package optimize_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestComposed compares the results of the graphs in expand_composed.txt with and without passes.
func TestComposed(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "passes", "expand_composed.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range strings.Split(string(text), "== ")[1:] {
		name, rest, _ := strings.Cut(c, "\n")
		source, _, _ := strings.Cut(rest, "->\n")
		t.Run(name, func(t *testing.T) {
			b := composedNet(parseGraph(t, source))
			want, err := b.results(false)
			if err != nil {
				t.Fatal(err)
			}
			got, err := b.results(true)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if err := cases.Near(want[i], got[i], 2e-6, true); err != nil {
					t.Errorf("output %d: %v, got %v", i, err, got[i])
				}
			}
		})
	}
}

// composedNet gives the inputs of a graph random values, and extent 5 for unknown extents.
func composedNet(g *graph.Graph) *net {
	b := newNet(tensor.F32, false)
	b.g = g
	for _, v := range g.Inputs {
		shape := make(tensor.Shape, len(v.Type.Dims))
		for i, d := range v.Type.Dims {
			n, known := d.Value()
			if !known {
				n = 5
			}
			shape[i] = n
		}
		x, list := tensor.New(v.Type.DType, shape...), make([]float64, shape.Len())
		for i := range list {
			switch x.DType() {
			case tensor.I16:
				list[i] = float64(b.rand.IntN(1<<16) - 1<<15)
			case tensor.I32, tensor.I64: // classes and characters
				list[i] = float64(b.rand.IntN(3))
			default:
				list[i] = b.rand.NormFloat64()
			}
		}
		kit.SetNumbers(x, list)
		b.feeds[v.Name] = x
	}
	return b
}

// TestComposedCharacters checks that characters outside the table of a WordConvEmbedding are
// errors, with passes and without.
func TestComposedCharacters(t *testing.T) {
	for i, wrong := range []int32{-1, -9, 9, 1<<31 - 1, -1 << 31} {
		g := parseGraph(t, `
			in ids int32[2,5]
			const w float32[2,1,3,4] 1 2 3
			const b float32[2] 1 2
			const t float32[9,4] 1 2 3 4 5
			y = com.microsoft.WordConvEmbedding-1(ids, w, b, t)
			out y`)
		b := composedNet(g)
		tensor.View[int32](b.feeds["ids"])[2*i] = wrong
		for _, passes := range []bool{false, true} {
			if _, err := b.results(passes); err == nil {
				t.Errorf("character %d, passes %v: no error", wrong, passes)
			}
		}
	}
}

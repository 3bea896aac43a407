package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestConvShort compares convolutions of few places to the same with weights that are not constant.
// The latter are products of columns.
func TestConvShort(t *testing.T) {
	t.Parallel()
	testPool(t)
	r := rand.New(rand.NewPCG(31, 32))
	registry, short := standard.Registry(), 0
	for range 300 {
		axes := 1 + r.IntN(3)
		x, w := []int{1 + r.IntN(3), 1 + r.IntN(70)}, []int{16 + r.IntN(60), 0}
		w[1] = x[1]
		ints := map[string][]int64{}
		for range axes {
			k := 1 + r.IntN(4)
			dilation, stride := 1+r.IntN(2), 1+r.IntN(3)
			begin, end := r.IntN(k+1), r.IntN(k+1)
			x, w = append(x, max(1, (k-1)*dilation+1+r.IntN(4)-begin-end)), append(w, k)
			ints["dilations"] = append(ints["dilations"], int64(dilation))
			ints["strides"] = append(ints["strides"], int64(stride))
			ints["begin"], ints["end"] = append(ints["begin"], int64(begin)), append(ints["end"], int64(end))
		}
		node := &graph.Node{Op: "Conv", Version: 11, Inputs: []string{"x", "w", "b"}, Outputs: []string{"y"}}
		node.Attrs = []*graph.Attr{
			{Name: "dilations", Kind: graph.AttrInts, Ints: ints["dilations"]}, {Name: "strides", Kind: graph.AttrInts, Ints: ints["strides"]},
			{Name: "pads", Kind: graph.AttrInts, Ints: append(ints["begin"], ints["end"]...)},
		}
		in := []*tensor.Tensor{normal(r, x...), normal(r, w...), normal(r, w[0])}
		name := fmt.Sprint(x, w, ints)
		if step := stepOf(t, registry, node, in); step.Binder == "short" {
			short++
		}
		got, err := Eval(registry, node, bindings.DetectISA(), nil, in)
		if err != nil {
			t.Fatal(name, err)
		}
		want, err := EvalVariable(registry, node, bindings.DetectISA(), nil, in, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		for k, v := range tensor.View[float32](want[0]) {
			if g := tensor.View[float32](got[0])[k]; math.Abs(float64(g-v)) > 1e-4*(1+math.Abs(float64(v))) {
				t.Fatalf("%s: element %d of %v is %v, not %v", name, k, got[0], g, v)
			}
		}
	}
	if short < 50 {
		t.Errorf("only %d convolutions were of few places", short)
	}
}

func normal(r *rand.Rand, shape ...int) *tensor.Tensor {
	t := tensor.New(tensor.F32, shape...)
	for i := range tensor.View[float32](t) {
		tensor.View[float32](t)[i] = float32(r.NormFloat64())
	}
	return t
}

// stepOf returns the step of a node with constant inputs.
func stepOf(t *testing.T, registry *op.Registry, node *graph.Node, in []*tensor.Tensor) *device.Step {
	t.Helper()
	step, err := bound(t, registry, node, kit.Values(in))
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// bound binds a node to inputs. Symbols in their extents are at most 100.
func bound(t *testing.T, registry *op.Registry, node *graph.Node, in []*op.Value) (*device.Step, error) {
	t.Helper()
	o, row, err := registry.New(node)
	if err != nil {
		t.Fatal(err)
	}
	out, err := kit.InferOutputs(o, node, in)
	if err != nil {
		t.Fatal(err)
	}
	packs := NewPacks()
	defer packs.Close()
	d, err := New(bindings.DetectISA(), nil, 1, packs)
	if err != nil {
		t.Fatal(err)
	}
	most := func(string) (int, bool) { return 100, true }
	return d.Bind(&device.Binding{Op: o, Row: row, Node: node, In: in, Out: out, Bound: most})
}

package vulkan_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// TestLongRecurrences compares recurrent nodes of many steps with the CPU. They take several
// dispatches.
func TestLongRecurrences(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 14))
	s := &single{device: open(t, vulkan.Options{Everything: true}), registry: standard.Registry(), offload: map[string]int{},
		constant: func(i int, _ *tensor.Tensor) bool { return i == 1 || i == 2 || i == 3 }}
	const steps, batch, input, n = 90, 2, 7, 150
	scaled := func(by float32, shape ...int) *tensor.Tensor {
		x := random(r, shape...)
		for i := range tensor.View[float32](x) {
			tensor.View[float32](x)[i] *= by
		}
		return x
	}
	for op, gates := range map[string]int{"RNN": 1, "GRU": 3, "LSTM": 4} {
		in := []*tensor.Tensor{
			random(r, steps, batch, input), scaled(0.3, 2, gates*n, input), scaled(0.05, 2, gates*n, n), scaled(0.1, 2, 2*gates*n),
			tensorOf(t, []int32{steps, steps - 13}, batch), random(r, 2, batch, n),
		}
		outs := []string{"y", "h"}
		if op == "LSTM" {
			in, outs = append(in, random(r, 2, batch, n)), append(outs, "c")
		}
		node := &graph.Node{Name: op, Op: op, Version: 14, Attrs: []*graph.Attr{ints("hidden_size", n), text("direction", "bidirectional")},
			Inputs: []string{"x", "w", "r", "b", "lengths", "h0", "c0"}[:len(in)], Outputs: outs}
		want, err := onCPU(s, node, in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.eval(node, in)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if at := differ(got[i], want[i], 1e-4); at >= 0 {
				t.Errorf("output %d of %s differs at %d", i, op, at)
			}
		}
	}
	if len(s.offload) != 3 {
		t.Errorf("only %v ran on the device", s.offload)
	}
}

// TestViewOfConstant adds a view of a constant, which stays with the session, to a value of the
// device.
func TestViewOfConstant(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 15))
	build := func() *graph.Model {
		return &graph.Model{Graph: &graph.Graph{
			Name:         "view",
			Inputs:       []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n"), graph.Known(200)})}},
			Initializers: []*graph.Initializer{{Name: "i", Tensor: tensorOf(t, []int64{0}, 1)}},
			Nodes:        []*graph.Node{node("Tanh", "x", "a"), node("Shape", "x", "s"), node("ConstantOfShape", "s", "c", &graph.Attr{Name: "value", Kind: graph.AttrTensor, Tensor: tensorOf(t, []float32{3}, 1)}), node("Unsqueeze", "ci", "v"), node("Unsqueeze", "ai", "e"), node("Concat", "ev", "y", ints("axis", 0))},
			Outputs:      []*graph.Value{{Name: "y"}},
		}}
	}
	in := map[string]*tensor.Tensor{"x": random(r, 100, 200)}
	var got [2]*tensor.Tensor
	for i, a := range []device.Accelerator{nil, accelerator(t, open(t, vulkan.Options{Everything: true}))} {
		out, err := session(t, build(), a).Run(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		got[i] = out["y"]
	}
	if at := differ(got[1], got[0], 1e-5); at >= 0 {
		t.Errorf("element %d differs", at)
	}
}

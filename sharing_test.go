package nacre

import (
	"bytes"
	"context"
	"testing"

	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestSessionsShareWeights opens sessions of one model that computes weights from constants. The
// first makes and packs them; the others take no more memory.
func TestSessionsShareWeights(t *testing.T) {
	const k, n = 96, 64
	w := tensor.New(tensor.F32, n, k)
	for i := range tensor.View[float32](w) {
		tensor.View[float32](w)[i] = float32(i%7) - 3
	}
	node := func(name string, in []string, out string) *graph.Node {
		return &graph.Node{Op: name, Version: 21, Inputs: in, Outputs: []string{out}}
	}
	var file bytes.Buffer
	err := onnx.Write(&file, &graph.Model{IR: 10, Opsets: []graph.Opset{{Version: 21}}, Graph: &graph.Graph{
		Inputs:       []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("m"), graph.Known(k)})}},
		Outputs:      []*graph.Value{{Name: "y"}},
		Initializers: []*graph.Initializer{{Name: "w", Tensor: w}},
		Nodes:        []*graph.Node{node("Transpose", []string{"w"}, "v"), node("MatMul", []string{"x", "v"}, "y")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode("weights.onnx", file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var programs, packed int
	for i := range 3 {
		s, err := m.NewSession(Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		x, err := Zeros(Float32, 2, k)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Run(context.Background(), map[string]*Tensor{"x": x}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			programs, packed = len(m.programs), m.packs.Bytes()
		}
	}
	if programs != 1 || packed < 4*k*n {
		t.Errorf("the first session made %d programs and packed %d bytes", programs, packed)
	}
	if len(m.programs) != programs || m.packs.Bytes() != packed {
		t.Errorf("further sessions made %d programs more and packed %d bytes more", len(m.programs)-programs,
			m.packs.Bytes()-packed)
	}
}

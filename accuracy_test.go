package nacre_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestAccuracy checks which kernels the option chooses for products with blocks.
func TestAccuracy(t *testing.T) {
	w := tensor.New(tensor.Q8_0, 32, 64)
	m, err := nacre.NewModel(&graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{
		Name:         "product",
		Inputs:       []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.DimsOf([]int{2, 64}))}},
		Outputs:      []*graph.Value{{Name: "y", Type: graph.TensorOf(tensor.F32, graph.DimsOf([]int{2, 32}))}},
		Initializers: []*graph.Initializer{{Name: "w", Tensor: w}},
		Nodes: []*graph.Node{
			{Op: "Cast", Version: 13, Inputs: []string{"w"}, Outputs: []string{"f"}, Attrs: []*graph.Attr{graph.IntAttr("to", 1)}},
			{Op: "Gemm", Version: 13, Inputs: []string{"x", "f"}, Outputs: []string{"y"}, Attrs: []*graph.Attr{graph.IntAttr("transB", 1)}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for accuracy, kernel := range map[nacre.Accuracy]string{
		nacre.AccuracyModel: "f32_nbits/", nacre.AccuracyExact: "f32_nbits/", nacre.AccuracyFast: "i8_nbits/",
	} {
		s := ready(t, m, nacre.Options{Accuracy: accuracy, Threads: 1})
		x, err := nacre.NewTensor(make([]float32, 128), 2, 64)
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Plan(context.Background(), map[string]*nacre.Tensor{"x": x})
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(p); !strings.Contains(text, " "+kernel) {
			t.Errorf("accuracy %d does not take %s:\n%s", accuracy, kernel, text)
		}
	}
	if err := (nacre.Options{Accuracy: nacre.AccuracyFast + 1}).Validate(); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("an accuracy beyond the constants: %v", err)
	}
}

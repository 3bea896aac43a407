package nacre_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// blockProduct returns a model that multiplies rows of two by n rows of k elements in blocks.
func blockProduct(t *testing.T, n, k int) *nacre.Model {
	t.Helper()
	m, err := nacre.NewModel(&graph.Model{IR: 8, Opsets: []graph.Opset{{Version: 17}}, Graph: &graph.Graph{
		Name:         "product",
		Inputs:       []*graph.Value{{Name: "x", Type: graph.TensorOf(tensor.F32, graph.DimsOf([]int{2, k}))}},
		Outputs:      []*graph.Value{{Name: "y", Type: graph.TensorOf(tensor.F32, graph.DimsOf([]int{2, n}))}},
		Initializers: []*graph.Initializer{{Name: "w", Tensor: tensor.New(tensor.Q8_0, n, k)}},
		Nodes: []*graph.Node{
			{Op: "Cast", Version: 13, Inputs: []string{"w"}, Outputs: []string{"f"}, Attrs: []*graph.Attr{graph.IntAttr("to", 1)}},
			{Op: "Gemm", Version: 13, Inputs: []string{"x", "f"}, Outputs: []string{"y"}, Attrs: []*graph.Attr{graph.IntAttr("transB", 1)}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// TestEmptyBlocks multiplies rows without elements by blocks, exactly and rounded.
func TestEmptyBlocks(t *testing.T) {
	m := blockProduct(t, 3, 0)
	for _, accuracy := range []nacre.Accuracy{nacre.AccuracyExact, nacre.AccuracyFast} {
		x, err := nacre.NewTensor([]float32{}, 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		out, err := ready(t, m, nacre.Options{Accuracy: accuracy, Threads: 1}).Run(t.Context(), map[string]*nacre.Tensor{"x": x})
		if err != nil {
			t.Fatal(err)
		}
		y, err := nacre.Data[float32](out["y"])
		if err != nil || !slices.Equal(y, make([]float32, 6)) {
			t.Errorf("accuracy %d: %v, %v", accuracy, y, err)
		}
	}
}

// TestAccuracy checks which kernels the option chooses for products with blocks.
func TestAccuracy(t *testing.T) {
	m := blockProduct(t, 32, 64)
	for accuracy, kernel := range map[nacre.Accuracy]string{
		nacre.AccuracyModel: "f32_block_panels/", nacre.AccuracyExact: "f32_block_panels/", nacre.AccuracyFast: "i8_block_panels/",
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

// TestAccuracyExperts checks which kernels the option chooses for experts with blocks, and what a
// plan tells of their constants.
func TestAccuracyExperts(t *testing.T) {
	g := graph.NewBuilder("experts")
	rows := func(n int) graph.Type { return graph.TensorOf(tensor.F32, graph.DimsOf([]int{2, n})) }
	weights := func(name string, shape ...int) string {
		w := g.Weight(&graph.Initializer{Name: name, Tensor: tensor.New(tensor.Q8_0, shape...)})
		return g.Op("Cast", []string{w}, graph.IntAttr("to", int64(tensor.F32.Code())))
	}
	x, router := g.Input("x", rows(32)), g.Input("router", rows(3))
	y := g.Node("com.microsoft", "MoE", []string{x, router, weights("up", 3, 64, 32), "", weights("down", 3, 32, 64)}, 1)
	g.Output(y[0], "y", rows(32))
	m, err := nacre.NewModel(g.Model(&graph.Model{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	for accuracy, kernel := range map[nacre.Accuracy]string{
		nacre.AccuracyModel: "f32_block_panels/", nacre.AccuracyExact: "f32_block_panels/", nacre.AccuracyFast: "i8_block_panels/",
	} {
		s := ready(t, m, nacre.Options{Accuracy: accuracy, Threads: 1})
		p, err := s.PlanTypes(t.Context(), s.Inputs())
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(p)
		if !strings.Contains(text, "[host: experts: "+kernel) || strings.Count(text, ", packed in ") != 2 {
			t.Errorf("accuracy %d does not take %s, or packs other constants than two:\n%s", accuracy, kernel, text)
		}
	}
}

package web_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// weights returns a matrix of n x n numbers that keep the size of what they multiply.
func weights(t *testing.T, n int) *tensor.Tensor {
	t.Helper()
	list := make([]float32, n*n)
	for i := range list {
		list[i] = float32(math.Sin(float64(i)*1.7) / math.Sqrt(float64(n)/2))
	}
	w, err := tensor.From(list, n, n)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// network returns a network of that many nodes, over matrices of n columns, with a branch in each
// block of five nodes.
func network(t *testing.T, nodes, n int) *graph.Model {
	t.Helper()
	b := graph.NewBuilder("blocks")
	b.Opset("", 17)
	x := b.Input("x", graph.Type{Kind: graph.TensorType, DType: tensor.F32, Dims: graph.Dims{graph.Symbol("rows"), graph.Known(n)}})
	w := b.Weight(&graph.Initializer{Name: "weights", Tensor: weights(t, n)})
	for k := 0; k < nodes; k += 5 {
		a := b.Op("Relu", []string{b.Op("MatMul", []string{x, w})})
		c := b.Op("Sigmoid", []string{x})
		x = b.Op("Tanh", []string{b.Op("Add", []string{a, c})})
	}
	b.Output(x, "y", graph.Type{Kind: graph.TensorType, DType: tensor.F32, Dims: graph.Dims{graph.Symbol("rows"), graph.Known(n)}})
	return b.Model(&graph.Model{Format: "onnx", IR: 8, Producer: "test"})
}

// saved writes a model as ONNX, and returns its path and its bytes.
func saved(t *testing.T, name string, m *graph.Model) (path string, data []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := formats.Save(path, m, formats.Options{}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}

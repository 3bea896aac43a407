package nacre_test

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// snake is the operator org.example.Snake: y = x + sin(alpha·x)² / alpha.
type snake struct{ alpha float64 }

func newSnake(n *op.Node) (op.Op, error) { return &snake{float64(n.Float("alpha", 1))}, nil }

// Infer says that the output has the type and the extents of the input.
func (o *snake) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes the output.
func (o *snake) Run(c *op.Run) error {
	y := tensor.View[float32](c.Out[0])
	for i, x := range tensor.View[float32](c.In[0]) {
		s := math.Sin(o.alpha * float64(x))
		y[i] = x + float32(s*s/o.alpha)
	}
	return nil
}

var snakeRow = op.Row{
	Domain: "org.example", Name: "Snake", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1},
	Types: op.Types{tensor.F32}, InPlace: []int{0}, New: newSnake,
}

// A program brings an operator that a model needs and no standard defines.
func Example_customOperator() {
	model, err := nacre.Decode("snake.onnx", snakeModel())
	check(err)
	defer model.Close()
	operators := standard.Registry()
	check(operators.Register(snakeRow))
	session, err := model.NewSession(nacre.Options{Operators: operators})
	check(err)
	defer session.Close()
	x, err := nacre.NewTensor([]float32{0, 1, 2}, 3)
	check(err)
	outputs, err := session.Run(context.Background(), map[string]*nacre.Tensor{"x": x})
	check(err)
	y, err := nacre.Data[float32](outputs["y"])
	check(err)
	fmt.Printf("%.3f\n", y)
	// Output: [0.000 1.413 2.286]
}

// snakeModel returns a file of y = Snake(x) with alpha 2.
func snakeModel() []byte {
	vector := graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("n")})
	return encoded(&graph.Graph{
		Inputs:  []*graph.Value{{Name: "x", Type: vector}},
		Outputs: []*graph.Value{{Name: "y", Type: vector}},
		Nodes:   []*graph.Node{snakeNode("x", "y")},
	})
}

func snakeNode(x, y string) *graph.Node {
	return &graph.Node{
		Domain: "org.example", Op: "Snake", Version: 1, Inputs: []string{x}, Outputs: []string{y},
		Attrs: []*graph.Attr{{Name: "alpha", Kind: graph.AttrFloat, Float: 2}},
	}
}

// encoded returns a file of the graph and of functions that it calls.
func encoded(g *graph.Graph, functions ...*graph.Function) []byte {
	var file bytes.Buffer
	check(onnx.Write(&file, &graph.Model{
		IR: 10, Opsets: []graph.Opset{{Version: 21}, {Domain: "org.example", Version: 1}}, Graph: g, Functions: functions,
	}))
	return file.Bytes()
}

// Command operator runs a model with an operator that no standard defines, org.example.Snake, which
// the program brings along.
//
//	operator model.onnx
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"os"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// snake computes y = x + sin(alpha·x)²/alpha.
type snake struct{ alpha float64 }

// newSnake reads the attributes of a node.
func newSnake(n *op.Node) (op.Op, error) {
	s := &snake{float64(n.Float("alpha", 1))}
	if s.alpha == 0 {
		return nil, fmt.Errorf("alpha is 0, by which x cannot be divided")
	}
	return s, nil
}

// Infer says that the output has the type and the extents of the input.
func (s *snake) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes the output.
func (s *snake) Run(c *op.Run) error {
	y := tensor.View[float32](c.Out[0])
	for i, x := range tensor.View[float32](c.In[0]) {
		sin := math.Sin(s.alpha * float64(x))
		y[i] = x + float32(sin*sin/s.alpha)
	}
	return nil
}

// row tells the runtime what it must know of the operator before it meets a node. InPlace says that
// the output may take the memory of input 0.
var row = op.Row{
	Domain: "org.example", Name: "Snake", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1},
	Types: op.Types{tensor.F32}, InPlace: []int{0}, New: newSnake,
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: operator model.onnx")
	}
	if err := run(os.Stdout, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

// run runs the model on zeros, its open extents 1, and prints the results.
func run(w io.Writer, file string) error {
	model, err := nacre.Open(file)
	if err != nil {
		return err
	}
	defer model.Close()
	operators := standard.Registry()
	if err := operators.Register(row); err != nil {
		return err
	}
	session, err := model.NewSession(nacre.Options{Operators: operators})
	if err != nil {
		return err
	}
	defer session.Close()
	sizes := map[string]int{}
	for _, in := range session.Inputs() {
		for _, d := range in.Shape {
			if d.Symbol != "" {
				sizes[d.Symbol] = 1
			}
		}
	}
	inputs, err := session.ZeroInputs(sizes)
	if err != nil {
		return err
	}
	outputs, err := session.Run(context.Background(), inputs)
	if err != nil {
		return err
	}
	for _, out := range session.Outputs() {
		t := outputs[out.Name]
		for i := range t.Len() {
			fmt.Fprintln(w, out.Name, t.Text(i))
		}
	}
	return nil
}

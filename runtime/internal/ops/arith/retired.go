package arith

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// retired is an operator that ONNX withdrew: an elementwise function with two parameters.
type retired struct {
	p, q float64
	f    func(v, p, q float64) float64
}

func retiredRow(name string, f func(v, p, q float64) float64, first, second kit.Coefficient) op.Row {
	return op.Row{Name: name, Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0},
		Elementwise: true, Heap: 8, New: func(n *op.Node) (op.Op, error) {
			ignoreConsumed(n)
			o := &retired{p: float64(n.Float(first.Name, first.Default)), f: f}
			if second.Name != "" {
				o.q = float64(n.Float(second.Name, second.Default))
			}
			return o, nil
		}}
}

// Infer keeps type and shape.
func (o *retired) Infer(c *op.Infer) error {
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes in float64 and rounds once.
func (o *retired) Run(c *op.Run) error {
	return kit.Fill(c, c.Out[0], func(list []float64, at int) {
		kit.GetDoubles(list, c.In[0], at)
		for i, v := range list {
			list[i] = o.f(v, o.p, o.q)
		}
	})
}

func affine(v, alpha, beta float64) float64     { return alpha*v + beta }
func scaledTanh(v, alpha, beta float64) float64 { return alpha * math.Tanh(beta*v) }

func parametricSoftplus(v, alpha, beta float64) float64 {
	x := beta * v
	return alpha * (max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))))
}

// imageScaler is ImageScaler, which ONNX withdrew. It multiplies images,
// [batch,channels,height,width], by a number and adds a number for each channel.
type imageScaler struct {
	scale float64
	bias  []float32
}

func newImageScaler(n *op.Node) (op.Op, error) {
	ignoreConsumed(n)
	o := &imageScaler{float64(n.Float("scale", 1)), n.Floats("bias")}
	if o.bias == nil {
		return nil, graph.Errorf(graph.ErrFormat, "attribute bias is missing")
	}
	return o, nil
}

// Infer keeps type and shape.
func (o *imageScaler) Infer(c *op.Infer) error {
	if d := c.In[0].Dims; d != nil && (len(d) != 4 || d[1].IsKnown() && !d[1].Is(len(o.bias))) {
		return graph.Errorf(graph.ErrShape, "input %v is not [batch,channels,height,width] with the %d channels of bias",
			c.In[0].Type, len(o.bias))
	}
	c.Set(0, c.In[0].DType, c.In[0].Dims)
	return nil
}

// Run computes in float64 and rounds once.
func (o *imageScaler) Run(c *op.Run) error {
	shape := c.In[0].Shape()
	if len(shape) != 4 || shape[1] != len(o.bias) {
		return graph.Errorf(graph.ErrShape, "input %v does not have the %d channels of bias", c.In[0], len(o.bias))
	}
	plane := shape[2] * shape[3]
	return kit.Fill(c, c.Out[0], func(list []float64, at int) {
		kit.GetDoubles(list, c.In[0], at)
		for i, v := range list {
			list[i] = o.scale*v + float64(o.bias[(at+i)/plane%len(o.bias)])
		}
	})
}

var retiredRows = []op.Row{
	retiredRow("Affine", affine, kit.Coefficient{Name: "alpha", Default: 1}, kit.Coefficient{Name: "beta", Default: 0}),
	retiredRow("ParametricSoftplus", parametricSoftplus, kit.Coefficient{Name: "alpha", Default: 1},
		kit.Coefficient{Name: "beta", Default: 1}),
	retiredRow("Scale", affine, kit.Coefficient{Name: "scale", Default: 1}, kit.Coefficient{}),
	retiredRow("ScaledTanh", scaledTanh, kit.Coefficient{Name: "alpha", Default: 1},
		kit.Coefficient{Name: "beta", Default: 1}),
	{Name: "ImageScaler", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, InPlace: []int{0}, Heap: 8, New: newImageScaler},
}

package arith

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// NumberTest finds NaNs or infinities.
type NumberTest struct {
	Unary
	test func(float32) bool // for types without a kernel
}

func newIsNaN(*op.Node) (op.Op, error) {
	return &NumberTest{
		Unary: Unary{Func: "isnan", Result: tensor.Bool},
		test:  func(f float32) bool { return f != f },
	}, nil
}

func newIsInf(n *op.Node) (op.Op, error) {
	negative, positive := n.Bool("detect_negative", true), n.Bool("detect_positive", true)
	o := &NumberTest{
		Unary: Unary{Func: "isinf", Result: tensor.Bool},
		test: func(f float32) bool {
			return positive && math.IsInf(float64(f), 1) || negative && math.IsInf(float64(f), -1)
		},
	}
	if negative {
		o.P = 1
	}
	if positive {
		o.Q = 1
	}
	return o, nil
}

// Run looks up the codes of 8-bit floats in a table.
func (o *NumberTest) Run(c *op.Run) error {
	codec := packed.Float8Of(c.In[0].DType().String())
	var is [256]bool
	for code := range is {
		is[code] = o.test(codec.Float32(byte(code)))
	}
	y := tensor.View[bool](c.Out[0])
	for i, code := range c.In[0].Bytes() {
		y[i] = is[code]
	}
	return nil
}

var (
	float8s   = op.Types{tensor.F8E4M3FN, tensor.F8E4M3FNUZ, tensor.F8E5M2, tensor.F8E5M2FNUZ}
	testTypes = slices.Concat(op.Floats, float8s)
)

var testRows = []op.Row{
	{Name: "IsNaN", Since: []int{9, 13, 20}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: testTypes, Elementwise: true, Flat: true, New: newIsNaN},
	{Name: "IsInf", Since: []int{10, 20}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: testTypes, Elementwise: true, Flat: true, New: newIsInf},
}

package op

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// numberTest finds NaNs or infinities.
type numberTest struct {
	unary
	test func(float32) bool // for types that no kernel knows
}

func newIsNaN(*Node) (Op, error) {
	return &numberTest{
		unary: unary{kernel: "isnan", result: tensor.Bool},
		test:  func(f float32) bool { return f != f },
	}, nil
}

func newIsInf(n *Node) (Op, error) {
	negative, positive := n.Bool("detect_negative", true), n.Bool("detect_positive", true)
	o := &numberTest{
		unary: unary{kernel: "isinf", result: tensor.Bool},
		test: func(f float32) bool {
			return positive && math.IsInf(float64(f), 1) || negative && math.IsInf(float64(f), -1)
		},
	}
	if negative {
		o.p = 1
	}
	if positive {
		o.q = 1
	}
	return o, nil
}

func (o *numberTest) Prepare(c *Prepare) error {
	if packed.Float8Of(c.DType(0).String()) != nil {
		return nil
	}
	return o.unary.Prepare(c)
}

func (o *numberTest) Run(c *Run) error {
	codec := packed.Float8Of(c.In[0].DType().String())
	if codec == nil {
		return o.unary.Run(c)
	}
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

func (o *numberTest) Describe() string {
	if !o.fn.Valid() {
		return "table"
	}
	return o.unary.Describe()
}

var (
	float8s   = Types{tensor.F8E4M3FN, tensor.F8E4M3FNUZ, tensor.F8E5M2, tensor.F8E5M2FNUZ}
	testTypes = slices.Concat(floats, float8s)
)

var testRows = []Row{
	{Name: "IsNaN", Since: []int{9, 13, 20}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: testTypes, New: newIsNaN},
	{Name: "IsInf", Since: []int{10, 20}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: testTypes, New: newIsInf},
}

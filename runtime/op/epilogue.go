package op

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Epilogue is an elementwise function that stands behind another operator in one node.
type Epilogue struct {
	Func string // empty for none
	P, Q float64
}

// epilogues are the functions that may stand behind others, with the kernel of
// each and what its parameters are if the node does not say.
var epilogues = map[string]struct {
	kernel string
	p, q   float32
}{
	"":                {},
	"Relu":            {kernel: "relu"},
	"Tanh":            {kernel: "tanh"},
	"Sigmoid":         {kernel: "sigmoid"},
	"LeakyRelu":       {kernel: "leaky_relu", p: 0.01},
	"Elu":             {kernel: "elu", p: 1},
	"Celu":            {kernel: "celu", p: 1},
	"Selu":            {kernel: "selu", p: 1.67326319, q: 1.05070102},
	"HardSigmoid":     {kernel: "hard_sigmoid", p: 0.2, q: 0.5},
	"HardSwish":       {kernel: "hard_swish"},
	"Softplus":        {kernel: "softplus"},
	"Softsign":        {kernel: "softsign"},
	"ThresholdedRelu": {kernel: "thresholded_relu", p: 1},
	"Clip":            {kernel: "clip"},
	"Swish":           {kernel: "swish", p: 1},
	"Mish":            {kernel: "mish"},
	"Gelu":            {kernel: "gelu"},
	"FastGelu":        {kernel: "gelu_tanh"},
}

func newEpilogue(name string, given []float32) (Epilogue, error) {
	a, ok := epilogues[name]
	if !ok {
		return Epilogue{}, graph.Mark(graph.ErrUnsupported, "activation %q", name)
	}
	if len(given) > 0 {
		a.p = given[0]
	}
	if len(given) > 1 {
		a.q = given[1]
	}
	if name == "Clip" && len(given) != 2 {
		return Epilogue{}, graph.Mark(graph.ErrFormat, "activation Clip has %d parameters, not 2", len(given))
	}
	return Epilogue{Func: a.kernel, P: float64(a.p), Q: float64(a.q)}, nil
}

// readEpilogue reads what follows an operator of com.microsoft: a value Z is added,
// input 3, then comes the function that attribute activation names.
func readEpilogue(n *Node) (Epilogue, error) {
	return newEpilogue(n.Str("activation", ""), n.Floats("activation_params"))
}

// checkAddend reports a Z that cannot be added to the output.
func checkAddend(c *Infer, d tensor.DType) error {
	if !c.Has(3) {
		return nil
	}
	z, y := c.In[3], c.Out[0]
	if z.DType != d {
		return graph.Mark(graph.ErrShape, "Z is %v, whose element type is not %v", z.Type, d)
	}
	if dims, ok := z.Dims.Concrete(); ok {
		if out, ok := y.Dims.Concrete(); ok && !dims.Equal(out) {
			return graph.Mark(graph.ErrShape, "Z is %v and the output %v", z.Type, y.Type)
		}
	}
	return nil
}

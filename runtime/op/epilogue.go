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

// NewEpilogue is the activation of that name with the parameters given, if any.
func NewEpilogue(name string, given []float32) (Epilogue, error) {
	if name == "" {
		return Epilogue{}, nil
	}
	a, ok := FindActivation(name)
	if !ok || a.Kernel == "" {
		return Epilogue{}, graph.Errorf(graph.ErrUnsupported, "activation %q", name)
	}
	if name == "Clip" && len(given) != 2 {
		return Epilogue{}, graph.Errorf(graph.ErrFormat, "activation Clip has %d parameters, not 2", len(given))
	}
	p, q := a.Values(given...)
	return Epilogue{Func: a.Kernel, P: float64(p), Q: float64(q)}, nil
}

// ReadEpilogue reads what follows an operator of com.microsoft: a value Z is added,
// input 3, then comes the function that attribute activation names.
func ReadEpilogue(n *Node) (Epilogue, error) {
	return NewEpilogue(n.Str("activation", ""), n.Floats("activation_params"))
}

// CheckAddend reports a Z that cannot be added to the output.
func CheckAddend(c *Infer, d tensor.DType) error {
	if !c.Has(3) {
		return nil
	}
	z, y := c.In[3], c.Out[0]
	if z.DType != d {
		return graph.Errorf(graph.ErrShape, "Z is %v, whose element type is not %v", z.Type, d)
	}
	if dims, ok := z.Dims.Concrete(); ok {
		if out, ok := y.Dims.Concrete(); ok && !dims.Equal(out) {
			return graph.Errorf(graph.ErrShape, "Z is %v and the output %v", z.Type, y.Type)
		}
	}
	return nil
}

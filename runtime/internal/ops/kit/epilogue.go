package kit

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Epilogue is an elementwise function that a node applies to the result of its operator.
type Epilogue struct {
	Func string // empty for none
	P, Q float64
}

// NewEpilogue returns the named activation with the given parameters, if any, and defaults.
func NewEpilogue(name string, given []float32) (Epilogue, error) {
	if name == "" {
		return Epilogue{}, nil
	}
	a, ok := FindActivation(name)
	if !ok || a.Kernel == "" {
		return Epilogue{}, graph.Errorf(graph.ErrUnsupported, "activation %q", name)
	}
	if name == clipName && len(given) != 2 {
		return Epilogue{}, graph.Errorf(graph.ErrFormat, "activation %s has %d parameters, not 2", name, len(given))
	}
	p, q := a.Values(given...)
	return Epilogue{Func: a.Kernel, P: float64(p), Q: float64(q)}, nil
}

// ReadEpilogue reads the epilogue of an operator of com.microsoft. Such an operator adds input 3,
// Z, and then applies the function in attribute activation.
func ReadEpilogue(n *op.Node) (Epilogue, error) {
	return NewEpilogue(n.Str("activation", ""), n.Floats("activation_params"))
}

// CheckAddend returns an error if input 3, Z, cannot be added to the output.
func CheckAddend(c *op.Infer, d tensor.DType) error {
	if !c.Has(3) {
		return nil
	}
	z, y := c.In[3], c.Out[0]
	if z.DType != d {
		return graph.Errorf(graph.ErrShape, "Z is %v; its element type must be %v", z.Type, d)
	}
	if dims, ok := z.Dims.Concrete(); ok {
		if out, ok := y.Dims.Concrete(); ok && !dims.Equal(out) {
			return graph.Errorf(graph.ErrShape, "Z is %v and the output %v", z.Type, y.Type)
		}
	}
	return nil
}

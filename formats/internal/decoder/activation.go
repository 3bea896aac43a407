package decoder

import "github.com/nacre-ml/nacre/runtime/graph"

// Activation is the function between the matrices of an MLP.
type Activation int

// The activations.
const (
	SiLU Activation = iota
	GELU
	GELUTanh
	GELU10    // GELU, clipped to -10..10
	QuickGELU // x·sigmoid(1.702x)
	ReLU
	ReLU2 // the square of ReLU
	ReLU6 // ReLU, up to 6
	LeakyReLU
	Mish
	Tanh
	Sigmoid
	Identity
)

// operators has the activations that are a single operator of the standard.
var operators = map[Activation]struct {
	name  string
	attrs []*graph.Attr
}{
	GELU: {"Gelu", nil}, GELUTanh: {"Gelu", []*graph.Attr{graph.StringAttr("approximate", "tanh")}}, ReLU: {"Relu", nil}, LeakyReLU: {"LeakyRelu", nil},
	Mish: {"Mish", nil}, Tanh: {"Tanh", nil}, Sigmoid: {"Sigmoid", nil},
}

// activated applies the activation.
func (m *maker) activated(x string) string {
	if op, ok := operators[m.c.Activation]; ok {
		return m.Op(op.name, []string{x}, op.attrs...)
	}
	switch m.c.Activation {
	case GELU10:
		return m.Op("Clip", []string{m.Op("Gelu", []string{x}), m.Float(-10), m.Float(10)})
	case QuickGELU:
		return m.Op("Mul", []string{x, m.Op("Sigmoid", []string{m.times(x, 1.702)})})
	case ReLU2:
		y := m.Op("Relu", []string{x})
		return m.Op("Mul", []string{y, y})
	case ReLU6:
		return m.Op("Clip", []string{x, m.Float(0), m.Float(6)})
	case Identity:
		return x
	}
	return m.Op("Mul", []string{x, m.Op("Sigmoid", []string{x})})
}

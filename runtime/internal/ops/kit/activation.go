package kit

import (
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/op"
)

// Activation is a function of one number that operators apply to elements: as a node of its own, as
// the epilogue of a product, or inside a recurrent network.
type Activation struct {
	Name string // the ONNX operator; FastGelu and, as they are here, Affine and ScaledTanh are none of the standard's
	// Since has the versions of the operator if its row says nothing else than this one; nil for
	// an operator with a row of its own.
	Since  []int
	Kernel string        // the kernel without its element type; empty if only recurrent networks have the function
	Params []Coefficient // attributes that are its parameters p and q, in this order
	// Of is the function as RNN, GRU and LSTM define it; nil if they do not accept it.
	Of         func(x, p, q float64) float64
	Derivative op.Derivative
}

// Coefficient is an attribute that is a parameter of a function, with its default.
type Coefficient struct {
	Name    string
	Default float32
}

// The parameters of Selu.
const (
	SeluAlpha float32 = 1.67326319217681884765625
	SeluGamma float32 = 1.05070102214813232421875
)

var (
	alphaOne = []Coefficient{{"alpha", 1}}

	since1613 = []int{1, 6, 13}
	since1622 = []int{1, 6, 22}
)

// activations is the table of activations. The recurrent ones come first, in the order of
// csrc/eltwise/activations.h and csrc/rnn/rnn.h.
var activations = []Activation{
	{Name: "Relu", Kernel: "relu", Of: func(x, _, _ float64) float64 { return max(x, 0) }},
	{Name: "Tanh", Since: since1613, Kernel: "tanh", Derivative: tanhDerivative,
		Of: func(x, _, _ float64) float64 { return math.Tanh(x) }},
	{Name: "Sigmoid", Since: since1613, Kernel: "sigmoid", Derivative: sigmoidDerivative,
		Of: func(x, _, _ float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	{Name: "LeakyRelu", Since: []int{1, 6, 16}, Kernel: "leaky_relu", Params: []Coefficient{{"alpha", 0.01}},
		Of: func(x, p, _ float64) float64 { return where(x < 0, p*x, x) }},
	{Name: "Elu", Since: since1622, Kernel: "elu", Params: alphaOne,
		Of: func(x, p, _ float64) float64 { return where(x < 0, p*math.Expm1(x), x) }},
	{Name: "Softsign", Since: []int{1, 22}, Kernel: "softsign",
		Of: func(x, _, _ float64) float64 { return x / (1 + math.Abs(x)) }},
	{Name: "Softplus", Since: []int{1, 22}, Kernel: "softplus", Derivative: softplusDerivative,
		Of: func(x, _, _ float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }},
	{Name: "Affine", Params: []Coefficient{{"alpha", 1}, {"beta", 0}},
		Of: func(x, p, q float64) float64 { return p*x + q }},
	{Name: "ThresholdedRelu", Since: []int{1, 10, 22}, Kernel: "thresholded_relu", Params: alphaOne,
		Of: func(x, p, _ float64) float64 { return where(x >= p, x, 0) }},
	{Name: "ScaledTanh", Params: []Coefficient{{"alpha", 1}, {"beta", 1}},
		Of: func(x, p, q float64) float64 { return p * math.Tanh(q*x) }},
	{Name: "HardSigmoid", Since: since1622, Kernel: "hard_sigmoid", Params: []Coefficient{{"alpha", 0.2}, {"beta", 0.5}},
		Of: func(x, p, q float64) float64 { return min(max(p*x+q, 0), 1) }},

	{Name: "Celu", Since: []int{12, 28}, Kernel: "celu", Params: alphaOne},
	{Name: "Selu", Kernel: "selu", Params: []Coefficient{{"alpha", SeluAlpha}, {"gamma", SeluGamma}}},
	{Name: "HardSwish", Since: []int{14, 22}, Kernel: "hard_swish"},
	{Name: "Swish", Since: []int{24}, Kernel: "swish", Params: alphaOne},
	{Name: "Mish", Since: []int{18, 22}, Kernel: "mish"},
	{Name: "Gelu", Kernel: "gelu"},
	{Name: "FastGelu", Kernel: "gelu_tanh"},
	{Name: clipName, Kernel: "clip", Params: []Coefficient{{"min", float32(math.Inf(-1))}, {"max", float32(math.Inf(1))}}},
}

// clipName is the activation with parameters that must be given.
const clipName = "Clip"

func where(yes bool, a, b float64) float64 {
	if yes {
		return a
	}
	return b
}

// The derivatives that follow from y or from another function.
var (
	tanhDerivative = OfFirst(func(d op.Derivation, dy, _, y string) string {
		return d.Add("Mul", []string{dy, d.Add("Sub", []string{d.Number(1, y), d.Add("Mul", []string{y, y})})})
	})
	sigmoidDerivative = OfFirst(func(d op.Derivation, dy, _, y string) string {
		return d.Add("Mul", []string{dy, d.Add("Mul", []string{y, d.Add("Sub", []string{d.Number(1, y), y})})})
	})
	softplusDerivative = OfFirst(func(d op.Derivation, dy, x, _ string) string {
		return d.Add("Mul", []string{dy, d.Add("Sigmoid", []string{x})})
	})
)

// Activations returns the table of activations. Callers must not change it.
func Activations() []Activation { return activations }

// FindActivation returns the activation called name.
func FindActivation(name string) (Activation, bool) {
	for _, a := range activations {
		if a.Name == name {
			return a, true
		}
	}
	return Activation{}, false
}

// FindRecurrentActivation returns the activation called name, ignoring case, if recurrent networks
// accept it.
func FindRecurrentActivation(name string) (Activation, bool) {
	for _, a := range activations {
		if a.Of != nil && strings.EqualFold(a.Name, name) {
			return a, true
		}
	}
	return Activation{}, false
}

// Number returns the place of a recurrent activation in the table. Kernels know it by the number.
func (a Activation) Number() int {
	return max(0, slices.IndexFunc(activations, func(b Activation) bool { return a.Name == b.Name }))
}

// Values returns the two parameters of the kernel: first the given ones, then defaults, then zeros.
func (a Activation) Values(given ...float32) (p, q float32) {
	list := slices.Grow(slices.Clone(given), 2)
	for i := len(list); i < 2; i++ {
		v := float32(0)
		if i < len(a.Params) {
			v = a.Params[i].Default
		}
		list = append(list, v)
	}
	return list[0], list[1]
}

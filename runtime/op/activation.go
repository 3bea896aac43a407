package op

import (
	"math"
	"slices"
	"strings"
)

// Activation is a function of one number that operators apply to elements: as a node of its own, as
// the epilogue of a product, or inside a recurrent network.
type Activation struct {
	Name   string        // the ONNX operator; Affine, ScaledTanh and FastGelu are not operators of the standard
	Kernel string        // the kernel without its element type; empty if only recurrent networks have the function
	Params []Coefficient // attributes that are its parameters, in the kernel's order
	// Recurrent reports whether RNN, GRU and LSTM accept the function.
	Recurrent bool
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

// activations is the table of activations.
var activations = []Activation{
	{Name: "Relu", Kernel: "relu", Recurrent: true},
	{Name: "Tanh", Kernel: "tanh", Recurrent: true},
	{Name: "Sigmoid", Kernel: "sigmoid", Recurrent: true},
	{Name: "Affine", Params: []Coefficient{{"alpha", 1}, {"beta", 0}}, Recurrent: true},
	{Name: "LeakyRelu", Kernel: "leaky_relu", Params: []Coefficient{{"alpha", 0.01}}, Recurrent: true},
	{Name: "ThresholdedRelu", Kernel: "thresholded_relu", Params: []Coefficient{{"alpha", 1}}, Recurrent: true},
	{Name: "ScaledTanh", Params: []Coefficient{{"alpha", 1}, {"beta", 1}}, Recurrent: true},
	{Name: "HardSigmoid", Kernel: "hard_sigmoid", Params: []Coefficient{{"alpha", 0.2}, {"beta", 0.5}}, Recurrent: true},
	{Name: "Elu", Kernel: "elu", Params: []Coefficient{{"alpha", 1}}, Recurrent: true},
	{Name: "Softsign", Kernel: "softsign", Recurrent: true},
	{Name: "Softplus", Kernel: "softplus", Recurrent: true},
	{Name: "Celu", Kernel: "celu", Params: []Coefficient{{"alpha", 1}}},
	{Name: "Selu", Kernel: "selu", Params: []Coefficient{{"alpha", SeluAlpha}, {"gamma", SeluGamma}}},
	{Name: "HardSwish", Kernel: "hard_swish"},
	{Name: "Swish", Kernel: "swish", Params: []Coefficient{{"alpha", 1}}},
	{Name: "Mish", Kernel: "mish"},
	{Name: "Gelu", Kernel: "gelu"},
	{Name: "FastGelu", Kernel: "gelu_tanh"},
	{Name: "Clip", Kernel: "clip", Params: []Coefficient{{"min", float32(math.Inf(-1))}, {"max", float32(math.Inf(1))}}},
}

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
		if a.Recurrent && strings.EqualFold(a.Name, name) {
			return a, true
		}
	}
	return Activation{}, false
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

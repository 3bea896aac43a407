package loom

import (
	"fmt"
	"strings"
)

// LayerType is the kind of a layer, such as Dense.
type LayerType uint8

// The layer types, by Loom's numbers.
const (
	Dense LayerType = iota
	MultiHeadAttention
	SwiGLU
	RMSNorm
	CNN1
	CNN2
	CNN3
	RNN
	LSTM
	LayerNorm
	ConvTransposed1D
	ConvTransposed2D
	ConvTransposed3D
	Embedding
	KMeans
	Softmax
	Parallel
	Sequential
	Residual
	Metacognition
	layerTypeCount
)

var layerTypes = [layerTypeCount]string{"Dense", "MultiHeadAttention", "SwiGLU", "RMSNorm", "CNN1", "CNN2", "CNN3", "RNN", "LSTM", "LayerNorm",
	"ConvTransposed1D", "ConvTransposed2D", "ConvTransposed3D", "Embedding", "KMeans", "Softmax", "Parallel", "Sequential", "Residual", "Metacognition"}

// LayerTypes returns every layer type, by number.
func LayerTypes() []LayerType {
	list := make([]LayerType, layerTypeCount)
	for i := range list {
		list[i] = LayerType(i)
	}
	return list
}

// String returns the name of t in files.
func (t LayerType) String() string {
	if t >= layerTypeCount {
		return fmt.Sprintf("layer(%d)", uint8(t))
	}
	return layerTypes[t]
}

// ParseLayerType returns the layer type with this name, in any letter case. An unknown name is
// Dense.
func ParseLayerType(name string) LayerType {
	for t, n := range layerTypes {
		if strings.EqualFold(name, n) {
			return LayerType(t)
		}
	}
	switch {
	case strings.EqualFold(name, "MHA"), strings.EqualFold(name, "ATTENTION"):
		return MultiHeadAttention
	case strings.EqualFold(name, "META"):
		return Metacognition
	}
	return Dense
}

// Activation is the function at the end of a layer.
type Activation int8

// The activations, by Loom's numbers.
const (
	Linear Activation = iota - 1
	ReLU
	SiLU
	GELU
	Tanh
	Sigmoid
	LeakyReLU
	ReLU2
	activationEnd
)

var activations = [activationEnd + 1]string{"Linear", "ReLU", "Silu", "GELU", "Tanh", "Sigmoid", "LeakyReLU", "ReLU2"}

// String returns the name of a in files.
func (a Activation) String() string {
	if a < Linear || a >= activationEnd {
		return fmt.Sprintf("activation(%d)", int8(a))
	}
	return activations[a+1]
}

// ParseActivation returns the activation with this name, in any letter case. An unknown name is
// Linear.
func ParseActivation(name string) Activation {
	for i, n := range activations {
		if strings.EqualFold(name, n) {
			return Activation(i) - 1
		}
	}
	switch {
	case strings.EqualFold(name, "LEAKY_RELU"):
		return LeakyReLU
	case name == "6":
		return ReLU2
	}
	return Linear
}

// SoftmaxType is a variant of the Softmax layer. Checkpoints store its name, specs of an
// architecture its number.
type SoftmaxType uint8

// The variants, by Loom's numbers.
const (
	SoftmaxStandard SoftmaxType = iota
	SoftmaxGrid
	SoftmaxHierarchical
	SoftmaxTemperature
	SoftmaxGumbel
	SoftmaxMasked
	SoftmaxSparse
	SoftmaxAdaptive
	SoftmaxMixture
	SoftmaxEntmax
	softmaxTypeCount
)

var softmaxTypes = [softmaxTypeCount]string{"Standard", "Grid", "Hierarchical", "Temperature", "Gumbel", "Masked", "Sparse", "Adaptive", "Mixture", "Entmax"}

// String returns the name of t in checkpoints.
func (t SoftmaxType) String() string {
	if t >= softmaxTypeCount {
		return fmt.Sprintf("softmax(%d)", uint8(t))
	}
	return softmaxTypes[t]
}

// ParseSoftmaxType returns the variant with exactly this name. An unknown name is Standard.
func ParseSoftmaxType(name string) SoftmaxType {
	for t, n := range softmaxTypes {
		if name == n {
			return SoftmaxType(t)
		}
	}
	return SoftmaxStandard
}

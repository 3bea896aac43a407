package nn

import "github.com/nacre-ml/nacre/runtime/tensor"

// ConvWork returns Work of a convolution with its kernels in the given input: each weight meets
// every place of the output.
func ConvWork(kernels int) func(in, out []tensor.Shape) float64 {
	return func(in, out []tensor.Shape) float64 {
		return 2 * float64(out[0].Len()) * float64(in[kernels][1:].Len())
	}
}

// transposedWork is Work of ConvTranspose: each weight meets every place of the input.
func transposedWork(in, _ []tensor.Shape) float64 {
	return 2 * float64(in[0].Len()) * float64(in[1][1:].Len())
}

// RecurrentWork is Work of a recurrent layer: each weight of inputs 1 and 2 meets every step of
// every sequence.
func RecurrentWork(in, _ []tensor.Shape) float64 {
	return 2 * float64(in[1].Len()+in[2].Len()) * float64(in[0][0]) * float64(in[0][1])
}

package arith

import "github.com/nacre-ml/nacre/runtime/tensor"

// ProductWork is Work of a product of the last two axes of A, which has its columns last, by
// another matrix.
func ProductWork(in, out []tensor.Shape) float64 {
	a := in[0]
	return 2 * float64(out[0].Len()) * float64(a[len(a)-1])
}

// GemmWork is Work of a product of two matrices, either of which may be transposed.
func GemmWork(in, out []tensor.Shape) float64 {
	return 2 * float64(in[0].Len()) * float64(out[0][1])
}

// swappedWork is Work of a product that may swap the axes of its operands. It takes the length of a
// sum from B.
func swappedWork(in, out []tensor.Shape) float64 {
	b, y := in[1], out[0]
	if len(b) < 2 || y.Len() == 0 {
		return ProductWork(in, out)
	}
	columns := float64(y[len(y)-1])
	return 2 * float64(y.Len()) * float64(b[len(b)-2]) * float64(b[len(b)-1]) / columns
}

//go:build netlib

package matmul

/*
#cgo CFLAGS: -DNACRE_NETLIB=1
*/
import "C"

import (
	"unsafe"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/netlib/blas/netlib"
)

// stored returns the transposition and the stored extents, for BLAS, of an operand with these rows
// and columns.
func stored(transposed C.int, rows, cols C.int) (blas.Transpose, int, int) {
	if transposed != 0 {
		return blas.Trans, int(cols), int(rows)
	}
	return blas.NoTrans, int(rows), int(cols)
}

// elements returns the elements of a stored matrix with row stride ld.
func elements[T float32 | float64](p unsafe.Pointer, rows, cols int, ld C.int) []T {
	return unsafe.Slice((*T)(p), (rows-1)*int(ld)+cols)
}

//export nacreNetlibF32
func nacreNetlibF32(
	aT, bT, m, n, k C.int, alpha C.double, a unsafe.Pointer, lda C.int, b unsafe.Pointer, ldb C.int, beta C.double,
	c unsafe.Pointer, ldc C.int,
) {
	ta, ar, ac := stored(aT, m, k)
	tb, br, bc := stored(bT, k, n)
	netlib.Implementation{}.Sgemm(ta, tb, int(m), int(n), int(k), float32(alpha), elements[float32](a, ar, ac, lda),
		int(lda),
		elements[float32](b, br, bc, ldb), int(ldb), float32(beta), elements[float32](c, int(m), int(n), ldc), int(ldc))
}

//export nacreNetlibF64
func nacreNetlibF64(
	aT, bT, m, n, k C.int, alpha C.double, a unsafe.Pointer, lda C.int, b unsafe.Pointer, ldb C.int, beta C.double,
	c unsafe.Pointer, ldc C.int,
) {
	ta, ar, ac := stored(aT, m, k)
	tb, br, bc := stored(bT, k, n)
	netlib.Implementation{}.Dgemm(ta, tb, int(m), int(n), int(k), float64(alpha), elements[float64](a, ar, ac, lda),
		int(lda),
		elements[float64](b, br, bc, ldb), int(ldb), float64(beta), elements[float64](c, int(m), int(n), ldc), int(ldc))
}

package bindings

import "unsafe"

// QuantType is how codes, or what becomes of sums of products, are stored:
// nacre_quant_type of csrc/quant/quant.h.
type QuantType int

// The types that kernels read and write.
const (
	QuantF32 QuantType = iota
	QuantU8
	QuantI8
	QuantU16
	QuantI16
	QuantI32
)

// ByteOperand is a matrix of bytes as it lies in memory. Element (i,j) is Row*i
// + Col*j bytes from the first. Packed operands are what PackBytesA or
// PackBytesB wrote; of them only the sign counts.
type ByteOperand struct {
	Packed, Signed bool
	Row, Col       int
}

// ByteGemm is products of matrices of bytes, a [M,K] and b [K,N],
//
//	s(i,j) = sum_p (a(i,p) - AZero[i]) (b(p,j) - BZero[j]) + bias(i,j)
//	c(i,j) = s                                                   of QuantI32
//	c(i,j) = s * RowScale[i] * ColScale[j] + Add[j]              of QuantF32
//	c(i,j) = saturate(round(s * RowScale[i] * ColScale[j]) + Zero)   else
//
// in 32 bits that wrap, where bias(i,j) is element i*BiasRow + j*BiasCol of the
// bias and BiasCol 0 or 1.
type ByteGemm struct {
	Kernel  Kernel // of op i8_gemm
	M, N, K int
	A, B    ByteOperand
	// Batch is extents of the batch axes, outermost first, then as many strides
	// of a, then of b, in bytes: 0 where an operand is shared.
	Batch []int
	// Product q takes vector q%Rows of those of M numbers and q%Cols of those of N.
	Rows, Cols       int
	BiasRow, BiasCol int
	Type             QuantType
	Zero             int32
}

// ByteVectors is what goes with the rows and columns of a ByteGemm. Scales are
// needed unless the result is QuantI32; Bias and Add are nil for none.
type ByteVectors struct {
	AZero, BZero       []int32
	RowScale, ColScale []float32
	Bias               []int32
	Add                []float32
}

// ByteConv is a convolution of bytes, of which the weights are the left operand
// of the products that Gemm describes, which so needs neither extents nor
// operands but whether A is packed and signed. Vectors of rows are for all
// filters, those of columns for all positions.
type ByteConv struct {
	ConvShape
	Gemm    ByteGemm
	Taps    Kernel // of op f32_conv_depthwise
	XSigned bool
	XZero   int32 // the value of taps beyond the edges
}

// ByteLSTM is a layer of LSTM whose weights are matrices of bytes, in each
// direction W [Input,4*Hidden] and R [Hidden,4*Hidden], those of the second WStep
// and RStep bytes behind the first. Scales and zero points are [Directions,4*Hidden].
// The other operands are those of RNNF32 without BatchFirst. X as far as the longest
// sequence goes is quantised as a whole, and before every step the states of the
// sequences that have it.
type ByteLSTM struct {
	RNN
	Gemm, Quantize, Cell       Kernel // of ops i8_gemm, f32_quantize, f32_rnn_cell
	WForm, RForm               ByteOperand
	W, R                       unsafe.Pointer
	WStep, RStep               int
	WZero, RZero               []int32
	WScale, RScale             []float32
	X, Bias, Peepholes, H0, C0 []float32
	Y, YH, YC                  []float32
}

// bytesAt is the address of the first byte.
func bytesAt(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

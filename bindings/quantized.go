package bindings

import "unsafe"

// ByteOperand is a matrix of bytes as it lies in memory. Element (i,j) is Row*i
// + Col*j bytes from the first. Packed operands are what PackBytesB
// wrote; of them only the sign counts.
type ByteOperand struct {
	Packed, Signed bool
	Row, Col       int
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

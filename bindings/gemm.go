package bindings

// FloatType is how floats are stored: nacre_float_type of csrc/core/half.h.
type FloatType int

// The float types that kernels read.
const (
	Float32 FloatType = iota
	Float16
	BFloat16
)

// Operand is a matrix of a Gemm as it lies in memory. Element (i,j) is Row*i +
// Col*j elements from the first. Packed operands are what PackA or PackB wrote
// of that type; their strides do not count.
type Operand struct {
	Packed   bool
	Type     FloatType
	Row, Col int
}

// Gemm is products of matrices of floats, summed up in float32,
//
//	c(i,j) = finish(Alpha * sum_p a(i,p) b(p,j) + row[i] + col[j])
//
// with a [M,K], b [K,N] and c [M,N] whose rows are LDC apart.
type Gemm struct {
	Kernel  Kernel // of op f32_gemm
	M, N, K int
	A, B    Operand
	C       FloatType
	LDC     int
	Alpha   float32
	Finish
	// Batch is extents of the batch axes, outermost first, then as many strides
	// of a, then of b: 0 where an operand is shared. Results lie M*LDC apart.
	Batch []int
}

// Finish is what follows sums in float32 before they are stored; the zero Finish
// is nothing.
type Finish struct {
	Add       []float32 // added to each element; laid out as the result, or the result as it was
	Clamp     bool      // whether elements below Low and above High become these; a NaN stays
	Low, High float32
	Map       Kernel // a function of elements of float32 that comes last, such as f32_tanh
	Params    *Params
}

// WideGemm is products c = a b of matrices of float64, or of integers, which
// wrap. Batch is as in Gemm.
type WideGemm struct {
	Kernel                 Kernel // of op f64_gemm, u32_gemm or u64_gemm
	M, N, K                int
	ARow, ACol, BRow, BCol int
	LDC                    int
	Batch                  []int
}

package bindings

// NBitsZeros is what codes of weights count from: nacre_nbits_zeros of
// csrc/nbits/nbits.h.
type NBitsZeros int

// The zero points of weights.
const (
	NBitsMiddle NBitsZeros = iota // 2^(bits-1)
	NBitsCodes                    // stored as codes are, each row beginning with a byte
	NBitsFloats                   // stored as scales are
)

// NBitsGemm is a product with weights W [N,K] that are stored as codes of Bits
// bits, 2, 4 or 8, each row RowBytes after the one before,
//
//	W(j,p) = (code(j,p) - zero(j,p/Block)) * scale(j,p/Block)
//
// or, with a table of 16 numbers, table[code(j,p)] * scale(j,p/Block). Block is a
// power of two, 16 at least. Without Turned a is [M,K] and
//
//	c(i,j) = sum_p a(i,p) W(j,p) + bias[j]
//
// else a is [M,N] and c(i,p) = sum_j a(i,j) W(j,p) + bias[p].
//
// With Rounded each Block of a row of a becomes whole numbers of 8 bits with a scale,
// its largest magnitude/127, and is multiplied so: one with an infinity or a NaN makes
// its row of c NaN. Products with Group, Flat, Turned, HighFirst or a table are not
// rounded.
type NBitsGemm struct {
	Kernel      Kernel // of op f32_nbits
	Gemm        Kernel // of op f32_gemm
	Rounded     Kernel // of op i8_nbits, or the zero Kernel
	M, N, K     int
	Bits, Block int
	HighFirst   bool // the first of two codes of 4 bits is in the higher ones of a byte
	RowBytes    int
	RowScales   int       // scales, and zeros, in a row
	Type        FloatType // of scales, and of zeros that are floats
	Zeros       NBitsZeros
	Group       []int32 // the number of the scale of every p, instead of p/Block
	Flat        bool    // codes and blocks run through from one row to the next; there are no zeros
	Turned      bool
}

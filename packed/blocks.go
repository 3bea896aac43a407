package packed

import (
	"encoding/binary"
	"unsafe"
)

// Blocks is the storage of elements in blocks that share scales. A block has a fixed number of
// elements and of bytes, and nothing is between blocks. The types are ggml's, as GGUF files hold
// them; numbers in a block are little-endian.
type Blocks struct {
	Name     string // in lower case, such as q4_0
	Number   int    // in GGUF files
	Elements int    // of a block
	Bytes    int    // of a block
	Scales   []int  // the bytes of a block at which its float16 scales begin; none of iq1_m, mxfp4 and nvfp4

	// Pack rounds the elements of whole blocks to the codes that ggml gives them without weights of
	// importance. It is nil if the type has no such function.
	Pack func(dst []byte, src []float32)

	// Quantize rounds the elements of whole blocks with scales that make the sum of squared errors
	// small. importance has a weight for the error of each element, finite and not negative; if it is
	// nil, all elements are alike. Elements are finite.
	Quantize func(dst []byte, src, importance []float32)

	unpack func(y []float32, b []byte) // of one block
	search *searched                   // nil if Quantize does not search by sums
}

// The types of blocks.
var (
	Q4_0    = &Blocks{Name: "q4_0", Number: 2, Elements: 32, Bytes: 18, Scales: []int{0}, unpack: unpackQ40, Pack: packQ40}
	Q4_1    = &Blocks{Name: "q4_1", Number: 3, Elements: 32, Bytes: 20, Scales: []int{0, 2}, unpack: unpackQ41, Pack: packQ41}
	Q5_0    = &Blocks{Name: "q5_0", Number: 6, Elements: 32, Bytes: 22, Scales: []int{0}, unpack: unpackQ50, Pack: packQ50}
	Q5_1    = &Blocks{Name: "q5_1", Number: 7, Elements: 32, Bytes: 24, Scales: []int{0, 2}, unpack: unpackQ51, Pack: packQ51}
	Q8_0    = &Blocks{Name: "q8_0", Number: 8, Elements: 32, Bytes: 34, Scales: []int{0}, unpack: unpackQ80, Pack: packQ80}
	Q2_K    = &Blocks{Name: "q2_k", Number: 10, Elements: 256, Bytes: 84, Scales: []int{80, 82}, unpack: unpackQ2K}
	Q3_K    = &Blocks{Name: "q3_k", Number: 11, Elements: 256, Bytes: 110, Scales: []int{108}, unpack: unpackQ3K}
	Q4_K    = &Blocks{Name: "q4_k", Number: 12, Elements: 256, Bytes: 144, Scales: []int{0, 2}, unpack: unpackQ4K}
	Q5_K    = &Blocks{Name: "q5_k", Number: 13, Elements: 256, Bytes: 176, Scales: []int{0, 2}, unpack: unpackQ5K}
	Q6_K    = &Blocks{Name: "q6_k", Number: 14, Elements: 256, Bytes: 210, Scales: []int{208}, unpack: unpackQ6K}
	IQ2_XXS = &Blocks{Name: "iq2_xxs", Number: 16, Elements: 256, Bytes: 66, Scales: []int{0}, unpack: unpackIQ2XXS}
	IQ2_XS  = &Blocks{Name: "iq2_xs", Number: 17, Elements: 256, Bytes: 74, Scales: []int{0}, unpack: unpackIQ2XS}
	IQ3_XXS = &Blocks{Name: "iq3_xxs", Number: 18, Elements: 256, Bytes: 98, Scales: []int{0}, unpack: unpackIQ3XXS}
	IQ1_S   = &Blocks{Name: "iq1_s", Number: 19, Elements: 256, Bytes: 50, Scales: []int{0}, unpack: unpackIQ1S}
	IQ4_NL  = &Blocks{Name: "iq4_nl", Number: 20, Elements: 32, Bytes: 18, Scales: []int{0}, unpack: unpackIQ4NL}
	IQ3_S   = &Blocks{Name: "iq3_s", Number: 21, Elements: 256, Bytes: 110, Scales: []int{0}, unpack: unpackIQ3S}
	IQ2_S   = &Blocks{Name: "iq2_s", Number: 22, Elements: 256, Bytes: 82, Scales: []int{0}, unpack: unpackIQ2S}
	IQ4_XS  = &Blocks{Name: "iq4_xs", Number: 23, Elements: 256, Bytes: 136, Scales: []int{0}, unpack: unpackIQ4XS}
	IQ1_M   = &Blocks{Name: "iq1_m", Number: 29, Elements: 256, Bytes: 56, unpack: unpackIQ1M}
	TQ1_0   = &Blocks{Name: "tq1_0", Number: 34, Elements: 256, Bytes: 54, Scales: []int{52}, unpack: unpackTQ10, Pack: packTQ10}
	TQ2_0   = &Blocks{Name: "tq2_0", Number: 35, Elements: 256, Bytes: 66, Scales: []int{64}, unpack: unpackTQ20, Pack: packTQ20}
	MXFP4   = &Blocks{Name: "mxfp4", Number: 39, Elements: 32, Bytes: 17, unpack: unpackMXFP4, Pack: packMXFP4}
	NVFP4   = &Blocks{Name: "nvfp4", Number: 40, Elements: 64, Bytes: 36, unpack: unpackNVFP4, Pack: packNVFP4}
	Q1_0    = &Blocks{Name: "q1_0", Number: 41, Elements: 128, Bytes: 18, Scales: []int{0}, unpack: unpackQ10, Pack: packQ10}
	Q2_0    = &Blocks{Name: "q2_0", Number: 42, Elements: 64, Bytes: 18, Scales: []int{0}, unpack: unpackQ20, Pack: packQ20}
)

// BlockTypes is the table of types of blocks, in the order of their numbers.
var BlockTypes = []*Blocks{
	Q4_0, Q4_1, Q5_0, Q5_1, Q8_0,
	Q2_K, Q3_K, Q4_K, Q5_K, Q6_K,
	IQ2_XXS, IQ2_XS, IQ3_XXS, IQ1_S, IQ4_NL, IQ3_S, IQ2_S, IQ4_XS, IQ1_M,
	TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0, Q2_0,
}

func init() {
	for _, q := range []struct {
		b      *Blocks
		search *searched
	}{
		{Q4_0, &searchQ40}, {Q4_1, &searchQ41}, {Q5_0, &searchQ50}, {Q5_1, &searchQ51}, {IQ4_NL, &searchIQ4NL},
		{Q2_K, &searchQ2K}, {Q3_K, &searchQ3K}, {Q4_K, &searchQ4K}, {Q5_K, &searchQ5K}, {Q6_K, &searchQ6K},
		{IQ4_XS, &searchIQ4XS},
	} {
		q.b.search = q.search
		q.b.Quantize = func(dst []byte, src, importance []float32) {
			q.b.Quantizer((*Search).Compute)(dst, src, importance)
		}
	}
	for _, q := range []struct {
		b   *Blocks
		one func(dst []byte, x, w []float32)
	}{
		{IQ2_XXS, quantizeIQ2XXS}, {IQ2_XS, quantizeIQ2XS}, {IQ2_S, quantizeIQ2S}, {IQ3_XXS, quantizeIQ3XXS},
		{IQ3_S, quantizeIQ3S}, {IQ1_S, quantizeIQ1S}, {IQ1_M, quantizeIQ1M},
	} {
		q.b.Quantize = q.b.quantizer(q.one)
	}
	for _, b := range []*Blocks{Q8_0, TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0, Q2_0} {
		b.Quantize = func(dst []byte, src, _ []float32) { b.Pack(dst, src) }
	}
}

// BlocksOf returns the type of blocks with the number, nil if there is none.
func BlocksOf(number int) *Blocks {
	for _, b := range BlockTypes {
		if b.Number == number {
			return b
		}
	}
	return nil
}

// Size returns the bytes of n elements, a multiple of b.Elements.
func (b *Blocks) Size(n int) int { return n / b.Elements * b.Bytes }

// Unpack writes the elements of whole blocks to dst. The results have the bits of ggml's: a product
// and a sum are rounded one after the other.
func (b *Blocks) Unpack(dst []float32, src []byte) {
	for len(dst) > 0 {
		b.unpack(dst[:b.Elements], src[:b.Bytes])
		dst, src = dst[b.Elements:], src[b.Bytes:]
	}
}

// NotFinite returns the first block with a scale that is an infinity or a NaN, -1 if there is none.
// The scale of mxfp4 that stands for NaN elsewhere counts, although Unpack reads a number.
func (b *Blocks) NotFinite(src []byte) int {
	for i := range len(src) / b.Bytes {
		block := src[i*b.Bytes:][:b.Bytes]
		for _, at := range b.Scales {
			if block[at+1]&0x7c == 0x7c {
				return i
			}
		}
		switch b {
		case IQ1_M:
			if scaleIQ1M(block)&0x7c00 == 0x7c00 {
				return i
			}
		case MXFP4:
			if block[0] == 0xff {
				return i
			}
		}
	}
	return -1
}

// Book returns the vectors of the code book of b in the order of their index, 8 numbers each: 8
// elements, or 4 and zeros. It is nil if b has no code book. The vectors must not be changed.
func (b *Blocks) Book() []int8 {
	book := books[b.Name]
	if book == nil {
		return nil
	}
	rows := book.rows()
	return unsafe.Slice(&rows[0][0], len(rows)*len(rows[0]))
}

// half returns the float16 at the beginning of b.
func half(b []byte) float32 { return F16(binary.LittleEndian.Uint16(b)).Float32() }

func putHalf(b []byte, v float32) { binary.LittleEndian.PutUint16(b, uint16(ToF16(v))) }

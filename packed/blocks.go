package packed

// Blocks is the storage of elements in blocks that share scales. A block has a fixed number of
// elements and of bytes, and nothing is between blocks. The types are ggml's, as GGUF files hold
// them; numbers in a block are little-endian.
type Blocks struct {
	Name     string // in lower case, such as q4_0
	Number   int    // in GGUF files
	Elements int    // of a block
	Bytes    int    // of a block
}

// The types of blocks.
var (
	Q4_0    = &Blocks{Name: "q4_0", Number: 2, Elements: 32, Bytes: 18}
	Q4_1    = &Blocks{Name: "q4_1", Number: 3, Elements: 32, Bytes: 20}
	Q5_0    = &Blocks{Name: "q5_0", Number: 6, Elements: 32, Bytes: 22}
	Q5_1    = &Blocks{Name: "q5_1", Number: 7, Elements: 32, Bytes: 24}
	Q8_0    = &Blocks{Name: "q8_0", Number: 8, Elements: 32, Bytes: 34}
	Q2_K    = &Blocks{Name: "q2_k", Number: 10, Elements: 256, Bytes: 84}
	Q3_K    = &Blocks{Name: "q3_k", Number: 11, Elements: 256, Bytes: 110}
	Q4_K    = &Blocks{Name: "q4_k", Number: 12, Elements: 256, Bytes: 144}
	Q5_K    = &Blocks{Name: "q5_k", Number: 13, Elements: 256, Bytes: 176}
	Q6_K    = &Blocks{Name: "q6_k", Number: 14, Elements: 256, Bytes: 210}
	IQ2_XXS = &Blocks{Name: "iq2_xxs", Number: 16, Elements: 256, Bytes: 66}
	IQ2_XS  = &Blocks{Name: "iq2_xs", Number: 17, Elements: 256, Bytes: 74}
	IQ3_XXS = &Blocks{Name: "iq3_xxs", Number: 18, Elements: 256, Bytes: 98}
	IQ1_S   = &Blocks{Name: "iq1_s", Number: 19, Elements: 256, Bytes: 50}
	IQ4_NL  = &Blocks{Name: "iq4_nl", Number: 20, Elements: 32, Bytes: 18}
	IQ3_S   = &Blocks{Name: "iq3_s", Number: 21, Elements: 256, Bytes: 110}
	IQ2_S   = &Blocks{Name: "iq2_s", Number: 22, Elements: 256, Bytes: 82}
	IQ4_XS  = &Blocks{Name: "iq4_xs", Number: 23, Elements: 256, Bytes: 136}
	IQ1_M   = &Blocks{Name: "iq1_m", Number: 29, Elements: 256, Bytes: 56}
	TQ1_0   = &Blocks{Name: "tq1_0", Number: 34, Elements: 256, Bytes: 54}
	TQ2_0   = &Blocks{Name: "tq2_0", Number: 35, Elements: 256, Bytes: 66}
	MXFP4   = &Blocks{Name: "mxfp4", Number: 39, Elements: 32, Bytes: 17}
	NVFP4   = &Blocks{Name: "nvfp4", Number: 40, Elements: 64, Bytes: 36}
	Q1_0    = &Blocks{Name: "q1_0", Number: 41, Elements: 128, Bytes: 18}
	Q2_0    = &Blocks{Name: "q2_0", Number: 42, Elements: 64, Bytes: 18}
)

// BlockTypes is the table of types of blocks, in the order of their numbers.
var BlockTypes = []*Blocks{
	Q4_0, Q4_1, Q5_0, Q5_1, Q8_0,
	Q2_K, Q3_K, Q4_K, Q5_K, Q6_K,
	IQ2_XXS, IQ2_XS, IQ3_XXS, IQ1_S, IQ4_NL, IQ3_S, IQ2_S, IQ4_XS, IQ1_M,
	TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0, Q2_0,
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

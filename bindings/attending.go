package bindings

import "unsafe"

// Stages at which Attention can give what it computes of queries and keys.
const (
	QKNone    = iota - 1
	QKProduct // scaled products
	QKCapped  // after the cap
	QKBiased  // after the bias, -Inf where a query does not attend
	QKWeights // after the softmax
)

// AttentionRows is where the rows of queries, keys or values lie; strides are
// in elements, those of a row follow each other.
type AttentionRows struct {
	Data             unsafe.Pointer
	Type             FloatType
	Batch, Head, Row int
}

// Attention is softmax(cap(Scale q k') + Bias) v, as csrc/attention/attention.h
// has it; the fields mean what they mean there.
type Attention struct {
	Gemm, Attend, Tanh                        Kernel // of ops f32_gemm, f32_attend, f32_tanh
	Batch, Heads, KVHeads, QLen, KVLen, D, DV int
	Q, K, V                                   AttentionRows
	Out                                       []float32
	OutBatch, OutHead, OutRow                 int
	Scale, Cap                                float32
	Bias                                      []float32 // nil for none
	BiasBatch, BiasHead, BiasRow, BiasCols    int
	First, Valid                              []int64 // per batch: position of query 0, and keys that are there
	Causal                                    bool
	Window                                    int       // 0 for none
	Sink                                      []float32 // per head; nil for none
	QK                                        []float32 // nil for none
	QKStage                                   int
}

// Rotary turns pairs of elements of heads by angles that depend on the token.
type Rotary struct {
	Kernel                                         Kernel // of op f32_rotate
	Batch, Heads, Tokens, D, Pairs                 int
	XBatch, XHead, XRow, OutBatch, OutHead, OutRow int
	Interleaved                                    bool
	Cos, Sin                                       []float32
	Index                                          []int64 // rows of Cos and Sin; nil for one per token
	IndexBatch, IndexRow                           int
}

// LinearAttention is a recurrence over tokens; State is updated, and the states
// after the last Window tokens go to Slots.
type LinearAttention struct {
	Kernel                        Kernel // of op f32_recur
	Batch, Tokens, Heads, KVHeads int
	DK, DV                        int
	Q, K, V                       []float32
	Decay                         []float32 // nil for none
	DecayCols                     int
	Beta                          []float32 // nil for none
	BetaCols                      int
	Scale                         float32
	State, Slots                  []float32
	Window                        int
	Out                           []float32
}

// CausalConv is a depthwise convolution over the elements up to each.
type CausalConv struct {
	Kernel                   Kernel // of op f32_causal_conv
	Batch, Channels, N, Taps int
	Step                     int
	X, W, Bias, Past         []float32 // Bias and Past may be nil
	SiLU                     bool
	Out, Present             []float32 // Present may be nil
}

// Package decoder makes the graphs of Llama-style decoders: token embeddings, blocks of
// causal attention and MLP with norms around both, a last norm, a head.
//
// The graph has the input input_ids, int64 [batch,sequence], and the output logits,
// float32 [batch,sequence,vocab]. Each layer N has the states past_key_values.N.key and
// past_key_values.N.value, float32 [batch,kv_heads,past,head_dim], whose next contents
// are present.N.key and present.N.value. Positions go on from the rows of the states, so
// that nothing else has to be given. All is computed in float32; weights of other
// floating-point types stay as they are stored, and nodes convert them.
//
// # Why one package makes the graphs of decoders
//
// formats/internal/decoder takes a description (sizes, norms, ropes, windows, factors) and weights
// by their role, and makes the graph of a Llama-style decoder. Formats and families differ in what
// they call things and where they store them; a row of a table says it. Matrices are used in the
// order in which a file has them, as transposed operands, so that nothing is copied. Attention is
// com.microsoft.GroupQueryAttention, which knows windows and caps and appends to the cache in
// place, or, for heads that ONNX Runtime does not take there, the standard's Attention with a
// mask. Positions follow from the length of the cache, and cosines and sines are computed from
// them: tables would be as long as the context. Rejected: a graph maker per family, which repeats
// attention a dozen times, and inputs for masks and positions, which follow from the tokens.
package decoder

import "github.com/nacre-ml/nacre/runtime/graph"

// Config describes a decoder.
type Config struct {
	Hidden                  int // width between blocks
	Vocab                   int // columns of the logits
	Heads, KVHeads, HeadDim int // Heads is a multiple of KVHeads

	Activation   Activation
	LayerNorm    bool    // norms take the mean away too; else they are RMS norms
	UnitOffset   bool    // weights of norms are stored less 1
	Epsilon      float64 // of norms
	Scale        float64 // of attention scores; 0 for 1/√HeadDim
	AttentionCap float64 // bound of attention scores by tanh; 0 for none
	LogitCap     float64 // bound of logits by tanh; 0 for none

	// Factors of the embeddings, of what a block adds, and of the logits; 0 for 1.
	EmbeddingScale, ResidualScale, LogitScale float64

	Embedding *graph.Initializer // [Vocab,Hidden]
	Positions *graph.Initializer // [tokens,Hidden], added to the embeddings; nil for none
	Final     Norm               // [Hidden]
	Head      Matrix             // Hidden to Vocab
	Layers    []Layer

	// Trace is called with the values that blocks make, by their role there, and returns
	// their name from then on; nil for no call. The layer is -1 for values outside the
	// blocks.
	Trace func(layer int, role, value string) string
}

// Layer is a block. Norms and matrices that it does not have are zero.
type Layer struct {
	BeforeAttention, AfterAttention Norm // [Hidden]
	BeforeMLP, AfterMLP             Norm // [Hidden]
	Query, Key                      Norm // of every head [HeadDim] or, with WideNorms, of all heads side by side
	WithinAttention                 Norm // [Heads·HeadDim], in front of O
	WithinMLP                       Norm // of the MLP's width, in front of Down
	WideNorms                       bool

	// Q, K and V are from Hidden to the heads side by side, in one matrix QKV or in three.
	Q, K, V, QKV Matrix
	O            Matrix // from the query heads to Hidden
	// Gate and Up are from Hidden to the MLP's width, in one matrix GateUp or in two. An
	// MLP without a gate has Up alone.
	Gate, Up, GateUp Matrix
	Down             Matrix // from the MLP's width to Hidden

	Rope   *Rope // nil for none; layers that have the same rotation share it
	Window int   // keys that a query sees at most, with its own; 0 for all
}

// Norm is the parameters of a norm.
type Norm struct {
	Weight, Bias *graph.Initializer // Bias nil for none
}

func (n Norm) given() bool { return n.Weight != nil }

// Matrix is a linear map.
type Matrix struct {
	Weight *graph.Initializer // [out,in], or [in,out] with InOut
	Bias   *graph.Initializer // [out]; nil for none
	InOut  bool
}

func (m Matrix) given() bool { return m.Weight != nil }

// width returns the extent of what a matrix gives.
func (m Matrix) width() int {
	if m.InOut {
		return m.Weight.Tensor.Shape()[1]
	}
	return m.Weight.Tensor.Shape()[0]
}

// Rope is a rotation of pairs of columns of queries and keys by angles that go with the
// position.
type Rope struct {
	// Frequencies are the angles of a step, for each pair; the first 2·len(Frequencies)
	// columns of a head are rotated.
	Frequencies []float32
	// Interleaved pairs neighbours; else column i goes with column i+len(Frequencies).
	Interleaved bool
	Magnitude   float64 // factor of cosines and sines; 0 for 1
	// Beyond gives other frequencies for runs that end behind a number of tokens; nil for
	// the same.
	Beyond *Beyond
}

// Beyond is the frequencies of runs that end behind Tokens tokens.
type Beyond struct {
	Tokens      int
	Frequencies []float32 // nil for those of a base that grows
	// The base is Base·(Factor·n/Tokens - (Factor-1))^(d/(d-2)), where n is the number of
	// tokens and d that of rotated columns.
	Base, Factor float64
}

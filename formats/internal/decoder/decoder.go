// Package decoder makes the graphs of Llama-style decoders: token embeddings, blocks of causal
// attention and MLP with norms around both, a last norm, and a head.
//
// The graph has the input input_ids, int64 [batch,sequence], and the output logits, float32
// [batch,sequence,vocab]. Each layer N has the states past_key_values.N.key and
// past_key_values.N.value, float32 [batch,kv_heads,past,head_dim]. Their next contents are
// present.N.key and present.N.value. A layer with a short convolution has the state past_conv.N in
// their place, float32 [batch,hidden,taps-1], and present_conv.N. Positions follow from the rows of
// the states, so a run needs no other inputs. An encoder has no states. Its outputs are
// last_hidden_state, float32 [batch,sequence,hidden], and sentence_embedding, float32
// [batch,hidden]. All nodes compute in float32. Weights of other floating-point types and of blocks
// stay as they are stored, and nodes convert them.
//
// # Why one package makes the graphs of decoders
//
// formats/internal/decoder takes a description (sizes, norms, ropes, windows, factors) and weights
// by their role, and makes the graph of a Llama-style decoder. Formats and families differ in names
// and in places; a row of a table describes each. Matrices stay in the order of the file and are
// used as transposed operands, so nothing is copied. Attention is
// com.microsoft.GroupQueryAttention: it supports windows and caps, and appends to the cache in
// place. ONNX Runtime does not take heads of every size there; for the other sizes attention is the
// standard's Attention with a mask. Positions follow from the length of the cache, and nodes
// compute cosines and sines from them, because tables would be as long as the context. Rejected: a
// graph maker per family, because it repeats attention a dozen times; and inputs for masks and
// positions, because they follow from the tokens.
package decoder

import "github.com/nacre-ml/nacre/runtime/graph"

// Config describes a decoder.
type Config struct {
	Hidden                  int // width between blocks
	Vocab                   int // columns of the logits
	Heads, KVHeads, HeadDim int // Heads is a multiple of KVHeads

	Activation   Activation
	LayerNorm    bool    // norms subtract the mean too; if false, they are RMS norms
	UnitOffset   bool    // the stored weights of norms are 1 less
	Epsilon      float64 // of norms
	Scale        float64 // of attention scores; 0 for 1/√HeadDim
	AttentionCap float64 // bound of attention scores by tanh; 0 for none
	LogitCap     float64 // bound of logits by tanh; 0 for none

	// Factors of the embeddings, of the results of attention and MLP, and of the logits; 0 for 1.
	EmbeddingScale, ResidualScale, LogitScale float64

	Embedding *graph.Initializer // [Vocab,Hidden]
	Positions *graph.Initializer // [tokens,Hidden], added to the embeddings; nil for none
	Types     *graph.Initializer // [types,Hidden], the first row is added to the embeddings; nil for none
	Embedded  Norm               // [Hidden], of the embeddings; zero for none
	Final     Norm               // [Hidden]
	Head      Matrix             // Hidden to Vocab
	Layers    []Layer

	// Context is the most tokens up to the end of a run; 0 for any number. Ropes with other
	// frequencies beyond a number of tokens then have the same in all runs.
	Context int

	// Encoder has every token see all tokens of a run, without states. The outputs are the results
	// of the last norm, and one row of them for each sequence, by Pooling.
	Encoder bool
	Pooling Pooling
	// Batches gives an encoder the inputs attention_mask and, if Types has several rows,
	// token_type_ids. Head is then a classification: of all tokens, or with First of the first token,
	// whose row goes through the matrix First and the function FirstActivation. Without Head there is
	// none, and Pooling is not read.
	Batches         bool
	First           Matrix // [columns,Hidden]
	FirstActivation Activation
	// CountFrom numbers positions by the tokens other than this one, from the next number on, as in
	// RoBERTa. Nil numbers all tokens from 0.
	CountFrom *int

	// Trace is called with the values of blocks and their role there, and returns the new name of
	// each value. layer is -1 for values outside the blocks. Trace may be nil.
	Trace func(layer int, role, value string) string
}

// Pooling makes one row of the rows of a sequence.
type Pooling int

// The ways of pooling.
const (
	NoPooling Pooling = iota
	Mean
	First
	Last
)

// Layer is a block. Missing norms and matrices are zero.
type Layer struct {
	BeforeAttention, AfterAttention Norm // [Hidden]
	BeforeMLP, AfterMLP             Norm // [Hidden]
	AttentionSum, MLPSum            Norm // [Hidden], of the sums of results and block
	// Query and Key are norms of every head, of the weight [HeadDim] or [heads,HeadDim]. With
	// WideNorms they are norms of all heads together.
	Query, Key      Norm
	WithinAttention Norm // [Heads·HeadDim], before O
	WithinMLP       Norm // of the MLP's width, before Down
	WideNorms       bool

	// Conv takes the place of the attention. It may be nil.
	Conv *ShortConv

	// Q, K and V map Hidden to the columns of all heads, in one matrix QKV or in three.
	Q, K, V, QKV Matrix
	O            Matrix // from the query heads to Hidden
	// Gate and Up map Hidden to the MLP's width, in one matrix GateUp or in two. An MLP without a
	// gate has Up alone.
	Gate, Up, GateUp Matrix
	Down             Matrix // from the MLP's width to Hidden
	// Experts takes the place of the MLP. It may be nil.
	Experts *Experts
	// Parallel gives the MLP the input of the block, and adds both results to it. Without BeforeMLP
	// the MLP reads what the attention reads.
	Parallel bool

	Sinks  *graph.Initializer // [Heads], scores without values in each softmax; nil for none
	Rope   *Rope              // nil for none; layers with the same rotation share it
	Window int                // the most keys that a query sees, with its own; 0 for all
}

// ShortConv is a causal convolution of every column over a few tokens, between two gates. The
// results of In are B, C and X. The convolution of B·X is multiplied by C, and by the matrix Out.
type ShortConv struct {
	In, Out Matrix
	Taps    *graph.Initializer // [Hidden,taps] or [Hidden,1,taps], the newest token's last
	Bias    *graph.Initializer // [Hidden]; nil for none
}

// Experts is MLPs, of which each token is computed by a few. Their results are weighted by a
// softmax over the results of Router, or by their sigmoid.
type Experts struct {
	Router Matrix // Hidden to the number of experts
	Chosen int    // experts of a token
	// Normalized gives the weights of the chosen a sum of 1. If it is false, the weights of all
	// experts have.
	Normalized bool
	// Sigmoid has weights proportional to the sigmoid of the results of Router. They are
	// Normalized.
	Sigmoid bool
	// Scale is a factor of the results; 0 for 1.
	Scale float64

	// Weights are [experts,out,in], and biases [experts,out]. Gate and Up may be in one, GateUp.
	Gate, Up, GateUp, Down Matrix
	// Limit bounds gates from above, and the results of Up from both sides; these grow by 1 before
	// they are multiplied by g·sigmoid(1.702g). Without a limit the activation is SiLU; 0 for none.
	Limit float64

	// SharedGate, SharedUp and SharedDown are an MLP of all tokens. Its results are multiplied by
	// the sigmoid of the product with SharedRouter, [Hidden].
	SharedGate, SharedUp, SharedDown Matrix
	SharedRouter                     *graph.Initializer // nil for none
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
	// Scale is a factor of the product, one number, or one for each of the experts; nil for none.
	Scale *graph.Initializer
	InOut bool
}

func (m Matrix) given() bool { return m.Weight != nil }

// width returns the number of columns of a matrix's results.
func (m Matrix) width() int {
	if m.InOut {
		return m.Weight.Tensor.Shape()[1]
	}
	return m.Weight.Tensor.Shape()[0]
}

// Rope is a rotation of pairs of columns of queries and keys by angles proportional to the
// position.
type Rope struct {
	// Frequencies are the angles per position, one for each pair. The first 2·len(Frequencies)
	// columns of a head are rotated.
	Frequencies []float32
	// Interleaved pairs neighbouring columns. If it is false, column i pairs with column
	// i+len(Frequencies).
	Interleaved bool
	Magnitude   float64 // factor of cosines and sines; 0 for 1
	// Beyond gives other frequencies for runs that end after more than a number of tokens. It may
	// be nil.
	Beyond *Beyond
}

// Beyond is the frequencies of runs that end after more than Tokens tokens.
type Beyond struct {
	Tokens      int
	Frequencies []float32 // nil for frequencies of a base that grows
	// The base is Base·(Factor·n/Tokens - (Factor-1))^(d/(d-2)), for n tokens and d rotated
	// columns.
	Base, Factor float64
}

package decoder

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// MaxHeadDim is the most columns of a head. Tables of a graph have a number for each.
const MaxHeadDim = 1 << 14

// LimitTokens limits the input ids, [batch,sequence], of a decoder. A run must have at least one
// token, and each must be below vocab.
func LimitTokens(b *graph.Builder, ids string, vocab int) {
	b.Limit(graph.Limit{Input: ids, Most: vocab - 1, About: fmt.Sprintf("token ids; the vocabulary has %d", vocab)})
	b.Limit(graph.Limit{Extent: graph.ParseDim("sequence"), Least: 1, Most: math.MaxInt, About: "the tokens of a run; there must be one"})
}

// LimitWindow limits the number of tokens of the past and of a run to window. past is the symbol
// for the extent of the past; it is empty if there is no past.
func LimitWindow(b *graph.Builder, past string, window int) {
	length := graph.ParseDim("sequence")
	if past != "" {
		length = graph.ParseDim(past).Add(length)
	}
	b.Limit(graph.Limit{Extent: length, Most: window,
		About: "the tokens up to the end of a run, limited by the network's window; give the last ones, with an empty past"})
}

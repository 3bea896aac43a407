package decoder

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// LimitTokens bounds what a run of a decoder may be given as ids, an input
// [batch,sequence]: at least one token, each of the vocabulary.
func LimitTokens(b *graph.Builder, ids string, vocab int) {
	b.Limit(graph.Limit{Input: ids, Most: vocab - 1, About: fmt.Sprintf("token ids, of which the vocabulary has %d", vocab)})
	b.Limit(graph.Limit{Extent: graph.ParseDim("sequence"), Least: 1, Most: math.MaxInt, About: "the tokens of a run, of which there must be one"})
}

// LimitWindow bounds the tokens of a run together with those of the past, whose extent has
// that name; it is empty where there is no past.
func LimitWindow(b *graph.Builder, past string, window int) {
	length := graph.ParseDim("sequence")
	if past != "" {
		length = graph.ParseDim(past).Add(length)
	}
	b.Limit(graph.Limit{Extent: length, Most: window,
		About: "the tokens up to the end of a run, for which the network has a window; give the last ones, with an empty past"})
}

package text

import (
	"cmp"
	"context"
	"slices"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/guard"
)

// A Reranker scores how well documents answer a query, by a network that reads both together.
type Reranker struct {
	network *network
	act     func(float64) float64
}

// OpenReranker opens a cross-encoder by its folder: a classification of pairs with one label. Scores
// go through the function that config.json names for sentence-transformers, and else a sigmoid. The
// error is as for OpenEmbedder.
func OpenReranker(name string, o Options) (_ *Reranker, err error) {
	defer guard.At(name).End(&err)
	n, err := openNetwork(name, o, textRows)
	if err != nil {
		return nil, err
	}
	r := &Reranker{n, sigmoid}
	act := cmp.Or(n.config.Transformed.Activation, n.config.Activation)
	if act != "" {
		if r.act = activations[kindOf(act)]; r.act == nil {
			_ = n.Close()
			return nil, errorf(nacre.ErrUnsupported,
				"%s: the function of scores is %.80q; it takes Identity, Tanh, ReLU, Sigmoid and GELU",
				n.folder.file(configFile), act)
		}
	}
	return r, nil
}

// A Rank is a document's place.
type Rank struct {
	Index int // number of the document
	Score float32
}

// Rank returns the documents by their scores for a query, the greatest first. The error is as for
// Embedder.Embed.
func (r *Reranker) Rank(ctx context.Context, query string, documents ...string) (_ []Rank, err error) {
	defer guard.At("").End(&err)
	pairs := make([]Pair, len(documents))
	for i, d := range documents {
		pairs[i] = Pair{query, d}
	}
	scores, err := r.score(ctx, pairs)
	if err != nil {
		return nil, err
	}
	list := make([]Rank, len(scores))
	for i, s := range scores {
		list[i] = Rank{i, s}
	}
	slices.SortStableFunc(list, func(a, b Rank) int { return cmp.Compare(b.Score, a.Score) })
	return list, nil
}

// Score returns the score of each pair of a query and a document. White space at the ends of texts
// does not count, as in sentence-transformers. The error is as for Embedder.Embed.
func (r *Reranker) Score(ctx context.Context, pairs ...Pair) (_ []float32, err error) {
	defer guard.At("").End(&err)
	return r.score(ctx, pairs)
}

func (r *Reranker) score(ctx context.Context, pairs []Pair) ([]float32, error) {
	if r == nil || !r.network.made() {
		return nil, errNotOpen()
	}
	in := inputsOf(pairs)
	for i := range in {
		in[i].Text, in[i].Second = r.network.cleaned(in[i].Text), r.network.cleaned(in[i].Second)
	}
	rows, err := r.network.logits(ctx, in, tokenizer.LongestFirst)
	if err != nil {
		return nil, err
	}
	scores := make([]float32, len(rows))
	for i, row := range rows {
		if len(row) != 1 {
			return nil, errorf(nacre.ErrUnsupported, "%s: output %s has %d numbers for a pair; a reranker has one",
				r.network.file(), r.network.output, len(row))
		}
		scores[i] = float32(r.act(float64(row[0])))
	}
	return scores, nil
}

// Close waits for calls that are under way, and frees the memory of the network.
func (r *Reranker) Close() (err error) {
	defer guard.At("").End(&err)
	if r == nil {
		return nil
	}
	return r.network.Close()
}

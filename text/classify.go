package text

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/guard"
)

// A Label is a label with its score.
type Label struct {
	Name  string
	Index int     // number of the label, as config.json or the caller lists them
	Score float32 // 0 to 1, or of any size for a regression
}

// A Pair is two texts that a network reads together.
type Pair struct{ First, Second string }

// A Classifier labels texts.
type Classifier struct{ network *network }

// textRows is the output of networks that give numbers for each text.
var textRows = wanted{names: []string{"logits"}, rank: 2, what: "a number for each label of a text"}

// OpenClassifier opens a network for the classification of sequences by its folder. Labels are
// id2label of config.json. The error is as for OpenEmbedder.
func OpenClassifier(name string, o Options) (_ *Classifier, err error) {
	defer guard.At(name).End(&err)
	n, err := openNetwork(name, o, textRows)
	if err != nil {
		return nil, err
	}
	return &Classifier{n}, nil
}

// openNetwork opens the network of a folder for a task.
func openNetwork(name string, o Options, want wanted) (*network, error) {
	f, err := openFolder(name)
	if err != nil {
		return nil, err
	}
	return open(f, o, want)
}

// Classify returns all labels for each text, the greatest score first. Scores are a softmax, or
// sigmoids if there is one label or problem_type of config.json is multi_label_classification, or the
// network's numbers if it is regression. The error is as for Embedder.Embed.
func (c *Classifier) Classify(ctx context.Context, texts ...string) (_ [][]Label, err error) {
	defer guard.At("").End(&err)
	in := make([]tokenizer.Input, len(texts))
	for i, t := range texts {
		in[i].Text = t
	}
	return c.classify(ctx, in)
}

// ClassifyPairs is Classify for pairs of texts.
func (c *Classifier) ClassifyPairs(ctx context.Context, pairs ...Pair) (_ [][]Label, err error) {
	defer guard.At("").End(&err)
	return c.classify(ctx, inputsOf(pairs))
}

func inputsOf(pairs []Pair) []tokenizer.Input {
	in := make([]tokenizer.Input, len(pairs))
	for i, p := range pairs {
		in[i] = tokenizer.Input{Text: p.First, Second: p.Second, Pair: true}
	}
	return in
}

func (c *Classifier) classify(ctx context.Context, in []tokenizer.Input) ([][]Label, error) {
	if c == nil || !c.network.made() {
		return nil, errNotOpen()
	}
	rows, err := c.network.logits(ctx, in, tokenizer.LongestFirst)
	if err != nil {
		return nil, err
	}
	out := make([][]Label, len(in))
	for i, row := range rows {
		names, err := c.network.config.labels(c.network.folder, len(row))
		if err != nil {
			return nil, err
		}
		c.network.config.scores(row)
		out[i] = ranked(names, row)
	}
	return out, nil
}

// ranked returns labels by their scores, the greatest first.
func ranked(names []string, scores []float32) []Label {
	list := make([]Label, len(scores))
	for i, s := range scores {
		list[i] = Label{names[i], i, s}
	}
	slices.SortStableFunc(list, func(a, b Label) int { return cmp.Compare(b.Score, a.Score) })
	return list
}

// scores turns the numbers of a network into scores.
func (c *config) scores(row []float32) {
	switch {
	case c.Problem == regression:
	case c.Problem == multi || len(row) == 1:
		for i, x := range row {
			row[i] = float32(sigmoid(float64(x)))
		}
	default:
		softmax(row)
	}
}

// softmax replaces numbers by their softmax.
func softmax(row []float32) {
	most, sum := float64(slices.Max(row)), 0.0
	for _, x := range row {
		sum += math.Exp(float64(x) - most)
	}
	for i, x := range row {
		row[i] = float32(math.Exp(float64(x)-most) / sum)
	}
}

// logits returns the network's row for each text or pair.
func (n *network) logits(ctx context.Context, in []tokenizer.Input, strategy tokenizer.Strategy) ([][]float32, error) {
	list, err := n.encode(ctx, in, strategy)
	if err != nil {
		return nil, n.named(err)
	}
	rows := make([][]float32, len(in))
	err = n.run(ctx, list, func(i int, r result) error {
		if len(r.rows) == 0 {
			return errorf(nacre.ErrUnsupported, "%s: output %s has no columns", n.file(), n.output)
		}
		rows[i] = r.rows
		return nil
	})
	return rows, err
}

// Close waits for calls that are under way, and frees the memory of the network.
func (c *Classifier) Close() (err error) {
	defer guard.At("").End(&err)
	if c == nil {
		return nil
	}
	return c.network.Close()
}

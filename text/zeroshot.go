package text

import (
	"context"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/guard"
)

// A ZeroShot gives texts labels that the caller chooses. Its network says whether one text follows
// from another: a label fits if a sentence about it follows from the text.
type ZeroShot struct {
	network *network
	yes, no int // labels of the network
}

// OpenZeroShot opens a network of entailment by its folder. A label of id2label in config.json must
// begin with entail. The error is as for OpenEmbedder.
func OpenZeroShot(name string, o Options) (_ *ZeroShot, err error) {
	defer guard.At(name).End(&err)
	n, err := openNetwork(name, o, textRows)
	if err != nil {
		return nil, err
	}
	z := &ZeroShot{network: n}
	if z.yes, z.no, err = entailment(n.folder, n.config.names); err != nil {
		_ = n.Close()
		return nil, err
	}
	return z, nil
}

// ZeroShotOptions say how texts get labels. The zero value gives one label of several.
type ZeroShotOptions struct {
	// Template is the sentence about a label, with {} in place of the label. "" is
	// "This example is {}.".
	Template string
	// Multi gives each label a score of its own: the softmax of entailment and contradiction.
	// Otherwise scores are a softmax of entailment over the labels.
	Multi bool
}

// Classify returns the labels for a text, the greatest score first. The error is nacre.ErrOption if
// there are no labels or the template has no place for one, and else as for Embedder.Embed.
func (z *ZeroShot) Classify(ctx context.Context, text string, labels []string, o ZeroShotOptions) (_ []Label, err error) {
	defer guard.At("").End(&err)
	if z == nil || !z.network.made() {
		return nil, errNotOpen()
	}
	if o.Template == "" {
		o.Template = "This example is {}."
	}
	if len(labels) == 0 || !strings.Contains(o.Template, "{}") {
		return nil, errorf(nacre.ErrOption, "%d labels for the template %q; one at least and a place {} are needed",
			len(labels), o.Template)
	}
	in := make([]tokenizer.Input, len(labels))
	for i, label := range labels {
		in[i] = tokenizer.Input{Text: text, Second: strings.Replace(o.Template, "{}", label, 1), Pair: true}
	}
	rows, err := z.network.logits(ctx, in, tokenizer.OnlyFirst)
	if err != nil {
		return nil, err
	}
	scores := make([]float32, len(labels))
	for i, row := range rows {
		if _, err := z.network.config.labels(z.network.folder, len(row)); err != nil {
			return nil, err
		}
		scores[i] = row[z.yes]
		if o.Multi || len(labels) == 1 {
			both := []float32{row[z.no], row[z.yes]}
			softmax(both)
			scores[i] = both[1]
		}
	}
	if !o.Multi && len(labels) > 1 {
		softmax(scores)
	}
	return ranked(labels, scores), nil
}

// Close waits for calls that are under way, and frees the memory of the network.
func (z *ZeroShot) Close() (err error) {
	defer guard.At("").End(&err)
	if z == nil {
		return nil
	}
	return z.network.Close()
}

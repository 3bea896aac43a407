package text

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/guard"
)

// A TokenClassifier finds names and other parts of texts.
type TokenClassifier struct{ network *network }

// OpenTokenClassifier opens a network for the classification of tokens by its folder. Labels are
// id2label of config.json, such as O, B-PER and I-PER. The error is as for OpenEmbedder.
func OpenTokenClassifier(name string, o Options) (_ *TokenClassifier, err error) {
	defer guard.At(name).End(&err)
	want := wanted{names: []string{"logits"}, rank: 3, what: "a number for each label of a token"}
	n, err := openNetwork(name, o, want)
	if err != nil {
		return nil, err
	}
	return &TokenClassifier{n}, nil
}

// An Entity is a part of a text with a label.
type Entity struct {
	Label      string // without B- and I-, but for AggregateNone
	Score      float32
	Text       string
	Start, End int // bytes Start to End-1 of the text
}

// Aggregation says how labels of tokens become entities. All leave out the label O.
type Aggregation int

const (
	// AggregateSimple joins tokens in a row with one label, but for a B-, which begins an entity.
	AggregateSimple Aggregation = iota
	// AggregateNone returns an entity for each token.
	AggregateNone
	// AggregateFirst gives all tokens of a word the label of its first token, and joins words.
	AggregateFirst
	// AggregateMax gives all tokens of a word the label of the token with the greatest score, and
	// joins words.
	AggregateMax
)

// Find returns the entities of each text, in their order. The error is nacre.ErrOption for an unknown
// aggregation, and else as for Embedder.Embed.
func (c *TokenClassifier) Find(ctx context.Context, by Aggregation, texts ...string) (_ [][]Entity, err error) {
	defer guard.At("").End(&err)
	switch {
	case c == nil || !c.network.made():
		return nil, errNotOpen()
	case by < AggregateSimple || by > AggregateMax:
		return nil, errorf(nacre.ErrOption, "the aggregation is %d", by)
	}
	in := make([]tokenizer.Input, len(texts))
	for i, t := range texts {
		in[i].Text = t
	}
	list, err := c.network.encode(ctx, in, tokenizer.LongestFirst)
	if err != nil {
		return nil, c.network.named(err)
	}
	out := make([][]Entity, len(texts))
	err = c.network.run(ctx, list, func(i int, r result) error {
		names, err := c.network.config.labels(c.network.folder, r.columns)
		if err != nil {
			return err
		}
		out[i] = c.entities(texts[i], list[i], r, names, by)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// A labelled is a token or a word with the scores of all labels.
type labelled struct {
	start, end int
	scores     []float32
	inner      bool // it continues a word
	label      int
}

// entities returns the entities of a text.
func (c *TokenClassifier) entities(
	text string, e *tokenizer.Encoding, r result, names []string, by Aggregation,
) []Entity {
	var tokens []labelled
	for i, id := range e.IDs {
		if e.Specials[i] {
			continue
		}
		o := e.Offsets[i]
		t := labelled{start: o.Start, end: o.End, scores: r.row(i), inner: c.inner(text, id, o)}
		softmax(t.scores)
		t.label = best(t.scores)
		tokens = append(tokens, t)
	}
	if by == AggregateFirst || by == AggregateMax {
		tokens = words(tokens, by)
	}
	if by == AggregateNone {
		return found(text, tokens, names, func(_, _ labelled) bool { return false },
			func(name string) string { return name })
	}
	return found(text, tokens, names, func(last, next labelled) bool {
		_, a := tag(names[last.label])
		begins, b := tag(names[next.label])
		return a == b && !begins
	}, func(name string) string {
		if _, rest, ok := strings.Cut(name, "-"); ok {
			return rest
		}
		return name
	})
}

// inner reports whether a token continues a word: by the mark of such tokens in the vocabulary, or
// if no blank is before it.
func (c *TokenClassifier) inner(text string, id int32, o tokenizer.Offset) bool {
	t := c.network.tokens
	if unknown, ok := t.Unknown(); ok && id == unknown {
		return false
	}
	if t.InnerPrefix() != "" {
		token, _ := t.Token(id)
		return utf8.RuneCountInString(token) != utf8.RuneCountInString(text[o.Start:o.End])
	}
	if o.Start == 0 {
		return false
	}
	_, size := utf8.DecodeLastRuneInString(text[:o.Start])
	_, next := utf8.DecodeRuneInString(text[o.Start:])
	return !strings.Contains(text[o.Start-size:o.Start+next], " ")
}

// best returns the first of the greatest scores.
func best(scores []float32) int { return slices.Index(scores, slices.Max(scores)) }

// words joins the tokens of words.
func words(tokens []labelled, by Aggregation) []labelled {
	var list []labelled
	for _, t := range tokens {
		n := len(list)
		if n == 0 || !t.inner {
			list = append(list, t)
			continue
		}
		w := &list[n-1]
		w.end = t.end
		if by == AggregateMax && t.scores[t.label] > w.scores[w.label] {
			w.scores, w.label = t.scores, t.label
		}
	}
	return list
}

// tag returns whether a label begins an entity, and its name without B- and I-.
func tag(label string) (begins bool, name string) {
	switch {
	case strings.HasPrefix(label, "B-"):
		return true, label[2:]
	case strings.HasPrefix(label, "I-"):
		return false, label[2:]
	}
	return false, label
}

// found joins tokens to entities, whose score is the mean of the tokens'.
func found(
	text string, tokens []labelled, names []string, joins func(last, next labelled) bool, called func(string) string,
) []Entity {
	var list []Entity
	for from := 0; from < len(tokens); {
		to, sum := from+1, float64(tokens[from].scores[tokens[from].label])
		for to < len(tokens) && joins(tokens[to-1], tokens[to]) {
			sum += float64(tokens[to].scores[tokens[to].label])
			to++
		}
		start, end := tokens[from].start, tokens[to-1].end
		if name := called(names[tokens[from].label]); name != "O" {
			list = append(list, Entity{name, float32(sum / float64(to-from)), text[start:max(start, end)], start, end})
		}
		from = to
	}
	return list
}

// Close waits for calls that are under way, and frees the memory of the network.
func (c *TokenClassifier) Close() (err error) {
	defer guard.At("").End(&err)
	if c == nil {
		return nil
	}
	return c.network.Close()
}

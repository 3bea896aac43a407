package text

import (
	"context"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/generate/tokenizer"
	"github.com/nacre-ml/nacre/internal/guard"
)

// An Embedder turns texts into vectors that are near each other if the texts mean alike.
type Embedder struct {
	network *network
	modules []module
	prompt  string
	first   int // tokens of the prompt that pooling leaves out
}

// OpenEmbedder opens a model by its folder. With modules.json, the vectors are those of
// sentence-transformers: modules Transformer, Pooling, Dense and Normalize in the order of the file.
// Without it, a vector is the mean over the tokens.
//
// The error is nacre.ErrUnsupported if the network or a module is none that this package knows,
// nacre.ErrFormat if a file is damaged, nacre.ErrOption for an option out of range, fs.ErrNotExist if
// a file is missing, and else as for tokenizer.Load, nacre.Open and nacre.Model.NewSession.
func OpenEmbedder(name string, o Options) (_ *Embedder, err error) {
	defer guard.At(name).End(&err)
	root, err := openFolder(name)
	if err != nil {
		return nil, err
	}
	plan, err := readModules(root)
	if err != nil {
		return nil, err
	}
	f, err := root.below(plan.transformer)
	if err != nil {
		return nil, err
	}
	e := &Embedder{}
	if e.prompt, err = readPrompt(root, o.Prompt); err != nil {
		return nil, err
	}
	if e.modules, err = plan.open(); err != nil {
		return nil, err
	}
	if e.network, err = open(f, o, tokenRows); err != nil {
		return nil, err
	}
	if plan.withoutPrompt && e.prompt != "" {
		if e.first, err = e.promptTokens(); err != nil {
			_ = e.Close()
			return nil, err
		}
	}
	return e, nil
}

// tokenRows is the output of networks that give a vector for each token, or for each text.
var tokenRows = wanted{names: []string{"last_hidden_state", "token_embeddings", "sentence_embedding"},
	what: "a vector for each token", not: "logits"}

// promptTokens returns the number of the prompt's tokens at the beginning of a text.
func (e *Embedder) promptTokens() (int, error) {
	x, err := e.network.tokens.EncodeInput(context.Background(), tokenizer.Input{Text: e.prompt},
		tokenizer.EncodingOptions{Truncation: &tokenizer.Truncation{}, Padding: &tokenizer.Padding{}})
	if err != nil {
		return 0, e.network.named(err)
	}
	n := len(x.IDs)
	for n > 0 && x.Specials[n-1] {
		n--
	}
	return n, nil
}

// Embed returns a vector for each text. White space at the ends of texts does not count, as in
// sentence-transformers.
//
// The error is as for nacre.Session.Run; tokenizer.ErrLimit if texts take more than Options.Tokenizer
// allows; nacre.ErrShape for a text without tokens.
func (e *Embedder) Embed(ctx context.Context, texts ...string) (vectors [][]float32, err error) {
	defer guard.At("").End(&err)
	if e == nil || !e.network.made() {
		return nil, errNotOpen()
	}
	in := make([]tokenizer.Input, len(texts))
	for i, t := range texts {
		in[i].Text = e.prompt + e.network.cleaned(t)
	}
	list, err := e.network.encode(ctx, in, tokenizer.LongestFirst)
	if err != nil {
		return nil, e.network.named(err)
	}
	vectors = make([][]float32, len(texts))
	err = e.network.run(ctx, list, func(i int, r result) error {
		v, err := e.vector(r, len(list[i].IDs))
		vectors[i] = v
		return err
	})
	if err != nil {
		return nil, err
	}
	return vectors, nil
}

// cleaned returns a text as sentence-transformers gives it to the tokenizer.
func (n *network) cleaned(text string) string {
	text = strings.TrimSpace(text)
	if n.lower {
		text = strings.ToLower(text)
	}
	return text
}

// vector applies the modules to the result of a text.
func (e *Embedder) vector(r result, tokens int) ([]float32, error) {
	v := r.rows
	modules := e.modules
	if e.network.rank == 3 {
		pool, ok := modules[0].(*pooling)
		if !ok {
			return nil, errorf(nacre.ErrUnsupported, "%s: %s: the first module after the network must be a Pooling",
				e.network.folder.path, modulesFile)
		}
		if pool.width != 0 && pool.width != r.columns {
			return nil, errorf(nacre.ErrFormat,
				"%s: word_embedding_dimension is %d, and the network gives %d numbers for a token",
				pool.file, pool.width, r.columns)
		}
		if e.first >= tokens {
			return nil, errorf(nacre.ErrShape, "%s: the text has no tokens after the prompt's %d",
				e.network.folder.path, e.first)
		}
		v = pool.pool(r, e.first)
		modules = modules[1:]
	} else {
		return append([]float32(nil), v...), nil // the network has the modules
	}
	for _, m := range modules {
		var err error
		if v, err = m.apply(v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// Close waits for calls that are under way, and frees the memory of the network.
func (e *Embedder) Close() (err error) {
	defer guard.At("").End(&err)
	if e == nil {
		return nil
	}
	return e.network.Close()
}

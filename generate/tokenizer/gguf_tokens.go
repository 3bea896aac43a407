package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ggufTokenBytes is the memory that a token takes in all tables, beside its text and tries.
const ggufTokenBytes = 192

// vocabulary reads the tokens, their types and their scores.
func (g *gguf) vocabulary() {
	list, ok := g.texts("tokens")
	switch {
	case !ok:
		g.fail("%stokens is missing", ggufPrefix)
		return
	case len(list) == 0:
		g.fail("the vocabulary has no tokens")
		return
	}
	g.work.hold(ggufTokenBytes * len(list))
	g.tokens = make([]string, len(list))
	for i, text := range list {
		g.work.steps(1 + len(text))
		g.work.hold(len(text))
		switch {
		case len(text) > maxToken:
			g.fail("token %d has %d bytes: at most %d are allowed", i, len(text), maxToken)
		case !utf8.ValidString(text):
			g.fail("token %d is %.60q, which is not UTF-8", i, text)
		case text == "":
			text = fmt.Sprintf("[EMPTY_%d]", i)
		}
		if g.err != nil {
			return
		}
		g.tokens[i] = text
	}
	g.index()
	g.readTypes()
	g.readScores()
}

// index makes the vocabulary of the tokenizer.
func (g *gguf) index() {
	g.t.vocab = listVocabulary(g.tokens)
	if g.t.vocab.len() == len(g.tokens) {
		return
	}
	for i, text := range g.tokens {
		if id, _ := g.t.vocab.id(text); int(id) != i {
			g.fail("the tokens %d and %d are both %.60q", i, id, text)
			return
		}
	}
}

func (g *gguf) readTypes() {
	g.kinds = slices.Repeat([]uint8{pieceNormal}, len(g.tokens))
	at := g.forTokens("token_type", len(g.tokens), tensor.I32)
	for i := range g.kinds {
		if at == nil {
			return
		}
		switch kind := at(i); {
		case kind == 0: // no type
		case kind < pieceNormal, kind > pieceByte:
			g.fail("the type of token %d is %g: %d to %d are known", i, kind, pieceNormal, pieceByte)
			return
		default:
			g.kinds[i] = uint8(kind)
		}
	}
}

func (g *gguf) readScores() {
	at := g.forTokens("scores", len(g.tokens), tensor.F32, tensor.I32)
	if at == nil {
		return
	}
	g.scores = make([]float32, len(g.tokens))
	for i := range g.scores {
		if g.scores[i] = float32(at(i)); g.scores[i] != g.scores[i] {
			g.fail("the score of token %d, %.60q, is not a number", i, g.tokens[i])
			return
		}
	}
}

// scored reports whether there are scores. Their lack is an error.
func (g *gguf) scored() bool {
	if g.scores == nil {
		g.fail("%sscores is missing: this kind of tokenizer needs it", ggufPrefix)
	}
	return g.scores != nil
}

// setAdded makes tokens with a role in texts added tokens. Control and unknown tokens are special.
func (g *gguf) setAdded() {
	var list []AddedToken
	strip := g.stripsAfter()
	lstrip := g.stripsBefore()
	for i, text := range g.tokens {
		switch kind := g.kinds[i]; kind {
		case pieceUnknown, pieceControl, pieceUserDefined:
			list = append(list, AddedToken{
				ID: int64(i), Content: text, Special: kind != pieceUserDefined, RStrip: strip(text), LStrip: text == lstrip,
			})
		}
	}
	var err error
	if g.t.added, err = newAdded(g.work, g.t.vocab, list, nil); err != nil {
		g.fail("%w", err)
	}
}

// stripsAfter returns the tokens that take the white space after them: most of those of Phi-3,
// which only the model's name tells.
func (g *gguf) stripsAfter() func(token string) bool {
	name, _ := g.text("general.name")
	name = strings.ToLower(name)
	if !strings.Contains(name, "phi-3") && !strings.Contains(name, "phi3") {
		return func(string) bool { return false }
	}
	keep := []string{"<unk>", "<s>", "<|endoftext|>"}
	return func(token string) bool { return !slices.Contains(keep, token) }
}

// stripsBefore returns the token that takes the white space before it, or "". Encoders have it, and
// only their names tell.
func (g *gguf) stripsBefore() string {
	name, _ := g.text("general.name")
	pre, _ := g.text(ggufPrefix + "pre")
	architecture, _ := g.text("general.architecture")
	switch {
	case pre == "jina-v2-de", pre == "jina-v2-es", pre == "jina-v2-code",
		architecture == "nomic-bert-moe", architecture == "jina-bert-v3":
		return "<mask>"
	case strings.Contains(strings.ToLower(name), "modern-bert"):
		return "[MASK]"
	}
	return ""
}

// setAround sets the ids around a text. The beginning and the end of a kind's defaults are left out
// if they have no id.
func (g *gguf) setAround() {
	var p template
	add := func(to *[]int32, key, role string, otherwise bool) {
		asked, always := g.value(key) != nil, g.alwaysBOS && role == "bos"
		if !g.flag(key, otherwise) && !always {
			return
		}
		id, ok := g.roles[role]
		if !ok && asked {
			g.fail("%s%s is true, and the id of the token is missing", ggufPrefix, key)
		}
		if ok {
			*to = append(*to, id)
		}
	}
	if len(g.t.post) > 0 {
		return
	}
	add(&p.before, "add_bos_token", "bos", g.addBOS)
	add(&p.after, "add_eos_token", "eos", g.addEOS)
	g.t.post = []template{p}
}

// setSuppressed reads the ids that no text may have.
func (g *gguf) setSuppressed() {
	at, n := g.numbers("suppress_tokens", tensor.I32)
	g.work.hold(4 * n)
	for i := range n {
		if id := at(i); id >= 0 && int(id) < len(g.tokens) {
			g.t.suppressed = append(g.t.suppressed, int32(id))
			continue
		}
		g.warn("%ssuppress_tokens: the vocabulary has no id %g", ggufPrefix, at(i))
		if len(g.warnings) > maxWarnings {
			g.fail("%ssuppress_tokens has more than %d ids that the vocabulary lacks", ggufPrefix, maxWarnings)
			return
		}
	}
}

// maxWarnings bounds the warnings about one array.
const maxWarnings = 64

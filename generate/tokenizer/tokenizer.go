package tokenizer

import (
	"context"
	"errors"
	"sync"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/internal/guard"
)

// A Tokenizer holds a vocabulary and the steps between text and ids. It is safe for use by several
// goroutines.
type Tokenizer struct {
	vocab   *vocabulary
	added   added
	normal  normalizer   // nil: text stays as it is
	split   pretokenizer // nil: text is one word
	bytes   bool         // the model takes words through the table of bytes
	model   model
	post    []template
	decoder []decoder // nil: tokens are joined by blanks
	partial []decoder // for texts that may end inside a character; nil: decoder
	unknown func(id int32) (string, bool)
	chat    *Chat
	limit   Limit
	pool    sync.Pool // of *encoder
	placing sync.Pool // of *encoder that notes the places of tokens

	truncation *Truncation // of the file; nil: none
	padding    *Padding    // of the file; nil: none

	roles            map[string]int32
	ends, suppressed []int32
	warnings         []error
}

// made reports whether the tokenizer was made by a function of the package. Methods of other
// tokenizers, such as nil, find nothing.
func (t *Tokenizer) made() bool { return t != nil && t.vocab != nil }

var errNotRead = errors.New("tokenizer: Load or Read gave no such tokenizer")

// A model splits words into tokens.
type model interface {
	// tokens appends the ids of one word, which is not empty.
	tokens(s *scratch, ids []int32, word string) []int32
}

// Encode is EncodeContext without a context. If the text takes more than the limits allow, it
// returns nil.
func (t *Tokenizer) Encode(text string, special bool) []int32 {
	ids, _ := t.EncodeContext(context.Background(), text, special)
	return ids
}

// EncodeContext returns the ids of a text. With special, it adds the special tokens that the file
// puts around a text, such as the one for its beginning. Special tokens in the text itself are
// matched in either case. Bytes that are not UTF-8 count as U+FFFD. The error is ErrLimit or the
// context's.
func (t *Tokenizer) EncodeContext(ctx context.Context, text string, special bool) (ids []int32, err error) {
	defer guard.At("").End(&err)
	return t.encodeContext(ctx, text, special, false)
}

// EncodePlain is EncodePlainContext without a context. If the text takes more than the limits
// allow, it returns nil.
func (t *Tokenizer) EncodePlain(text string) []int32 {
	ids, _ := t.EncodePlainContext(context.Background(), text)
	return ids
}

// EncodePlainContext returns the ids of a text in which special tokens are text like any other, as
// a text of strangers needs. Added tokens that are not special are matched. The error is as for
// EncodeContext.
func (t *Tokenizer) EncodePlainContext(ctx context.Context, text string) (ids []int32, err error) {
	defer guard.At("").End(&err)
	return t.encodeContext(ctx, text, false, true)
}

func (t *Tokenizer) encodeContext(ctx context.Context, text string, special, plain bool) (ids []int32, err error) {
	defer caught(&err)
	if !t.made() {
		return nil, errNotRead
	}
	w := t.limit.work(ctx, encodeRate, len(text))
	check(ctx.Err())
	return t.encode(w, text, special, plain), nil
}

func (t *Tokenizer) encode(w *work, text string, special, plain bool) []int32 {
	w.steps(len(text))
	if !utf8.ValidString(text) {
		w.hold(3 * len(text))
		text = lossy([]byte(text))
	}
	ids := t.pooled(w, piece{text: text, first: true}, plain, nil)
	if special {
		for _, p := range t.post {
			ids = p.process(w, ids)
		}
	}
	w.countOpen()
	return ids
}

// pooled returns the ids of a text by an encoder of the pool.
func (t *Tokenizer) pooled(w *work, p piece, plain bool, spelled []int32) []int32 {
	e, _ := t.pool.Get().(*encoder)
	if e == nil {
		e = newEncoder(t)
	}
	e.spelled = spelled
	ids, _ := e.encode(w, p, plain)
	e.spelled = nil
	t.pool.Put(e)
	return ids
}

// Decode is DecodeContext without a context and without the text of special tokens. If the ids take
// more than the limits allow, it returns an empty text.
func (t *Tokenizer) Decode(ids []int32) string {
	text, _ := t.DecodeContext(context.Background(), ids, false)
	return text
}

// DecodeSpecial is Decode with the text of special tokens.
func (t *Tokenizer) DecodeSpecial(ids []int32) string {
	text, _ := t.DecodeContext(context.Background(), ids, true)
	return text
}

// DecodeContext returns the text of ids. With special, the text of special tokens is part of it.
// Ids that the vocabulary lacks are left out. The error is ErrLimit or the context's.
func (t *Tokenizer) DecodeContext(ctx context.Context, ids []int32, special bool) (text string, err error) {
	defer guard.At("").End(&err)
	defer caught(&err)
	if !t.made() {
		return "", errNotRead
	}
	w := t.limit.work(ctx, encodeRate, idBytes*len(ids))
	check(ctx.Err())
	d := t.decoding(w, t.decoder)
	for _, id := range ids {
		if token, ok := t.textOf(id, special); ok {
			d.push(token)
		}
	}
	text = d.end()
	w.countOpen()
	return text, nil
}

// textOf returns the token of an id, and whether it is part of a text.
func (t *Tokenizer) textOf(id int32, special bool) (string, bool) {
	token, ok := t.Token(id)
	if !ok && t.unknown != nil {
		token, ok = t.unknown(id)
	}
	return token, ok && (special || !t.added.special[token])
}

// Vocabulary returns the largest id plus one, added tokens included.
func (t *Tokenizer) Vocabulary() int {
	if !t.made() {
		return 0
	}
	return max(len(t.vocab.list), int(t.added.largest)+1)
}

// Token returns the token of an id as the vocabulary writes it.
func (t *Tokenizer) Token(id int32) (string, bool) {
	if !t.made() {
		return "", false
	}
	if token, ok := t.added.tokens[id]; ok {
		return token.Content, true
	}
	return t.vocab.token(id)
}

// ID returns the id of a token as the vocabulary writes it.
func (t *Tokenizer) ID(token string) (int32, bool) {
	if !t.made() {
		return 0, false
	}
	if id, ok := t.added.ids[token]; ok {
		return id, true
	}
	return t.vocab.id(token)
}

// Special reports whether an id has a special token.
func (t *Tokenizer) Special(id int32) bool {
	token, ok := t.Token(id)
	return ok && t.added.special[token]
}

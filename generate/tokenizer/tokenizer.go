package tokenizer

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// A Tokenizer holds a vocabulary and the steps between text and ids. It is safe for
// use by several goroutines.
type Tokenizer struct {
	vocab   *vocabulary
	added   added
	normal  normalizer   // nil: text stays as it is
	split   pretokenizer // nil: text is one word
	bytes   bool         // the model takes words through the table of bytes
	model   model
	post    []template
	decoder []decoder // nil: tokens are joined by blanks
	partial []decoder // the decoder of texts that may end inside a character; nil: decoder
	unknown func(id int32) (string, bool)
	chat    *Chat
	pool    sync.Pool // of *encoder
}

// made reports whether a function of the package made the tokenizer. Methods of others find
// nothing.
func (t *Tokenizer) made() bool { return t != nil && t.vocab != nil }

// A model splits words into tokens.
type model interface {
	// tokens appends the ids of one word, which is not empty.
	tokens(s *scratch, ids []int32, word string) []int32
}

// Encode returns the ids of a text. With special, the special tokens that the file puts
// around a text, such as that of its beginning, are among them. Special tokens that the
// text itself names are matched in either case. Bytes that are not UTF-8 count as
// U+FFFD.
func (t *Tokenizer) Encode(text string, special bool) []int32 {
	if !t.made() {
		return nil
	}
	if !utf8.ValidString(text) {
		text = lossy([]byte(text))
	}
	e, _ := t.pool.Get().(*encoder)
	if e == nil {
		e = newEncoder(t)
	}
	ids := e.encode(text)
	if special {
		for _, p := range t.post {
			ids = p.process(ids)
		}
	}
	t.pool.Put(e)
	return ids
}

// Decode returns the text of ids without that of special tokens. Ids that the
// vocabulary lacks are left out.
func (t *Tokenizer) Decode(ids []int32) string {
	if !t.made() {
		return ""
	}
	return t.decode(ids, true, t.decoder)
}

// DecodeSpecial returns the text of ids with that of special tokens.
func (t *Tokenizer) DecodeSpecial(ids []int32) string {
	if !t.made() {
		return ""
	}
	return t.decode(ids, false, t.decoder)
}

func (t *Tokenizer) decode(ids []int32, skip bool, by []decoder) string {
	tokens := make([]string, 0, len(ids))
	for _, id := range ids {
		token, ok := t.Token(id)
		if !ok && t.unknown != nil {
			token, ok = t.unknown(id)
		}
		if !ok || skip && t.added.special[token] {
			continue
		}
		tokens = append(tokens, token)
	}
	if by == nil {
		return strings.Join(tokens, " ")
	}
	for _, d := range by {
		tokens = d.decode(tokens)
	}
	return strings.Join(tokens, "")
}

// Vocabulary returns the count of ids, added tokens included: one more than the largest.
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

// Special reports whether an id is that of a special token.
func (t *Tokenizer) Special(id int32) bool {
	token, ok := t.Token(id)
	return ok && t.added.special[token]
}

package tokenizer

import "strings"

// Bounds of an encoder's memory: the words that it remembers, and the bytes of one of them.
const (
	maxCache  = 1 << 16
	maxCached = 64
)

// An encoder is the state of a call of Encode: the words met so far with their ids, and scratch for
// the model.
type encoder struct {
	t       *Tokenizer
	ids     []int32
	words   map[string]span
	arena   []int32
	scratch scratch
	work    *work
	emit    func(piece)
	plain   bool // special tokens in the text are text
}

// Memory of an id in a growing list, and the most memory that models take for a byte of a word.
const (
	growingID = 8
	wordRoom  = 128
)

type span struct{ from, to int32 }

// A piece is a part of a text. First is true if it begins where the text begins.
type piece struct {
	text  string
	first bool
}

func newEncoder(t *Tokenizer) *encoder {
	e := &encoder{t: t, words: map[string]span{}}
	e.emit = e.word
	return e
}

func (e *encoder) encode(w *work, text string, plain bool) []int32 {
	e.work, e.scratch.work, e.plain = w, w, plain
	w.hold(4 * (len(text)/3 + 8))
	e.ids = make([]int32, 0, len(text)/3+8)
	first := true
	e.t.added.raw.split(w, text, plain, func(part string, id int32) {
		if id >= 0 {
			e.add(id)
		} else {
			e.normalized(piece{part, first})
		}
		first = false
	})
	ids := e.ids
	e.ids, e.work, e.scratch.work = nil, nil, nil
	return ids
}

// add appends ids.
func (e *encoder) add(ids ...int32) {
	e.work.steps(1 + len(ids))
	e.work.hold(growingID * len(ids))
	e.ids = append(e.ids, ids...)
}

// normalized encodes a part of a text between added tokens.
func (e *encoder) normalized(p piece) {
	if e.t.normal != nil {
		p.first = p.first && !drops(e.work, e.t.normal, p.text)
		p.text = e.t.normal.normalize(e.work, p.text)
		defer e.work.release(len(p.text))
	}
	first := p.first
	e.t.added.normal.split(e.work, p.text, e.plain, func(part string, id int32) {
		switch {
		case id >= 0:
			e.add(id)
		case e.t.split == nil:
			e.word(piece{part, first})
		default:
			e.t.split.split(e.work, piece{part, first}, e.emit)
		}
		first = false
	})
}

// word appends the ids of one word.
func (e *encoder) word(p piece) {
	if p.text == "" {
		return
	}
	if s, ok := e.words[p.text]; ok {
		e.add(e.arena[s.from:s.to]...)
		return
	}
	word, from := p.text, len(e.ids)
	if len(word) > maxCached {
		room := wordRoom * len(word)
		e.work.hold(room)
		defer e.work.release(room)
	}
	e.work.steps(1 + len(word))
	if e.t.bytes {
		word = toByteCharacters(word)
	}
	e.ids = e.t.model.tokens(&e.scratch, e.ids, word)
	e.work.hold(growingID * (len(e.ids) - from))
	if len(p.text) > maxCached {
		return
	}
	if len(e.words) >= maxCache {
		clear(e.words)
		e.arena = e.arena[:0]
	}
	start := int32(len(e.arena))
	e.arena = append(e.arena, e.ids[from:]...)
	e.words[strings.Clone(p.text)] = span{start, int32(len(e.arena))}
}

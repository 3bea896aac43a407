package tokenizer

import (
	"slices"
	"strings"
	"unicode/utf8"
)

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
	places  []place // of ids, if scratch.placed
	words   map[string]span
	arena   []int32
	ranges  []span // of arena, if scratch.placed: the bytes of the word
	scratch scratch
	bytes   []int32 // of a word in the table of bytes: the byte that each byte is part of
	work    *work
	emit    func(piece)
	plain   bool    // special tokens in the text are text
	spelled []int32 // ends of the first characters of special tokens that are text, ascending
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
	at    []span // the bytes of the whole text that each byte comes from; nil: nobody asks
}

// cut returns bytes from..to of a piece.
func (p piece) cut(from, to int) piece {
	q := piece{text: p.text[from:to], first: p.first && from == 0}
	if p.at != nil {
		q.at = p.at[from:to]
	}
	return q
}

func newEncoder(t *Tokenizer) *encoder {
	e := &encoder{t: t, words: map[string]span{}}
	e.emit = e.word
	return e
}

// encode returns the ids of a text and, if the piece has places, the places of the ids.
func (e *encoder) encode(w *work, p piece, plain bool) ([]int32, []place) {
	e.work, e.scratch.work, e.plain = w, w, plain
	w.hold(4 * (len(p.text)/3 + 8))
	e.ids = make([]int32, 0, len(p.text)/3+8)
	e.t.added.raw.split(w, p.text, e.literal(p), func(from, to int, id int32) {
		if part := p.cut(from, to); id >= 0 {
			e.token(part, id)
		} else {
			e.normalized(part)
		}
	})
	ids, places := e.ids, e.places
	e.ids, e.places, e.work, e.scratch.work = nil, nil, nil, nil
	return ids, places
}

// literal returns a function that reports whether a special token that begins at a byte of a piece
// is text. If none is, it returns nil.
func (e *encoder) literal(p piece) func(at int) bool {
	switch {
	case e.plain:
		return func(int) bool { return true }
	case len(e.spelled) == 0:
		return nil
	}
	return func(at int) bool {
		_, found := slices.BinarySearch(e.spelled, p.firstEnd(at))
		return found
	}
}

// token appends the id of an added token.
func (e *encoder) token(p piece, id int32) {
	e.add(id)
	if e.scratch.placed {
		e.place(p, span{0, int32(len(p.text))})
		e.places[len(e.places)-1].added = p.text
	}
}

// place appends the place of a token that covers bytes of a piece.
func (e *encoder) place(p piece, at span) {
	e.work.hold(placeBytes)
	e.places = append(e.places, place{at: p.origin(int(at.from), int(at.to))})
}

// add appends ids.
func (e *encoder) add(ids ...int32) {
	e.work.steps(1 + len(ids))
	e.work.hold(growingID * len(ids))
	e.ids = append(e.ids, ids...)
}

// normalized encodes a part of a text between added tokens.
func (e *encoder) normalized(p piece) {
	if n := e.t.normal; n != nil {
		p.first = p.first && !drops(e.work, n, p.text)
		p = normalized(e.work, n, p)
		defer e.work.release(len(p.text) + spanBytes*len(p.at))
	}
	e.t.added.normal.split(e.work, p.text, e.literal(p), func(from, to int, id int32) {
		part := p.cut(from, to)
		switch {
		case id >= 0:
			e.token(part, id)
		case e.t.split == nil:
			e.word(part)
		default:
			e.t.split.split(e.work, part, e.emit)
		}
	})
}

// word appends the ids of one word.
func (e *encoder) word(p piece) {
	if p.text == "" {
		return
	}
	if s, ok := e.words[p.text]; ok {
		e.add(e.arena[s.from:s.to]...)
		if e.scratch.placed {
			for _, at := range e.ranges[s.from:s.to] {
				e.place(p, at)
			}
		}
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
	e.scratch.places = e.scratch.places[:0]
	e.ids = e.t.model.tokens(&e.scratch, e.ids, word)
	e.work.hold(growingID * (len(e.ids) - from))
	if e.scratch.placed {
		e.toBytes(p.text, word)
		for _, at := range e.scratch.places {
			e.place(p, at)
		}
	}
	if len(p.text) > maxCached {
		return
	}
	if len(e.words) >= maxCache {
		clear(e.words)
		e.arena, e.ranges = e.arena[:0], e.ranges[:0]
	}
	start := int32(len(e.arena))
	e.arena = append(e.arena, e.ids[from:]...)
	e.ranges = append(e.ranges, e.scratch.places...)
	e.words[strings.Clone(p.text)] = span{start, int32(len(e.arena))}
}

// toBytes turns places in a word of characters for bytes to places in the bytes.
func (e *encoder) toBytes(text, word string) {
	if len(text) == len(word) {
		return
	}
	e.bytes = e.bytes[:0]
	n := int32(0)
	for i := range len(word) {
		if i > 0 && utf8.RuneStart(word[i]) {
			n++
		}
		e.bytes = append(e.bytes, n)
	}
	e.bytes = append(e.bytes, n+1)
	for i, at := range e.scratch.places {
		last := int32(len(word))
		e.scratch.places[i] = span{e.bytes[min(at.from, last)], e.bytes[min(at.to, last)]}
	}
}

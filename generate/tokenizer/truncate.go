package tokenizer

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// truncated returns the windows of each text, the first of which is the truncated text. Without all,
// it returns no others.
func truncated(w *work, texts []placedText, slots []slot, t *Truncation, all bool) ([][]placedText, error) {
	windows := make([][]placedText, len(texts))
	sizes := make([]int, len(texts))
	total := 0
	for i, x := range texts {
		windows[i] = texts[i : i+1]
		sizes[i] = len(x.ids)
		total += sizes[i]
	}
	if t == nil || t.Max == 0 {
		return windows, nil
	}
	room := t.Max
	for _, s := range slots {
		room -= len(s.ids)
	}
	if room < 0 || t.Max < 0 || t.Stride < 0 {
		return nil, fmt.Errorf("tokenizer: truncation to %d tokens with a stride of %d: %d tokens around the texts need more",
			t.Max, t.Stride, t.Max-room)
	}
	if total <= room {
		return windows, nil
	}
	if err := t.share(sizes, total, room); err != nil {
		return nil, err
	}
	for i, x := range texts {
		var err error
		if windows[i], err = x.windows(w, sizes[i], t, all); err != nil {
			return nil, err
		}
	}
	return windows, nil
}

// share sets the sizes of truncated texts. Total is their sum.
func (t *Truncation) share(sizes []int, total, room int) error {
	at := 0
	switch {
	case room == 0:
		clear(sizes)
		return nil
	case t.Strategy == OnlySecond && len(sizes) == 1:
		return fmt.Errorf("tokenizer: truncation of the second text, and there is one text")
	case t.Strategy == OnlySecond:
		at = 1
	case t.Strategy == OnlyFirst:
	case t.Strategy != LongestFirst:
		return fmt.Errorf("tokenizer: the strategy %d of truncation is not known", t.Strategy)
	case len(sizes) == 1:
		sizes[0] = room
		return nil
	default:
		short, long := &sizes[0], &sizes[1]
		if *short > *long {
			short, long = long, short
		}
		if *short > room {
			*long = *short
		} else {
			*long = max(*short, room-*short)
		}
		if *short+*long > room {
			*short = room / 2
			*long = room - room/2
		}
		return nil
	}
	if over := total - room; sizes[at] > over {
		sizes[at] -= over
		return nil
	}
	return fmt.Errorf("tokenizer: truncation to %d tokens needs %d tokens less, and the text to truncate has %d",
		t.Max, total-room, sizes[at])
}

// windows returns runs of at most size tokens, or without all the first run. Each shares Stride tokens with the one before it.
func (x placedText) windows(w *work, size int, t *Truncation, all bool) ([]placedText, error) {
	n := len(x.ids)
	switch {
	case size >= n:
		return []placedText{x}, nil
	case size == 0 && all:
		rest := x
		rest.rest = true
		return []placedText{x.cut(0, 0), rest}, nil
	case size == 0:
		return []placedText{x.cut(0, 0)}, nil
	case t.Stride >= size:
		return nil, fmt.Errorf("tokenizer: truncation: a stride of %d tokens, and a text has %d", t.Stride, size)
	}
	var list []placedText
	for at := 0; ; at += size - t.Stride {
		w.steps(1)
		w.hold(2 * placeBytes)
		if t.Left {
			list = append(list, x.cut(max(0, n-at-size), n-at))
		} else {
			list = append(list, x.cut(at, min(at+size, n)))
		}
		list[len(list)-1].rest = at > 0
		if !all || at+size >= n {
			return list, nil
		}
	}
}

// cut returns tokens from..to.
func (x placedText) cut(from, to int) placedText {
	x.ids, x.places = x.ids[from:to], x.places[from:to]
	return x
}

// offsets returns the offsets of tokens.
func (t *Tokenizer) offsets(x placedText) []Offset {
	list := make([]Offset, len(x.places))
	for i, p := range x.places {
		list[i] = Offset{int(p.at.from), int(p.at.to)}
	}
	for _, p := range t.post {
		if p.trim {
			for i := range list {
				t.trim(x, list, i, p.blank)
			}
		}
	}
	return list
}

// trim takes the blanks at the ends of token i from its offset. With blank, the first token of a
// text has one that the text lacks.
func (t *Tokenizer) trim(x placedText, list []Offset, i int, blank bool) {
	text := x.places[i].added
	if text == "" {
		text, _ = t.vocab.token(x.ids[i])
	}
	o := &list[i]
	leading, trailing := 0, 0
	for _, r := range text {
		if !isBlank(r) {
			break
		}
		leading++
	}
	for rest := text; rest != ""; trailing++ {
		r, size := utf8.DecodeLastRuneInString(rest)
		if !isBlank(r) {
			break
		}
		rest = rest[:len(rest)-size]
	}
	if blank && leading > 0 && (i == 0 || o.Start == 0) {
		leading--
	}
	for ; leading > 0 && o.Start < o.End; leading-- {
		_, size := utf8.DecodeRuneInString(x.text[o.Start:o.End])
		o.Start += size
	}
	if trailing > o.End || trailing > utf8.RuneCountInString(x.text[:min(o.End, utf8.UTFMax*trailing)]) {
		return
	}
	for ; trailing > 0 && o.Start < o.End; trailing-- {
		_, size := utf8.DecodeLastRuneInString(x.text[o.Start:o.End])
		o.End -= size
	}
}

// isBlank reports whether a character of a token is white space, or stands for the byte of a blank.
func isBlank(r rune) bool { return r == byteCharacter[' '] || unicode.IsSpace(r) }

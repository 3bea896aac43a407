package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// A decoder is a step from tokens to text.
type decoder interface {
	// tokens returns a stage that takes the tokens of a text one by one.
	tokens(w *work, next stage) stage
	// parts returns a stage that takes the only token of a text in parts.
	parts(w *work, next stage) stage
}

// A stage takes texts, changes them and gives the texts to the next stage.
type stage interface {
	push(text string)
	// end is called once after the last text.
	end()
}

// A fuser is a decoder that joins all tokens to one.
type fuser interface{ fuses() }

// A decoding is the stages of one text. The text grows with each token.
type decoding struct {
	first stage
	last  *collected
}

// decoding returns the stages of decoders. Without decoders, blanks join the tokens.
func (t *Tokenizer) decoding(w *work, by []decoder) *decoding {
	d := &decoding{last: &collected{work: w}}
	if by == nil {
		d.first = &spaced{next: d.last}
		return d
	}
	fused := len(by)
	for i := len(by) - 1; i >= 0; i-- {
		if _, ok := by[i].(fuser); ok {
			fused = i
		}
	}
	d.first = d.last
	for i := len(by) - 1; i >= 0; i-- {
		if i > fused {
			d.first = by[i].parts(w, d.first)
		} else {
			d.first = by[i].tokens(w, d.first)
		}
	}
	return d
}

func (d *decoding) push(token string) {
	d.last.work.steps(1 + len(token))
	d.first.push(token)
}

// end ends the text, and returns the part of it not yet taken.
func (d *decoding) end() string {
	d.first.end()
	return d.last.take()
}

// take returns the text not yet taken, up to the last whole character.
func (d *decoding) take() string {
	text := d.last.take()
	n := whole(text)
	if n < len(text) {
		d.last.push(text[n:])
	}
	return text[:n]
}

// collected is the last stage. It keeps the text.
type collected struct {
	work *work
	text strings.Builder
	room int
}

func (c *collected) push(text string) {
	c.work.steps(1 + len(text)/16)
	if need := c.text.Len() + len(text); need > c.room {
		more := need - c.room + c.room/2
		c.work.hold(more)
		c.room += more
	}
	c.text.WriteString(text)
}

func (*collected) end() {}

func (c *collected) take() string {
	text := c.text.String()
	c.work.release(c.room)
	c.text.Reset()
	c.room = 0
	return text
}

// spaced puts a blank between tokens.
type spaced struct {
	next stage
	any  bool
}

func (s *spaced) push(text string) {
	if s.any {
		s.next.push(" ")
	}
	s.any = true
	s.next.push(text)
}

func (s *spaced) end() { s.next.end() }

// each is a stage that changes each token by itself. At is the place of the token.
type each struct {
	work *work
	next stage
	at   int
	by   func(at int, token string) string
}

func (e *each) push(token string) {
	e.work.steps(1 + len(token))
	e.next.push(e.by(e.at, token))
	e.at++
}

func (e *each) end() { e.next.end() }

// gathered is a stage that collects all parts of a token, and changes the token at the end.
type gathered struct {
	next  stage
	parts collected
	by    func(token string) string
}

func gather(w *work, next stage, by func(token string) string) stage {
	return &gathered{next, collected{work: w}, by}
}

func (g *gathered) push(text string) { g.parts.push(text) }

func (g *gathered) end() {
	g.next.push(g.by(g.parts.take()))
	g.next.end()
}

// replaced is a stage that replaces a text in a token that comes in parts. It keeps the longest end
// that may begin another match.
type replaced struct {
	work     *work
	next     stage
	from, to string
	falls    []int // for each n, the longest prefix of from that also ends its first n bytes
	met      int   // bytes of from that came last and are kept
}

// replace returns a stage that replaces from by to. An empty from changes nothing.
func replace(w *work, next stage, from, to string) stage {
	switch {
	case from == "":
		return next
	case len(from) > maxToken:
		return gather(w, next, func(text string) string { return replaceString{from, to}.normalize(w, text) })
	}
	r := &replaced{work: w, next: next, from: from, to: to, falls: make([]int, len(from)+1)}
	for n, k := 1, 0; n < len(from); n++ {
		for k > 0 && from[n] != from[k] {
			k = r.falls[k]
		}
		if from[n] == from[k] {
			k++
		}
		r.falls[n+1] = k
	}
	return r
}

func (r *replaced) push(text string) {
	text = r.from[:r.met] + text
	r.work.steps(len(text))
	out, done := r.work.builder(0), 0
	for i := r.met; i < len(text); i++ {
		for r.met > 0 && text[i] != r.from[r.met] {
			r.met = r.falls[r.met]
		}
		if text[i] == r.from[r.met] {
			r.met++
		}
		if r.met == len(r.from) {
			out.WriteString(text[done : i+1-r.met])
			out.WriteString(r.to)
			r.met, done = 0, i+1
		}
	}
	out.WriteString(text[done : len(text)-r.met])
	r.give(out)
}

func (r *replaced) give(out *builder) {
	if text := out.String(); text != "" {
		r.next.push(text)
		r.work.release(len(text))
	}
}

func (r *replaced) end() {
	if r.met > 0 {
		r.next.push(r.from[:r.met])
		r.met = 0
	}
	r.next.end()
}

// whole returns the length of a text without an unfinished character at its end.
func whole(text string) int {
	for i := max(0, len(text)-utf8.UTFMax+1); i < len(text); i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRuneInString(text[i:]) {
			return i
		}
	}
	return len(text)
}

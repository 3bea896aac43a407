package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// groupings are the patterns that group the digits of a number from its end, by their text in
// files. They look ahead without a bound, which regular expressions of Go cannot.
var groupings = map[string]threes{
	digitsToBoundary: {unicode.IsDigit, true},
	numbersToEnd:     {unicode.IsNumber, false},
}

const (
	digitsToBoundary = `\d{1,3}(?=(?:\d{3})*\b)`
	numbersToEnd     = `\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|$))`
)

// threes is a cutter that matches runs of digits in groups of three, of which the first may have
// one or two. With bounded, only runs that end a word are matched.
type threes struct {
	digit   func(r rune) bool
	bounded bool
}

// next uses the fields of a cursor for the run of the last call: to is its end, and from the number
// of its digits that are left.
func (d threes) next(c *cursor, at int) (bool, int) {
	if at >= c.to {
		start, ok := d.find(c, at)
		if !ok || start > at {
			return false, start
		}
	}
	n := c.from % 3
	if n == 0 {
		n = 3
	}
	c.from -= n
	for ; n > 0; n-- {
		_, size := utf8.DecodeRuneInString(c.text[at:])
		at += size
	}
	return true, at
}

// find returns the beginning of the next run from a place on, and notes its end and its digits. If
// there is none, ok is false and the beginning is the end of the text.
func (d threes) find(c *cursor, at int) (start int, ok bool) {
	for at < len(c.text) {
		r, size := utf8.DecodeRuneInString(c.text[at:])
		if !d.digit(r) {
			at += size
			continue
		}
		end, n := at, 0
		for end < len(c.text) && d.digit(r) {
			end, n = end+size, n+1
			r, size = utf8.DecodeRuneInString(c.text[end:])
		}
		c.work.steps(end - at)
		if !d.bounded || end == len(c.text) || !isWord(r) {
			c.from, c.to = n, end
			return at, true
		}
		at = end
	}
	return at, false
}

package loom

import (
	"github.com/nacre-ml/nacre/internal/mapped"
)

// leastCut is how many characters a text has at least that elided leaves out.
const leastCut = 4 << 10

// cut is characters that are left out: n before that index of what is left.
type cut struct{ at, n int }

type cuts []cut

// original returns the index that a byte of what is left had.
func (c cuts) original(i int) int {
	at := i
	for _, cut := range c {
		if cut.at <= i {
			at += cut.n
		}
	}
	return at
}

// elided returns JSON text without the characters of its long strings, where those are
// most of it and such as any string may have. It is malformed if and only if the text is.
func elided(text []byte) ([]byte, cuts) {
	var list cuts
	total := 0
	for i := 0; i < len(text); {
		at := indexByte(text, i, '"')
		if at < 0 {
			break
		}
		i = skipString(text, at)
		if inner := i - at - 2; inner >= leastCut && text[i-1] == '"' && plainText(text[at+1:i-1]) {
			list = append(list, cut{at + 1 - total, inner})
			total += inner
		}
	}
	if total <= len(text)/2 {
		return text, nil
	}
	short := make([]byte, 0, len(text)-total)
	from := 0
	for _, c := range list {
		to := from + c.at - len(short)
		short = append(short, text[from:to]...)
		from = to + c.n
	}
	return append(short, text[from:]...), list
}

// plainText reports whether the characters of a string stand for themselves.
func plainText(b []byte) bool {
	for ; len(b) > 0; b = b[min(chunk, len(b)):] {
		part := b[:min(chunk, len(b))]
		for _, c := range part {
			if c < ' ' || c == '\\' {
				return false
			}
		}
		mapped.Release(part)
	}
	return true
}

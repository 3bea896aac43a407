package tokenizer

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// The bits of a character's class. Characters that are neither letter, number nor space are
// punctuation to the patterns. Marks among them may also be part of cased words.
const (
	letter  = 1 << iota
	number  // \p{N}
	space   // \s
	newline // \r and \n
	upper   // \p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}
	lower   // \p{Ll}\p{Lm}\p{Lo}\p{M}
)

// classes is the table of the classes of all characters.
var classes = sync.OnceValue(func() []uint8 {
	table := make([]uint8, unicode.MaxRune+1)
	set := func(t *unicode.RangeTable, bits uint8) {
		for _, r := range t.R16 {
			for c := uint32(r.Lo); c <= uint32(r.Hi); c += uint32(r.Stride) {
				table[c] |= bits
			}
		}
		for _, r := range t.R32 {
			for c := r.Lo; c <= r.Hi; c += r.Stride {
				table[c] |= bits
			}
		}
	}
	set(unicode.L, letter)
	set(unicode.N, number)
	set(unicode.White_Space, space)
	for _, t := range []*unicode.RangeTable{unicode.Lm, unicode.Lo, unicode.M} {
		set(t, upper|lower)
	}
	set(unicode.Lu, upper)
	set(unicode.Lt, upper)
	set(unicode.Ll, lower)
	table['\r'] |= newline
	table['\n'] |= newline
	return table
})

// A scanner is a cutter for the usual patterns of byte-level vocabularies. They match every
// character, so each part is a match. A pattern is a list of alternatives, and the first that
// matches counts:
//
//	contractions    's|'t|'re|'ve|'m|'ll|'d
//	letters          ?\p{L}+          or [^\r\n\p{L}\p{N}]?\p{L}+, or words by case
//	numbers          ?\p{N}+          or \p{N}{1,3}, or \p{N}
//	punctuation      ?[^\s\p{L}\p{N}]+ and line ends after it
//	lines           \s*[\r\n]+
//	white space     \s+(?!\S)|\s+
type scanner struct {
	contractions bool
	fold         bool // contractions in either case
	lead         bool // any one character before letters that is not a line end
	cased        bool // words by case, contractions after them
	digits       int  // the most in a run; 0: no bound, and a blank before it
	slash        bool // slashes among the line ends after punctuation
	lines        bool
	whole        bool // white space before a word stays together
	classes      []uint8
}

func (s *scanner) class(text string, at int) (uint8, int) {
	if at >= len(text) {
		return 0, 0
	}
	if c := text[at]; c < utf8.RuneSelf {
		return s.classes[c], 1
	}
	r, size := utf8.DecodeRuneInString(text[at:])
	return s.classes[r], size
}

// while returns the end of the run of characters that have one of the bits.
func (s *scanner) while(text string, at int, bits uint8) int {
	for {
		c, size := s.class(text, at)
		if size == 0 || c&bits == 0 {
			return at
		}
		at += size
	}
}

func (s *scanner) next(cur *cursor, at int) (bool, int) {
	text := cur.text
	if s.contractions && !s.cased {
		if n := s.contraction(text[at:]); n > 0 {
			return true, at + n
		}
	}
	c, size := s.class(text, at)
	if end := s.word(text, at, c, size); end > 0 {
		return true, end
	}
	if end := s.numbers(text, at, c, size); end > 0 {
		return true, end
	}
	if end := s.punctuation(text, at, c, size); end > 0 {
		return true, end
	}
	return true, s.spaces(text, at)
}

// word returns the end of the letters at a place, or 0.
func (s *scanner) word(text string, at int, c uint8, size int) int {
	if s.cased {
		return s.casedWord(text, at, c, size)
	}
	if c&letter != 0 {
		return s.while(text, at+size, letter)
	}
	if text[at] == ' ' || s.lead && c&(newline|number) == 0 {
		if c, n := s.class(text, at+size); c&letter != 0 {
			return s.while(text, at+size+n, letter)
		}
	}
	return 0
}

// casedWord returns the end of a word of capitals and then small letters, or 0.
func (s *scanner) casedWord(text string, at int, c uint8, size int) int {
	starts := [2]int{at, at}
	if c&(newline|letter|number) == 0 {
		starts[0] += size
	}
	for _, from := range starts {
		capitals := s.while(text, from, upper)
		if end := s.while(text, capitals, lower); end > capitals {
			return s.ending(text, end)
		}
		for i := capitals; i > from; {
			r, n := utf8.DecodeLastRuneInString(text[:i])
			if s.classes[r]&lower != 0 {
				return s.ending(text, i)
			}
			i -= n
		}
	}
	for _, from := range starts {
		if end := s.while(text, from, upper); end > from {
			return s.ending(text, end)
		}
	}
	return 0
}

// ending returns the end of a word with its contraction.
func (s *scanner) ending(text string, end int) int {
	if s.contractions {
		end += s.contraction(text[end:])
	}
	return end
}

// numbers returns the end of the digits at a place, or 0.
func (s *scanner) numbers(text string, at int, c uint8, size int) int {
	if s.digits == 0 {
		if text[at] == ' ' {
			at += size
			c, size = s.class(text, at)
		}
		if c&number == 0 {
			return 0
		}
		return s.while(text, at+size, number)
	}
	end := 0
	for n := 0; n < s.digits && c&number != 0; n++ {
		at += size
		end = at
		c, size = s.class(text, at)
	}
	return end
}

// punctuation returns the end of the characters of no class at a place, or 0.
func (s *scanner) punctuation(text string, at int, c uint8, size int) int {
	if text[at] == ' ' {
		at += size
		c, size = s.class(text, at)
	}
	if size == 0 || c&(letter|number|space) != 0 {
		return 0
	}
	for size > 0 && c&(letter|number|space) == 0 {
		at += size
		c, size = s.class(text, at)
	}
	if s.lines {
		for at < len(text) && (text[at] == '\r' || text[at] == '\n' || s.slash && text[at] == '/') {
			at++
		}
	}
	return at
}

// spaces returns the end of the white space at a place. With lines, it is after the last line end
// of the run, if there is one. Else it is before the blank that belongs to the next word.
func (s *scanner) spaces(text string, at int) int {
	line, last, end := 0, at, at
	for {
		c, size := s.class(text, end)
		if size == 0 || c&space == 0 {
			break
		}
		last = end
		end += size
		if c&newline != 0 {
			line = end
		}
	}
	switch {
	case s.lines && line > 0:
		return line
	case end == len(text) || s.whole || last == at:
		return end
	}
	return last
}

// contraction returns the length of the contraction at the beginning of a text, or 0.
func (s *scanner) contraction(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	a, b := text[1], byte(0)
	if len(text) > 2 {
		b = text[2]
	}
	if s.fold {
		if a == "ſ"[0] && b == "ſ"[1] {
			return 3
		}
		a, b = a|0x20, b|0x20
	}
	switch {
	case a == 's', a == 't', a == 'm', a == 'd':
		return 2
	case (a == 'r' || a == 'v') && b == 'e', a == 'l' && b == 'l':
		return 3
	}
	return 0
}

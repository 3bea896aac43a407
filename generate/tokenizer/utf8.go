package tokenizer

import (
	"strings"
	"unicode/utf8"
)

// lossy returns bytes as text. Each longest prefix of a character without its end becomes one
// U+FFFD, as Unicode recommends.
func lossy(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			s.WriteRune(utf8.RuneError)
			b = b[begun(b):]
			continue
		}
		s.Write(b[:size])
		b = b[size:]
	}
	return s.String()
}

// begun returns how many of the first bytes begin a character. The bytes must not begin with a
// whole one. The result is at least 1.
func begun(b []byte) int {
	low, high, need := byte(0x80), byte(0xBF), 0
	switch c := b[0]; {
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c == 0xE0:
		low, need = 0xA0, 2
	case c == 0xED:
		high, need = 0x9F, 2
	case c >= 0xE1 && c <= 0xEF:
		need = 2
	case c == 0xF0:
		low, need = 0x90, 3
	case c == 0xF4:
		high, need = 0x8F, 3
	case c >= 0xF1 && c <= 0xF3:
		need = 3
	}
	n := 1
	for n <= need && n < len(b) && b[n] >= low && b[n] <= high {
		low, high = 0x80, 0xBF
		n++
	}
	return n
}

package hnw

import (
	"fmt"
	"strconv"
)

// appendValue appends canonical JSON.
func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case *int64:
		return strconv.AppendInt(b, *v, 10)
	case *string:
		return appendText(b, *v)
	case *digest:
		return appendText(b, v.String())
	case *[]int64:
		b = append(b, '[')
		for i := range *v {
			b = appendValue(separated(b, i), &(*v)[i])
		}
		return append(b, ']')
	case *[]entry:
		b = append(b, '[')
		for i := range *v {
			b = appendValue(separated(b, i), (*v)[i].fields())
		}
		return append(b, ']')
	case []field:
		b = append(b, '{')
		for i, f := range v {
			b = append(appendText(separated(b, i), f.key), ':')
			b = appendValue(b, f.value)
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("hnw: a manifest has no %T", value))
}

func separated(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return b
}

// short has the letter after the backslash for each character with a short escape.
var short = map[byte]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case short[c] != 0:
			b = append(b, '\\', short[c])
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

package oinf

import (
	"fmt"
	"math"
	"strings"
)

// holds reports whether the format can hold a name or text.
func holds(s string) bool {
	for i := range len(s) {
		if !plain(s[i]) {
			return false
		}
	}
	return s != "" && uint64(len(s)) <= math.MaxUint32
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_' || c == '-'
}

// escape returns a name that the format can hold. Every byte that it cannot hold becomes _x and two
// hexadecimal digits in lower case. An underscore at the start of such an escape in s is escaped
// too. The empty name becomes _x. Different names give different results, but a result may equal
// another name that needs no escape.
func escape(s string) string {
	if s == "" {
		return "_x"
	}
	var b strings.Builder
	for i := range len(s) {
		if !plain(s[i]) || escaped(s[i:]) {
			fmt.Fprintf(&b, "_x%02x", s[i])
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// escaped reports whether s begins like an escape.
func escaped(s string) bool {
	return len(s) >= 4 && s[:2] == "_x" && digit(s[2]) && digit(s[3])
}

func digit(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

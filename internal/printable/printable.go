// Package printable prints text chosen by a file. Names, documents and messages may contain control
// sequences that steer a terminal, line breaks that forge a line, and marks that reverse the order
// of letters. This package prints them as visible escapes.
package printable

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns s on one line. It replaces control characters, invisible format characters (such as
// the marks of bidirectional text), line and paragraph separators, and bytes that are not UTF-8 by
// escapes of Go's string literals. It keeps other characters, including spaces of every width and
// the joiners of scripts and emoji.
func Text(s string) string {
	if clean(s) {
		return s
	}
	b := make([]byte, 0, len(s)+16)
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		b = appendText(b, r, s[:n])
		s = s[n:]
	}
	return string(b)
}

// Cut returns s with at most about most bytes. It replaces the middle of a longer text by the
// number of bytes left out.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	from, to := most*3/4, len(s)-most/4
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	return fmt.Sprintf("%s ... (%d bytes) ... %s", s[:from], to-from, s[to:])
}

// maxItems is the most items of a list that List shows.
const maxItems = 16

// List returns a list of n items like [a,b,c]. Of a longer list it shows the first items and their
// number, [a,b,c,... 1000 in all].
func List(n int, item func(i int) string) string {
	list := make([]string, min(n, maxItems), maxItems+1)
	for i := range list {
		list[i] = item(i)
	}
	if n > maxItems {
		list = append(list, fmt.Sprintf("... %d in all", n))
	}
	return "[" + strings.Join(list, ",") + "]"
}

func clean(s string) bool {
	for i, r := range s {
		if escaped(r) || r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			return false
		}
	}
	return true
}

// appendText appends rune r, encoded as s, in the form of Text.
func appendText(b []byte, r rune, s string) []byte {
	switch {
	case r == utf8.RuneError && len(s) == 1:
		return fmt.Appendf(b, `\x%02x`, s[0])
	case escaped(r):
		return append(b, strings.Trim(strconv.QuoteRune(r), "'")...)
	}
	return append(b, s...)
}

// Joiners shape the letters and emoji next to them.
const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

func escaped(r rune) bool {
	switch {
	case ' ' <= r && r < 0x7f || r == zeroWidthNonJoiner || r == zeroWidthJoiner:
		return false
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r) // such a mark carries digits
	}
	return false
}

// Error returns the message of an error in the form of Text. Messages joined by errors.Join keep
// their lines.
func Error(err error) string { return message(err, err.Error()) }

// message returns the printable form of text, the message of err.
func message(err error, text string) string {
	var within []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		within = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		within = e.Unwrap()
	}
	lines := make([]string, 0, len(within))
	longest := ""
	var cause error
	for _, e := range within {
		if e == nil {
			continue
		}
		m := e.Error()
		lines = append(lines, m)
		if len(m) > len(longest) && strings.Contains(text, m) {
			cause, longest = e, m
		}
	}
	switch {
	case len(lines) > 1 && len(lines) == len(within) && strings.Join(lines, "\n") == text:
		for i, e := range within {
			lines[i] = message(e, lines[i])
		}
		return strings.Join(lines, "\n")
	case cause != nil:
		before, after, _ := strings.Cut(text, longest)
		return Text(before) + message(cause, longest) + Text(after)
	}
	return Text(text)
}

// shown formats a value in the form of Text, an error in the form of Error.
type shown struct{ v any }

func (s shown) Format(f fmt.State, verb rune) {
	if err, ok := s.v.(error); ok && (verb == 'v' || verb == 's') {
		_, _ = io.WriteString(f, Error(err)) // fmt buffers the text in memory
		return
	}
	_, _ = io.WriteString(f, Text(fmt.Sprintf(fmt.FormatString(f, verb), s.v)))
}

// safe wraps arguments, so that they format in the form of Text. Numbers, which may be widths,
// stay.
func safe(args []any) {
	for i, x := range args {
		switch x.(type) {
		case int, float64, bool, shown:
		default:
			args[i] = shown{x}
		}
	}
}

// Fprintf is fmt.Fprintf with arguments in the form of Text. It overwrites args.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	safe(args)
	return fmt.Fprintf(w, format, args...)
}

// Fprintln is fmt.Fprintln with arguments in the form of Text. It overwrites args.
func Fprintln(w io.Writer, args ...any) (int, error) {
	safe(args)
	return fmt.Fprintln(w, args...)
}

// Writer writes text to W in the form of Text, but keeps tabs and line ends. A character may be
// split over several writes.
type Writer struct {
	W io.Writer
	// JSON selects the escapes of JSON strings. All characters to escape must then be within
	// strings.
	JSON bool

	part []byte // start of a split character
}

// Write writes b. The error is W's. It counts b as written completely or not at all.
func (w *Writer) Write(b []byte) (int, error) {
	text := b
	if len(w.part) > 0 {
		text = append(w.part, b...)
	}
	out := make([]byte, 0, len(text)+16)
	for len(text) > 0 && utf8.FullRune(text) {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\t':
			out = append(out, text[0])
		case w.JSON && escaped(r):
			out = appendJSON(out, r)
		default:
			out = appendText(out, r, string(text[:n]))
		}
		text = text[n:]
	}
	w.part = append([]byte(nil), text...)
	if len(out) > 0 {
		if _, err := w.W.Write(out); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// Flush writes the bytes of an incomplete character.
func (w *Writer) Flush() error {
	if len(w.part) == 0 {
		return nil
	}
	text := Text(string(w.part))
	w.part = nil
	_, err := io.WriteString(w.W, text)
	return err
}

// appendJSON appends the escape of a rune within a JSON string.
func appendJSON(b []byte, r rune) []byte {
	for _, unit := range utf16.Encode([]rune{r}) {
		b = fmt.Appendf(b, `\u%04x`, unit)
	}
	return b
}

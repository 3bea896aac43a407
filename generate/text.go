package generate

import (
	"strings"
	"unicode/utf8"
)

// texts turns tokens into text, piece by piece, up to a stop text.
type texts struct {
	tokenizer Tokenizer
	stops     []string

	ids  []int32 // the last tokens
	told int     // of ids, how many have their text in held or behind it
	text string  // of ids[:told]
	held string  // text that may be the beginning of a stop
}

// seen is how many tokens of a prompt show how text goes on after them: whether with
// a space, and from which bytes of a character.
const seen = 8

func newTexts(t Tokenizer, stops []string, prompt []int32) *texts {
	tail := prompt[max(0, len(prompt)-seen):]
	return &texts{tokenizer: t, stops: stops, ids: append([]int32(nil), tail...), told: len(tail), text: t.Decode(tail)}
}

// maxUntold is how many tokens may stand behind each other without ending a character
// before their text is taken as it is. A character has four bytes, and a token one or more.
const maxUntold = 16

// push takes a token and returns the text that it completes, and whether a stop ended the
// text.
func (t *texts) push(id int32) (text string, stopped bool) {
	t.ids = append(t.ids, id)
	whole := t.tokenizer.Decode(t.ids)
	if strings.HasSuffix(whole, "\uFFFD") && len(t.ids)-t.told < maxUntold {
		return "", false
	}
	return t.deliver(t.take(whole))
}

// take returns the new text of all ids, of which the last go on to give their context to
// the next.
func (t *texts) take(whole string) string {
	n := 0
	for n < len(whole) && n < len(t.text) && whole[n] == t.text[n] {
		n++
	}
	for n > 0 && n < len(whole) && !utf8.RuneStart(whole[n]) {
		n--
	}
	fresh := whole[n:]
	if fresh == "" && len(t.ids)-t.told < maxUntold {
		return ""
	}
	t.ids = t.ids[:copy(t.ids, t.ids[t.told:])]
	t.told, t.text = len(t.ids), t.tokenizer.Decode(t.ids)
	return fresh
}

// deliver returns the text that no stop can begin with any more.
func (t *texts) deliver(fresh string) (text string, stopped bool) {
	t.held += fresh
	if at := firstStop(t.held, t.stops); at >= 0 {
		text, t.held = t.held[:at], ""
		return text, true
	}
	keep := 0
	for _, stop := range t.stops {
		keep = max(keep, begun(t.held, stop))
	}
	cut := len(t.held) - keep
	text, t.held = t.held[:cut], t.held[cut:]
	return text, false
}

// flush returns what is left when no token follows.
func (t *texts) flush() string {
	rest := ""
	if len(t.ids) > t.told {
		rest = t.take(t.tokenizer.Decode(t.ids))
	}
	text, stopped := t.deliver(rest)
	if !stopped {
		text += t.held
	}
	t.ids, t.told, t.text, t.held = t.ids[:0], 0, "", ""
	return text
}

// fork returns a copy.
func (t *texts) fork() *texts {
	f := *t
	f.ids = append([]int32(nil), t.ids...)
	return &f
}

// firstStop returns where the stop begins that is complete first, the longest of several;
// -1 if none is.
func firstStop(text string, stops []string) int {
	at, end := -1, len(text)+1
	for _, stop := range stops {
		i := strings.Index(text, stop)
		if e := i + len(stop); i >= 0 && (e < end || e == end && i < at) {
			at, end = i, e
		}
	}
	return at
}

// begun returns how many bytes at the end of a text are the beginning of a stop.
func begun(text, stop string) int {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if text[len(text)-n:] == stop[:n] {
			return n
		}
	}
	return 0
}

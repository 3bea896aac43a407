package generate

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// texts turns tokens into text, piece by piece, up to a stop text.
type texts struct {
	tokenizer Tokenizer
	stops     []string

	ids     []int32 // taken by stream: the last of the prompt, and all after it
	stream  Stream
	prompt  string // end of the prompt's text that stream has not returned yet
	pending string // may be the beginning of a stop
}

// seen is the number of a prompt's last tokens that decide how text goes on after them: with a
// space or not, and from which byte of a character.
const seen = 8

func newTexts(tokenizer Tokenizer, stops []string, prompt []int32) *texts {
	t := &texts{tokenizer: tokenizer, stops: stops, ids: slices.Clone(prompt[max(0, len(prompt)-seen):])}
	t.prompt = t.again().Flush()
	t.stream = t.again()
	return t
}

// again returns a new stream that has taken all ids.
func (t *texts) again() Stream {
	s := t.tokenizer.Decoding()
	for _, id := range t.ids {
		s.Push(id)
	}
	return s
}

// push takes a token and returns the text that it completes. If a stop is complete, the text ends
// before the stop and stopped is true.
func (t *texts) push(id int32) (text string, stopped bool, err error) {
	t.ids = append(t.ids, id)
	text = t.stream.Push(id)
	if err := t.stream.Err(); err != nil {
		return "", false, err
	}
	text, stopped = t.deliver(t.behind(text))
	return text, stopped, nil
}

// behind returns text, the next text of the stream, without the end of the prompt's text. If the
// prompt ends within a character that later tokens complete, it returns the whole character.
func (t *texts) behind(text string) string {
	n := 0
	for n < len(text) && n < len(t.prompt) && text[n] == t.prompt[n] {
		n++
	}
	if n == len(text) {
		t.prompt = t.prompt[n:]
		return ""
	}
	t.prompt = ""
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[n:]
}

// deliver adds fresh text and returns as much as no stop can begin in any more. If a stop is
// complete, it returns the text before the stop.
func (t *texts) deliver(fresh string) (text string, stopped bool) {
	t.pending += fresh
	if at := firstStop(t.pending, t.stops); at >= 0 {
		text, t.pending = t.pending[:at], ""
		return text, true
	}
	keep := 0
	for _, stop := range t.stops {
		keep = max(keep, begun(t.pending, stop))
	}
	cut := len(t.pending) - keep
	text, t.pending = t.pending[:cut], t.pending[cut:]
	return text, false
}

// flush returns the text that is left at the end of the tokens.
func (t *texts) flush() string {
	text, stopped := t.deliver(t.behind(t.stream.Flush()))
	if !stopped {
		text += t.pending
	}
	t.ids, t.prompt, t.pending = t.ids[:0], "", ""
	return text
}

// fork returns a copy that goes on independently.
func (t *texts) fork() *texts {
	f := *t
	f.ids = slices.Clone(t.ids)
	f.stream = f.again()
	return &f
}

// firstStop returns the beginning of the stop that ends first in text, the longest of several; -1
// if text has none.
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

// begun returns the number of bytes at the end of text that are the beginning of stop.
func begun(text, stop string) int {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if text[len(text)-n:] == stop[:n] {
			return n
		}
	}
	return 0
}

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

	ids    []int32 // that the stream has taken: the last of the prompt, and all that follow
	stream Stream
	prompt string // text of the prompt that the stream has not given yet
	held   string // text that may be the beginning of a stop
}

// seen is how many tokens of a prompt show how text goes on after them: whether with
// a space, and from which bytes of a character.
const seen = 8

func newTexts(tokenizer Tokenizer, stops []string, prompt []int32) *texts {
	t := &texts{tokenizer: tokenizer, stops: stops, ids: slices.Clone(prompt[max(0, len(prompt)-seen):])}
	t.prompt = t.again().Flush()
	t.stream = t.again()
	return t
}

// again returns a stream that has taken all ids.
func (t *texts) again() Stream {
	s := t.tokenizer.Decoding()
	for _, id := range t.ids {
		s.Push(id)
	}
	return s
}

// push takes a token and returns the text that it completes, and whether a stop ended the
// text.
func (t *texts) push(id int32) (text string, stopped bool, err error) {
	t.ids = append(t.ids, id)
	text = t.stream.Push(id)
	if err := t.stream.Err(); err != nil {
		return "", false, err
	}
	text, stopped = t.deliver(t.behind(text))
	return text, stopped, nil
}

// behind returns a text that the stream gives without what is still the prompt's. The end of a
// prompt is not a character, or another text, once tokens follow that belong to it.
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
	text, stopped := t.deliver(t.behind(t.stream.Flush()))
	if !stopped {
		text += t.held
	}
	t.ids, t.prompt, t.held = t.ids[:0], "", ""
	return text
}

// fork returns a copy.
func (t *texts) fork() *texts {
	f := *t
	f.ids = slices.Clone(t.ids)
	f.stream = f.again()
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

package tokenizer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/internal/guard"
)

// EncodeChat returns the ids of a chat as the model's template writes it. Special tokens are those of
// the template: one that a message spells is text like any other, as for EncodePlainContext.
// Without a chat template, which HasChat reports, it is an error. Other errors are as for
// ApplyChatContext and EncodeContext.
func (t *Tokenizer) EncodeChat(ctx context.Context, messages []Message, o ChatOptions) (ids []int32, err error) {
	defer guard.At("").End(&err)
	if t.HasChat() && !t.made() {
		return nil, errNotRead
	}
	mark, err := unused(messages)
	if err != nil {
		return nil, err
	}
	text, err := t.applyChat(ctx, messages, o, func(text string) string {
		return t.marked(t.limit.work(ctx, encodeRate, len(text)), text, mark)
	})
	if err != nil {
		return nil, err
	}
	defer caught(&err)
	w := t.limit.work(ctx, encodeRate, len(text))
	text, spelled := unmarked(w, text, mark)
	if len(spelled) == 0 {
		return t.encode(w, text, false, false), nil
	}
	w.steps(len(text))
	p := placed(w, text)
	ids = t.pooled(w, p, false, spelled)
	w.release(spanBytes * len(p.at))
	w.countOpen()
	return ids, nil
}

// The noncharacters of Unicode from which a mark is chosen.
const firstMark, lastMark = '\uFDD0', '\uFDEF'

// unused returns a noncharacter that no message has.
func unused(messages []Message) (rune, error) {
	for mark := firstMark; mark <= lastMark; mark++ {
		if !slices.ContainsFunc(messages, func(m Message) bool { return m.has(mark) }) {
			return mark, nil
		}
	}
	return 0, fmt.Errorf("the messages have all noncharacters from %U to %U; a chat may have all but one", firstMark, lastMark)
}

// has reports whether a message may have a character.
func (m Message) has(r rune) bool {
	if strings.ContainsRune(m.Role, r) || strings.ContainsRune(m.Content, r) {
		return true
	}
	for _, raw := range m.Fields {
		text := string(raw)
		if strings.ContainsRune(text, r) || strings.Contains(strings.ToLower(text), fmt.Sprintf(`\u%04x`, r)) {
			return true
		}
	}
	return false
}

// marked returns a text with a mark after the first character of each special token that it spells.
func (t *Tokenizer) marked(w *work, text string, mark rune) string {
	if !utf8.ValidString(text) {
		w.hold(3 * len(text))
		text = lossy([]byte(text))
	}
	ends := t.spelled(w, text)
	if len(ends) == 0 {
		return text
	}
	b := w.builder(len(text) + utf8.RuneLen(mark)*len(ends))
	from := int32(0)
	for _, end := range ends {
		b.WriteString(text[from:end])
		b.WriteString(string(mark))
		from = end
	}
	b.WriteString(text[from:])
	return b.String()
}

// unmarked returns a text without marks, and where they were.
func unmarked(w *work, text string, mark rune) (string, []int32) {
	parts := strings.Split(text, string(mark))
	w.hold(2*len(text) + spanBytes*len(parts))
	var at []int32
	n := 0
	for _, part := range parts[:len(parts)-1] {
		n += len(part)
		at = append(at, int32(n))
	}
	return strings.Join(parts, ""), slices.Compact(at)
}

// spelled returns where the first characters of the special tokens in a text end, in ascending order.
// Tokens may overlap, and one may begin at the end of the text or before the white space there.
func (t *Tokenizer) spelled(w *work, text string) []int32 {
	if len(text) > maxLength {
		check(fmt.Errorf("%w: a text of %d bytes", ErrLimit, len(text)))
	}
	w.steps(len(text))
	var ends []int32
	collect := func(m *matcher, p piece) {
		last := strings.TrimRightFunc(p.text, unicode.IsSpace)
		for at := range len(p.text) {
			if !m.starts[p.text[at]] {
				continue
			}
			if id, end := m.find(w, p.text, at, false); end > 0 && m.tokens[id].Special || m.begun(w, last, at) {
				w.hold(4)
				ends = append(ends, p.firstEnd(at))
			}
		}
	}
	p := placed(w, text)
	defer w.release(spanBytes * len(p.at))
	if t.added.raw.next != nil {
		collect(&t.added.raw, p)
	}
	if t.added.normal.next != nil {
		q := p
		if t.normal != nil {
			q = normalized(w, t.normal, p)
			defer w.release(len(q.text) + spanBytes*len(q.at))
		}
		collect(&t.added.normal, q)
	}
	slices.Sort(ends)
	return slices.Compact(ends)
}

// firstEnd returns where the character at a byte of a piece ends in the whole text.
func (p piece) firstEnd(at int) int32 {
	_, size := utf8.DecodeRuneInString(p.text[at:])
	return p.origin(at, at+size).to
}

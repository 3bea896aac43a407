package tokenizer

import "strings"

// maxPending bounds the ids that a stream keeps back for a character that does not end.
const maxPending = 64

// A Stream decodes ids one by one. It gives text as soon as whole characters are there.
type Stream struct {
	t       *Tokenizer
	special bool
	ids     []int32
	context int // the first ids, whose text was given, that only say what stands before
	sent    int // bytes of the text of ids that were given
}

// Stream returns a decoder of ids that come one by one. With special, the text of special
// tokens is given too.
func (t *Tokenizer) Stream(special bool) *Stream {
	return &Stream{t: t, special: special}
}

// Push takes the next id and returns the text that it completes, which may be empty.
func (s *Stream) Push(id int32) string {
	if s == nil || !s.t.made() {
		return ""
	}
	s.ids = append(s.ids, id)
	text := s.text(s.ids)
	stable := strings.TrimRight(text, "\uFFFD")
	if len(stable) < len(text) && len(s.ids)-s.context < maxPending {
		return s.give(stable)
	}
	part := s.give(text)
	s.ids = append(s.ids[:0], s.ids[s.context:]...)
	s.context = len(s.ids)
	s.sent = len(s.text(s.ids))
	return part
}

// Flush returns what is left of a character that did not end, and begins anew.
func (s *Stream) Flush() string {
	if s == nil || !s.t.made() {
		return ""
	}
	part := s.give(s.text(s.ids))
	s.ids, s.context, s.sent = s.ids[:0], 0, 0
	return part
}

func (s *Stream) text(ids []int32) string {
	by := s.t.partial
	if by == nil {
		by = s.t.decoder
	}
	return s.t.decode(ids, !s.special, by)
}

// give returns the part of a text that was not given yet.
func (s *Stream) give(text string) string {
	if len(text) <= s.sent {
		return ""
	}
	part := text[s.sent:]
	s.sent = len(text)
	return part
}

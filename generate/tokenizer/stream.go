package tokenizer

import (
	"context"

	"github.com/nacre-ml/nacre/internal/guard"
)

// A Stream decodes ids one by one. It gives text as soon as no id that follows can change
// it: whole characters, for byte tokens such as <0x0A> all of their run, and nothing before
// the end where a step of the file takes the whole text. All texts that it gives are
// together the text of Decode; of a file of gpt.rs, whose Decode gives nothing for text that
// is not UTF-8, they are that text with U+FFFD.
type Stream struct {
	t        *Tokenizer
	special  bool
	decoding *decoding // nil at the beginning
	err      error
}

// Stream returns a decoder of ids that come one by one. With special, the text of special
// tokens is given too.
func (t *Tokenizer) Stream(special bool) *Stream {
	return &Stream{t: t, special: special}
}

// streamRate is the default limit of a stream.
var streamRate = rate{base: 64 << 20}

// Push takes the next id and returns the text that it completes, which may be empty.
func (s *Stream) Push(id int32) string {
	return s.run(func() string {
		if token, ok := s.t.textOf(id, s.special); ok {
			s.decoding.push(token)
		}
		return s.decoding.take()
	})
}

// Flush returns the text that is left, and begins anew.
func (s *Stream) Flush() string {
	if s == nil {
		return ""
	}
	text := s.run(func() string { return s.decoding.end() })
	s.decoding, s.err = nil, nil
	return text
}

// Err returns ErrLimit if Push gave nothing because the text that it holds is past the limit.
// It is nil again after Flush.
func (s *Stream) Err() error {
	if s == nil {
		return nil
	}
	return s.err
}

// run calls f unless the stream has failed.
func (s *Stream) run(f func() string) (text string) {
	if s == nil || !s.t.made() || s.err != nil {
		return ""
	}
	defer guard.At("").End(&s.err)
	defer caught(&s.err)
	if s.decoding == nil {
		by := s.t.partial
		if by == nil {
			by = s.t.decoder
		}
		w := Limit{Bytes: s.t.limit.Bytes}.work(context.Background(), streamRate, 0)
		w.eager = true
		s.decoding = s.t.decoding(w, by)
	}
	return f()
}

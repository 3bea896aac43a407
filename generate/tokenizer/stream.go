package tokenizer

import (
	"context"

	"github.com/nacre-ml/nacre/internal/guard"
)

// A Stream decodes ids one by one. It gives text as soon as no later id can change it: whole
// characters, whole runs of byte tokens such as <0x0A>, and all text at the end if a step of the
// file takes the whole text. The texts that it gives add up to the text of Decode. A file of gpt.rs
// is an exception: for text that is not UTF-8, Decode gives nothing, and the Stream gives U+FFFD.
type Stream struct {
	t        *Tokenizer
	special  bool
	decoding *decoding // nil at the beginning
	err      error
}

// Stream returns a decoder of ids that come one by one. With special, the text of special tokens is
// given too.
func (t *Tokenizer) Stream(special bool) *Stream {
	return &Stream{t: t, special: special}
}

// Decoding is Stream without the text of special tokens, as package generate takes it.
func (t *Tokenizer) Decoding() interface {
	Push(id int32) string
	Flush() string
	Err() error
} {
	return t.Stream(false)
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

// Flush returns the rest of the text, and begins anew.
func (s *Stream) Flush() string {
	if s == nil {
		return ""
	}
	text := s.run(func() string { return s.decoding.end() })
	s.decoding, s.err = nil, nil
	return text
}

// Err returns ErrLimit if Push gave nothing because the text that it holds is past the limit. After
// Flush it is nil again.
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

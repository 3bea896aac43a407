package generate

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// letters is a tokenizer with pieces of bytes as tokens.
type letters []string

func (l letters) Encode(string, bool) []int32 { return nil }

func (l letters) Decoding() Stream {
	return &ByteStream{Bytes: func(id int32) string { return l[id] }}
}

// ByteStream decodes bytes to characters. A byte that is part of no character becomes U+FFFD.
type ByteStream struct {
	Bytes func(id int32) string
	raw   string // not a whole character yet
}

func (s *ByteStream) Push(id int32) string {
	s.raw += s.Bytes(id)
	var b strings.Builder
	for s.raw != "" && utf8.FullRuneInString(s.raw) {
		r, n := utf8.DecodeRuneInString(s.raw)
		b.WriteRune(r)
		s.raw = s.raw[n:]
	}
	return b.String()
}

func (s *ByteStream) Flush() string {
	text := strings.ToValidUTF8(s.raw, "\uFFFD")
	s.raw = ""
	return text
}

func (s *ByteStream) Err() error { return nil }

// cutUp cuts a text into random pieces of bytes.
func cutUp(r *rand.Rand, text string) letters {
	var l letters
	for text != "" {
		n := 1 + r.IntN(min(len(text), 4))
		l, text = append(l, text[:n]), text[n:]
	}
	return l
}

// until returns the text before the first complete stop. It searches byte by byte.
func until(text string, stops []string) string {
	for end := range len(text) + 1 {
		at := -1
		for _, stop := range stops {
			if i := end - len(stop); strings.HasSuffix(text[:end], stop) && (at < 0 || i < at) {
				at = i
			}
		}
		if at >= 0 {
			return text[:at]
		}
	}
	return text
}

// TestTexts cuts texts at random, also within characters. It checks that pieces are whole
// characters and that the text ends at the first stop.
func TestTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("aab ébc日🙂")
	for range 3000 {
		var text strings.Builder
		for range r.IntN(40) {
			text.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		var stops []string
		for range r.IntN(4) {
			stop := ""
			for range 1 + r.IntN(4) {
				stop += string(alphabet[r.IntN(len(alphabet))])
			}
			stops = append(stops, stop)
		}
		tokens := cutUp(r, text.String())
		s := newTexts(tokens, stops, nil)
		var got strings.Builder
		stopped := false
		for id := range tokens {
			var piece string
			if piece, stopped, _ = s.push(int32(id)); !utf8.ValidString(piece) || strings.ContainsRune(piece, utf8.RuneError) {
				t.Fatalf("%q as %q: piece %q is no whole characters", &text, tokens, piece)
			}
			got.WriteString(piece)
			if stopped {
				break
			}
		}
		if !stopped {
			got.WriteString(s.flush())
		}
		if want := until(text.String(), stops); got.String() != want {
			t.Fatalf("%q as %q with stops %q: %q, want %q", &text, tokens, stops, &got, want)
		}
	}
}

// TestTextsInvalid checks tokens that never complete a character.
func TestTextsInvalid(t *testing.T) {
	l := letters{"\xff", "a", "\xe6\x97"}
	s := newTexts(l, nil, nil)
	got := ""
	for range 100 {
		piece, _, err := s.push(0)
		if err != nil {
			t.Fatal(err)
		}
		got += piece
	}
	for _, id := range []int32{1, 2} {
		piece, _, _ := s.push(id)
		got += piece
	}
	got += s.flush()
	if !strings.HasPrefix(got, "\uFFFD") || !strings.HasSuffix(got, "a\uFFFD") || strings.Trim(got, "\uFFFD") != "a" {
		t.Errorf("text %q", got)
	}
}

// spaced is a tokenizer that removes the space before a text, as SentencePiece does.
type spaced struct{ letters }

func (s spaced) Decoding() Stream {
	first := true
	return &ByteStream{Bytes: func(id int32) string {
		text := s.letters[id]
		if first {
			text = strings.TrimPrefix(text, " ")
		}
		first = false
		return text
	}}
}

// TestTextsAfterPrompt checks that the space between a prompt and its continuation stays.
func TestTextsAfterPrompt(t *testing.T) {
	l := spaced{letters{" Hello", " world", "\xe6", "\x97\xa5", " again"}}
	s := newTexts(l, nil, []int32{0})
	got := ""
	for _, id := range []int32{1, 4, 2, 3} {
		piece, _, _ := s.push(id)
		got += piece
	}
	if got != " world again日" {
		t.Errorf("text %q", got)
	}
	s = newTexts(l, nil, []int32{0, 2}) // the prompt ends within a character
	if piece, _, _ := s.push(3); piece != "日" {
		t.Errorf("the rest of a character is %q", piece)
	}
}

// failing is a tokenizer with a stream that is full after two tokens.
type failing struct{ letters }

var errFull = errors.New("full")

func (f failing) Decoding() Stream { return &failingStream{f.letters.Decoding(), 0} }

type failingStream struct {
	Stream
	n int
}

func (s *failingStream) Push(id int32) string { s.n++; return s.Stream.Push(id) }

func (s *failingStream) Err() error {
	if s.n > 2 {
		return errFull
	}
	return nil
}

// TestTextsFail checks that an error of the stream is returned.
func TestTextsFail(t *testing.T) {
	s := newTexts(failing{letters{"a"}}, nil, nil)
	for i := range 3 {
		if _, _, err := s.push(0); errors.Is(err, errFull) != (i == 2) {
			t.Errorf("token %d: %v", i, err)
		}
	}
}

// TestTextsFork forks within a character, and after the beginning of a stop.
func TestTextsFork(t *testing.T) {
	l := letters{"x", "\xe6", "\x97\xa5", "a", "b"}
	s := newTexts(l, []string{"ab"}, []int32{0})
	s.push(1)
	f := s.fork()
	for _, x := range []*texts{s, f} {
		if text, stopped, _ := x.push(2); text != "日" || stopped {
			t.Errorf("%q, %v", text, stopped)
		}
	}
	s.push(3)
	f = s.fork()
	for _, x := range []*texts{s, f} {
		if text, stopped, _ := x.push(4); text != "" || !stopped {
			t.Errorf("%q, %v", text, stopped)
		}
	}
}

// late is a tokenizer with a stream that holds newlines until another token follows.
type late struct{ letters }

func (l late) Decoding() Stream { return &lateStream{Stream: l.letters.Decoding(), l: l.letters} }

type lateStream struct {
	Stream
	l    letters
	held string
}

func (s *lateStream) Push(id int32) string {
	if s.l[id] == "\n" {
		s.held += "\n"
		return ""
	}
	return s.Flush() + s.Stream.Push(id)
}

func (s *lateStream) Flush() (text string) {
	text, s.held = s.held, ""
	return text + s.Stream.Flush()
}

// TestTextsLate checks a prompt with text that the stream returns only after later tokens.
func TestTextsLate(t *testing.T) {
	s := newTexts(late{letters{"a", "\n"}}, nil, []int32{0, 1, 1})
	got := ""
	for _, id := range []int32{1, 0, 1} {
		piece, _, _ := s.push(id)
		got += piece
	}
	if got += s.flush(); got != "\na\n" {
		t.Errorf("text %q", got)
	}
}

package generate

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// letters is a tokenizer with pieces of bytes as tokens.
type letters []string

func (l letters) Encode(string, bool) []int32 { return nil }

func (l letters) Decode(ids []int32) string {
	var raw []byte
	for _, id := range ids {
		raw = append(raw, l[id]...)
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}

// cutUp cuts a text into random pieces of bytes.
func cutUp(r *rand.Rand, text string) letters {
	var l letters
	for text != "" {
		n := 1 + r.IntN(min(len(text), 4))
		l, text = append(l, text[:n]), text[n:]
	}
	return l
}

// until returns the text before the first complete stop, found byte by byte.
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

// TestTexts cuts texts at random, also within characters, and looks for whole characters and for
// the text up to the first stop.
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
			if piece, stopped = s.push(int32(id)); !utf8.ValidString(piece) || strings.ContainsRune(piece, utf8.RuneError) {
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

// TestTextsInvalid checks tokens that never make a character.
func TestTextsInvalid(t *testing.T) {
	l := letters{"\xff", "a", "\xe6\x97"}
	s := newTexts(l, nil, nil)
	got := ""
	for range 100 {
		piece, _ := s.push(0)
		got += piece
		if len(s.ids) > 3*maxUntold {
			t.Fatalf("%d tokens wait", len(s.ids))
		}
	}
	for _, id := range []int32{1, 2} {
		piece, _ := s.push(id)
		got += piece
	}
	got += s.flush()
	if !strings.HasPrefix(got, "\uFFFD") || !strings.HasSuffix(got, "a\uFFFD") || strings.Trim(got, "\uFFFD") != "a" {
		t.Errorf("text %q", got)
	}
}

// spaced is a tokenizer that removes the space before a text, as SentencePiece does.
type spaced struct{ letters }

func (s spaced) Decode(ids []int32) string { return strings.TrimPrefix(s.letters.Decode(ids), " ") }

// TestTextsAfterPrompt checks that the space between a prompt and its continuation stays.
func TestTextsAfterPrompt(t *testing.T) {
	l := spaced{letters{" Hello", " world", "\xe6", "\x97\xa5", " again"}}
	s := newTexts(l, nil, []int32{0})
	got := ""
	for _, id := range []int32{1, 4, 2, 3} {
		piece, _ := s.push(id)
		got += piece
	}
	if got != " world again日" {
		t.Errorf("text %q", got)
	}
	s = newTexts(l, nil, []int32{0, 2}) // the prompt ends within a character
	if piece, _ := s.push(3); piece != "日" {
		t.Errorf("the rest of a character is %q", piece)
	}
}

package tokenizer

import (
	"strings"
	"testing"
)

// known reads a tokenizer of the folder of answers.
func known(t testing.TB, name string) *Tokenizer {
	t.Helper()
	tok, err := Read(knownFile(t, name))
	if err != nil {
		t.Fatal(name, err)
	}
	return tok
}

func TestStream(t *testing.T) {
	texts := []string{"The quick brown fox", "naïve 👩‍👩‍👧 café 中文 test", "", "日本語\n\n  spaces", "x � y"}
	for _, name := range []string{"gpt2.json", "llama2.json", "sp_bpe.model", "unigram_bytes.json", "o200k.json"} {
		tok := known(t, name)
		for _, text := range texts {
			ids := tok.Encode(text, false)
			s := tok.Stream(false)
			var b strings.Builder
			for _, id := range ids {
				part := s.Push(id)
				if strings.Contains(part, "\uFFFD") && !strings.Contains(text, "\uFFFD") {
					t.Errorf("%s: %q has half a character", name, part)
				}
				b.WriteString(part)
			}
			b.WriteString(s.Flush())
			if want := tok.Decode(ids); b.String() != want {
				t.Errorf("%s: %q streams as %q", name, want, b.String())
			}
		}
	}
}

// TestStreamBroken gives bytes that never make a character: the stream holds none of them.
func TestStreamBroken(t *testing.T) {
	tok := known(t, "gpt2.json")
	id, ok := tok.ID(string(byteCharacter[0xE4]))
	if !ok {
		t.Fatal("no token for the byte 0xE4")
	}
	s := tok.Stream(false)
	for i := range 1000 {
		if got := s.Push(id); i > 0 && got != "\uFFFD" {
			t.Fatalf("%d: %q", i, got)
		}
	}
	if got := s.Flush(); got != "\uFFFD" {
		t.Errorf("at the end %q", got)
	}
}

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

// TestStreamBroken gives bytes that never make a character: the stream keeps no more of
// them than it may.
func TestStreamBroken(t *testing.T) {
	tok := known(t, "gpt2.json")
	id, ok := tok.ID(string(byteCharacter[0xE4]))
	if !ok {
		t.Fatal("no token for the byte 0xE4")
	}
	s, given := tok.Stream(false), 0
	for range 1000 {
		given += strings.Count(s.Push(id), "\uFFFD")
		if len(s.ids) > 2*maxPending {
			t.Fatalf("the stream holds %d ids", len(s.ids))
		}
	}
	if given += strings.Count(s.Flush(), "\uFFFD"); given < 900 {
		t.Errorf("%d of 1000 signs were given", given)
	}
}

package tokenizer

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
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

// TestStreamBroken gives bytes that never make a character. The stream holds none of them back.
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

// TestStreamRandom streams lists of random ids. The texts add up to the text of Decode, and each is
// whole characters. Ids without text, special ids, byte tokens and halves of characters are among
// them.
func TestStreamRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, tok := range decoders(t) {
		var odd []int32 // ids that texts rarely have
		for id := range int32(tok.Vocabulary()) {
			token, ok := tok.Token(id)
			if _, isByte := byteToken(token); !ok || isByte || tok.Special(id) || strings.ContainsAny(token, ".,'▁ ") || len(token) == 1 {
				odd = append(odd, id)
			}
		}
		for range 150 {
			ids := make([]int32, 1+r.IntN(24))
			for i := range ids {
				ids[i] = r.Int32N(int32(tok.Vocabulary()) + 2)
				if len(odd) > 0 && r.IntN(2) == 0 {
					ids[i] = odd[r.IntN(len(odd))]
				}
				if i > 0 && r.IntN(8) == 0 {
					ids[i] = ids[i-1]
				}
			}
			for _, special := range []bool{false, true} {
				s := tok.Stream(special)
				var b strings.Builder
				for _, id := range ids {
					part := s.Push(id)
					if !utf8.ValidString(part) {
						t.Errorf("%s: %v gives %q, which is not UTF-8", name, ids, part)
					}
					b.WriteString(part)
				}
				b.WriteString(s.Flush())
				want, err := tok.DecodeContext(t.Context(), ids, special)
				if err != nil || s.Err() != nil {
					t.Fatal(name, err, s.Err())
				}
				if b.String() != want {
					t.Errorf("%s: %v are %q and stream as %q", name, tok.names(ids), want, b.String())
				}
			}
		}
	}
}

// decoders returns the fixtures, except files of gpt.rs, and tokenizers with the decoders in many
// orders.
func decoders(t testing.TB) map[string]*Tokenizer {
	out := all(t)
	for name, tok := range out {
		if tok.partial != nil {
			delete(out, name)
		}
	}
	parts := []string{
		`{"type":"Fuse"}`, `{"type":"ByteFallback"}`, `{"type":"ByteLevel"}`, `{"type":"Metaspace","replacement":"▁"}`, `{"type":"Metaspace","replacement":"a","prepend_scheme":"never"}`,
		`{"type":"WordPiece"}`, `{"type":"BPEDecoder","suffix":"a"}`, `{"type":"BPEDecoder","suffix":"aab"}`, `{"type":"CTC","pad_token":"b","word_delimiter_token":"aa"}`,
		`{"type":"Strip","content":" ","start":1,"stop":0}`, `{"type":"Strip","content":"a","start":2,"stop":3}`, `{"type":"Strip","content":"é","start":0,"stop":1}`,
		`{"type":"Replace","pattern":{"String":"aab"},"content":"éa"}`, `{"type":"Replace","pattern":{"String":"▁"},"content":" "}`, `{"type":"Replace","pattern":{"Regex":"a+b?"},"content":"x"}`,
	}
	vocab := `{"a":0,"b":1,"aa":2,"<u>":3,"▁":4,"é":5," ":6,"<0xC3>":7,"<0xA9>":8,"<0x61>":9,"aab":10,".":11," '":12,"s":13,"##a":14,"Ã":15,"©":16,"n't":17," do":18," not":19,"<0":20,"x41>":21}`
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 120 {
		var list []string
		for range 1 + r.IntN(4) {
			list = append(list, parts[r.IntN(len(parts))])
		}
		if i < len(parts) {
			list = parts[i : i+1]
		}
		steps := strings.Join(list, ",")
		tok, err := Read([]byte(`{"added_tokens":[{"id":3,"content":"<u>","special":true},{"id":30,"content":" <v>"}],"decoder":{"type":"Sequence","decoders":[` + steps +
			`]},"model":{"type":"BPE","vocab":` + vocab + `,"merges":[]}}`))
		if err != nil {
			t.Fatal(steps, err)
		}
		out[steps] = tok
	}
	return out
}

// wholeText decodes with decoders that get all tokens at once, as the package tokenizers does. It
// is the oracle of the stages.
func wholeText(w *work, by []decoder, tokens []string) string {
	for _, d := range by {
		var next []string
		s := d.tokens(w, &kept{&next})
		for _, token := range tokens {
			s.push(token)
		}
		s.end()
		if _, ok := d.(fuser); ok {
			next = []string{strings.Join(next, "")}
		}
		tokens = next
	}
	return strings.Join(tokens, "")
}

// kept is a stage that keeps texts.
type kept struct{ list *[]string }

func (k *kept) push(text string) { *k.list = append(*k.list, text) }
func (*kept) end()               {}

// TestDecodeParts compares stages that take a token in parts with stages that take it whole.
func TestDecodeParts(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for name, tok := range decoders(t) {
		if len(tok.decoder) == 0 {
			continue
		}
		for range 60 {
			ids := make([]int32, r.IntN(16))
			var tokens []string
			for i := range ids {
				ids[i] = r.Int32N(int32(tok.Vocabulary()))
				if token, ok := tok.textOf(ids[i], false); ok {
					tokens = append(tokens, token)
				}
			}
			if got, want := tok.Decode(ids), wholeText(unlimited(), tok.decoder, tokens); got != want {
				t.Errorf("%s: %q are %q, not %q", name, tokens, got, want)
			}
		}
	}
}

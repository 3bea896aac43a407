package tokenizer

import (
	"io/fs"
	"testing"
)

// FuzzRead reads files of any bytes and encodes with those that are accepted.
func FuzzRead(f *testing.F) {
	from := answersFolder(f)
	for _, pattern := range []string{"*.model", "bert.json", "llama2.json", "unigram_map.json", "clip.json"} {
		names, err := fs.Glob(from, pattern)
		if err != nil || len(names) == 0 {
			f.Fatal(pattern, err)
		}
		data, err := fs.ReadFile(from, names[0])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "Hello, wörld 中 <s>")
	}
	f.Add([]byte(document1("")), "aab")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := Read(data)
		if err != nil {
			return
		}
		for _, id := range tok.Encode(text, true) {
			if id < 0 || int(id) >= tok.Vocabulary() {
				t.Fatalf("the id %d is beyond the vocabulary of %d", id, tok.Vocabulary())
			}
		}
		tok.Decode([]int32{0, 1, -1, 1 << 30})
	})
}

// FuzzEncode encodes texts of any bytes: what byte-level vocabularies decode is the text.
func FuzzEncode(f *testing.F) {
	f.Add("Hello, wörld 中 \x00 'S")
	gpt2, o200k := known(f, "gpt2_pattern.json"), known(f, "o200k.json")
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range []*Tokenizer{gpt2, o200k} {
			if got, want := tok.DecodeSpecial(tok.Encode(text, false)), lossy([]byte(text)); got != want {
				t.Fatalf("%q became %q", want, got)
			}
		}
	})
}

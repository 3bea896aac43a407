package tokenizer

import (
	"archive/zip"
	"encoding/json"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// answers are what the package tokenizers of PyPI gives for the texts of its folder.
type answers struct {
	Vocabulary int
	Plain      [][]int32
	Special    [][]int32 // nil: as Plain
	Random     [][]int32
	Decoded    []string // of the ids with special tokens, then of Random
	Whole      []string
}

// folder returns the folder of answers: that of the variable NACRE_TOKENIZERS, which
// scripts/tokenizers/compare.sh makes, or the small one of the tests.
func folder(t testing.TB) fs.FS {
	if path := os.Getenv("NACRE_TOKENIZERS"); path != "" {
		return os.DirFS(path)
	}
	z, err := zip.OpenReader("testdata/answers.zip")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.Close() })
	return z
}

// readJSON reads one file of a folder.
func readJSON(t testing.TB, from fs.FS, name string, to any) {
	t.Helper()
	data, err := fs.ReadFile(from, name)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(name, err)
	}
}

func TestAnswers(t *testing.T) {
	from := folder(t)
	var texts []string
	readJSON(t, from, "texts.json", &texts)
	names, err := fs.Glob(from, "*.answers.json")
	if err != nil || len(names) == 0 || len(texts) == 0 {
		t.Fatal("no answers:", err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(name, ".answers.json")
		t.Run(name, func(t *testing.T) {
			data, err := fs.ReadFile(from, name+".json")
			if err != nil {
				t.Fatal(err)
			}
			tok, err := Read(data)
			if err != nil {
				t.Fatal(err)
			}
			var a answers
			readJSON(t, from, name+".answers.json", &a)
			compare(t, tok, texts, a)
		})
	}
}

// compare checks all answers of one tokenizer.
func compare(t *testing.T, tok *Tokenizer, texts []string, a answers) {
	if got := tok.Vocabulary(); got != a.Vocabulary {
		t.Errorf("the vocabulary has %d ids, not %d", got, a.Vocabulary)
	}
	lists := make([][]int32, 0, len(texts)+len(a.Random))
	wrong := 0
	check := func(what, in any, got, want any, same bool) {
		if same {
			return
		}
		if wrong++; wrong <= 6 {
			t.Errorf("%v of %q:\n got %q\nwant %q", what, in, got, want)
		}
	}
	for i, text := range texts {
		special := a.Special[i]
		if special == nil {
			special = a.Plain[i]
		}
		got := tok.Encode(text, false)
		check("ids", text, tok.names(got), tok.names(a.Plain[i]), slices.Equal(got, a.Plain[i]))
		got = tok.Encode(text, true)
		check("ids with special tokens", text, tok.names(got), tok.names(special), slices.Equal(got, special))
		lists = append(lists, special)
	}
	for i, ids := range append(lists, a.Random...) {
		got := tok.Decode(ids)
		check("text", tok.names(ids), got, a.Decoded[i], got == a.Decoded[i])
		got = tok.DecodeSpecial(ids)
		check("whole text", tok.names(ids), got, a.Whole[i], got == a.Whole[i])
	}
	t.Logf("%d of %d comparisons agree", 2*len(texts)+2*len(a.Decoded)-wrong, 2*len(texts)+2*len(a.Decoded))
	if wrong > 0 {
		t.Errorf("%d comparisons differ", wrong)
	}
}

// names returns the tokens of ids.
func (t *Tokenizer) names(ids []int32) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i], _ = t.Token(id)
	}
	return list
}

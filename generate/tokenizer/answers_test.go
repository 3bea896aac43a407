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

// answers are the results of the package tokenizers of PyPI for the texts of its folder.
type answers struct {
	Vocabulary int
	Plain      [][]int32 // nil: not known
	Special    [][]int32 // nil: as Plain
	Random     [][]int32
	Decoded    []*string // of the ids with special tokens, then of Random; nil: not known
	Whole      []*string
}

// answersFolder returns the folder of answers: the one that the variable NACRE_TOKENIZERS names,
// made by oracles/tokenizers/compare.sh, or the small one of the tests.
func answersFolder(t testing.TB) fs.FS {
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

// readAnswer reads one file of a folder.
func readAnswer(t testing.TB, from fs.FS, name string, to any) {
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
	from := answersFolder(t)
	var texts []string
	readAnswer(t, from, "texts.json", &texts)
	names, err := fs.Glob(from, "*.answers.json")
	if err != nil || len(names) == 0 || len(texts) == 0 {
		t.Fatal("no answers:", err)
	}
	for _, name := range names {
		name = strings.TrimSuffix(name, ".answers.json")
		t.Run(name, func(t *testing.T) {
			data, err := fs.ReadFile(from, name+".json")
			if err != nil {
				data, err = fs.ReadFile(from, name+".model")
			}
			if err != nil {
				t.Fatal(err)
			}
			tok, err := Read(data)
			if err != nil {
				t.Fatal(err)
			}
			var a answers
			readAnswer(t, from, name+".answers.json", &a)
			compare(t, tok, texts, a)
		})
	}
}

// compare checks all answers of one tokenizer.
func compare(t *testing.T, tok *Tokenizer, texts []string, a answers) {
	if got := tok.Vocabulary(); got != a.Vocabulary {
		t.Errorf("the vocabulary has %d ids, not %d", got, a.Vocabulary)
	}
	c := &counter{T: t}
	lists := make([][]int32, 0, len(texts)+len(a.Random))
	for i, text := range texts {
		special := a.Special[i]
		if special == nil {
			special = a.Plain[i]
		}
		lists = append(lists, special)
		if a.Plain[i] == nil {
			continue
		}
		got := tok.Encode(text, false)
		c.check(slices.Equal(got, a.Plain[i]), "ids of %q:\n got %q\nwant %q", text, tok.names(got), tok.names(a.Plain[i]))
		got = tok.Encode(text, true)
		c.check(slices.Equal(got, special), "ids with special tokens of %q:\n got %q\nwant %q", text, tok.names(got), tok.names(special))
	}
	for i, ids := range append(lists, a.Random...) {
		if want := a.Decoded[i]; want != nil {
			got := tok.Decode(ids)
			c.check(got == *want, "text of %q:\n got %q\nwant %q", tok.names(ids), got, *want)
		}
		if want := a.Whole[i]; want != nil {
			got := tok.DecodeSpecial(ids)
			c.check(got == *want, "whole text of %q:\n got %q\nwant %q", tok.names(ids), got, *want)
		}
	}
	if t.Logf("%d of %d comparisons agree", c.all-c.wrong, c.all); c.wrong > 0 || c.all == 0 {
		t.Errorf("%d of %d comparisons differ", c.wrong, c.all)
	}
}

// A counter counts comparisons and shows the first that differ.
type counter struct {
	*testing.T
	all, wrong int
}

func (c *counter) check(same bool, format string, args ...any) {
	c.Helper()
	c.all++
	if same {
		return
	}
	if c.wrong++; c.wrong <= 6 {
		c.Errorf(format, args...)
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

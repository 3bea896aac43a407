package phonemes

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// texts returns the texts of spans.
func texts(text string, spans []Span) []string {
	var list []string
	for _, s := range spans {
		list = append(list, text[s.From:s.To])
	}
	return list
}

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{" \n\t ", nil},
		{"*** --- ...", nil},
		{"One", []string{"One"}},
		{"One. Two! Three? Four", []string{"One.", "Two!", "Three?", "Four"}},
		{"Dr. Smith met Mrs. Jones. They left.", []string{"Dr. Smith met Mrs. Jones.", "They left."}},
		{"It is 3.14 or 1,000.5. Yes.", []string{"It is 3.14 or 1,000.5.", "Yes."}},
		{"J. K. Rowling wrote it. I read it.", []string{"J. K. Rowling wrote it.", "I read it."}},
		{"The U.S. Army is in the U.S. The end.", []string{"The U.S. Army is in the U.S.", "The end."}},
		{"At 5 p.m. We left. At 6 p.m. it rained.", []string{"At 5 p.m.", "We left.", "At 6 p.m. it rained."}},
		{"Use tools, e.g. Hammers. See No. 5. No. No!",
			[]string{"Use tools, e.g. Hammers.", "See No. 5.", "No.", "No!"}},
		{"He said \"Stop.\" She did. \"Why?\" he asked.",
			[]string{"He said \"Stop.\"", "She did.", "\"Why?\" he asked."}},
		{"“Yes.” “No.”", []string{"“Yes.”", "“No.”"}},
		{"Wait... what? Well... Then go.", []string{"Wait... what?", "Well...", "Then go."}},
		{"Apples, pears, etc. The rest went.", []string{"Apples, pears, etc.", "The rest went."}},
		{"Title without a stop\n\nA paragraph\nof two lines. More.",
			[]string{"Title without a stop", "A paragraph\nof two lines.", "More."}},
		{"List:\n- one\n- two\n\n1. First. 2. Second.", []string{"List:", "- one", "- two", "1. First.", "2. Second."}},
		{"Version 1.2.3 of main.go. See example.com.", []string{"Version 1.2.3 of main.go.", "See example.com."}},
		{"你好。再见！好", []string{"你好。", "再见！", "好"}},
		{"Really?! Yes.", []string{"Really?!", "Yes."}},
		{"In 1999. Then.", []string{"In 1999.", "Then."}},
	} {
		if got := texts(c.text, Sentences(c.text)); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q", c.text, got)
		}
	}
}

func TestLongSentences(t *testing.T) {
	clause := strings.Repeat("word ", 50) + "end, "
	text := strings.Repeat(clause, 5)
	for i, s := range texts(text, Sentences(text)) {
		if !strings.HasSuffix(s, "end,") {
			t.Errorf("part %d is not cut at a comma: %q", i, s)
		}
	}
	text = strings.Repeat("word ", 500)
	for _, s := range texts(text, Sentences(text)) {
		if !strings.HasPrefix(s, "word") || !strings.HasSuffix(s, "word") {
			t.Errorf("not cut between words: %q", s)
		}
	}
}

// hostile are texts that could make a splitter slow.
func hostile() map[string]string {
	return map[string]string{
		"letters":  strings.Repeat("a", 100_000),
		"capitals": strings.Repeat("A", 100_000),
		"digits":   strings.Repeat("7", 100_000),
		"stops":    strings.Repeat(".", 100_000),
		"quotes":   strings.Repeat(`."`, 50_000),
		"spaces":   "a." + strings.Repeat(" ", 100_000) + "B",
		"lines":    strings.Repeat("\n", 100_000) + "a",
		"blanks":   strings.Repeat(" \n", 50_000) + "a",
		"emoji":    strings.Repeat("😀", 25_000),
		"controls": strings.Repeat("\x00\x1b\x7f", 30_000) + "a",
		"broken":   strings.Repeat("\xff\xc3a", 30_000),
		"accents":  "e" + strings.Repeat("\u0301", 50_000),
		"commas":   strings.Repeat("1,", 50_000),
		"groups":   strings.Repeat("111,", 25_000),
		"dots":     strings.Repeat("a.", 50_000),
		"dates":    strings.Repeat("1/1/", 25_000),
		"address":  strings.Repeat("a@b.com/", 12_500),
		"hyphens":  strings.Repeat("1-", 50_000),
		"romans":   strings.Repeat("XI ", 33_000),
		"tens":     strings.Repeat("$1.", 33_000),
		"words":    strings.Repeat("the ", 25_000),
		"apart":    strings.Repeat("'s ", 33_000),
	}
}

func TestHostile(t *testing.T) {
	for name, text := range hostile() {
		checkSpans(t, text)
		for _, c := range clauses(text) {
			if c.text == "" {
				t.Errorf("%s: an empty clause", name)
			}
		}
		got, err := English().Phonemes(t.Context(), text)
		if err != nil || !utf8.ValidString(got) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkSpans checks that sentences are in order, trimmed, short, and say something.
func checkSpans(t *testing.T, text string) {
	t.Helper()
	at := 0
	for _, s := range Sentences(text) {
		if s.From < at || s.To <= s.From || s.To > len(text) {
			t.Fatalf("span %v after %d of %d", s, at, len(text))
		}
		piece := text[s.From:s.To]
		if n := utf8.RuneCountInString(piece); n > longest {
			t.Fatalf("%d characters", n)
		}
		if strings.TrimSpace(piece) != piece {
			t.Fatalf("white space around %q", piece)
		}
		at = s.To
	}
	for _, r := range text[at:] {
		if sayable(r) && len(Sentences(text)) == 0 {
			t.Fatalf("%q is left out", text[at:])
		}
	}
}

func FuzzText(f *testing.F) {
	for _, text := range []string{
		"Dr. No paid $5.50 on 3/4/2021 at 5:30 p.m.", "a\xff.\n\n- b", "Henry VIII's", "x@y.com 1/2 3½ '90s", "你好。😀",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			return
		}
		checkSpans(t, text)
		clauses(text)
		got, err := English().Phonemes(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(got) || strings.Contains(got, "  ") || strings.HasPrefix(got, " ") {
			t.Fatalf("%q: %q", text, got)
		}
	})
}

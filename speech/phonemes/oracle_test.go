//go:build !js && !wasip1

package phonemes

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/speech/phonemes/internal/spoken"
)

// symbol matches a phoneme.
var symbol = regexp.MustCompile(`tʃ|dʒ|eɪ|aɪ|aʊ|ɔɪ|oʊ|ʔn̩|.[ː̩]?`)

// split returns the phonemes of a text. Marks of stress are phonemes of their own if they count.
func split(s string, stress bool) []string {
	drop := " ,.?!:;"
	if !stress {
		drop += "ˈˌ"
	}
	s = strings.Map(func(r rune) rune {
		if strings.ContainsRune(drop, r) {
			return -1
		}
		return r
	}, s)
	return symbol.FindAllString(s, -1)
}

// distance returns how many phonemes must be put in, taken out or replaced to make one list the
// other.
func distance(a, b []string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		last := row[0]
		row[0] = i + 1
		for j, y := range b {
			d := last
			if x != y {
				d = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"kˈæt", "kæt", 0}, {"kæt", "kæts", 1}, {"tʃiːz", "ʃiːz", 1}, {"", "kæt", 3}, {"ˈoʊ", "ɔ", 1}} {
		if got := distance(split(c.a, false), split(c.b, false)); got != c.want {
			t.Errorf("%s, %s: %d", c.a, c.b, got)
		}
	}
}

// sentences returns the texts of a file.
func sentences(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/sentences.txt")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			list = append(list, line)
		}
	}
	if len(list) != 1000 {
		t.Fatalf("%d sentences", len(list))
	}
	return list
}

// ask returns the program's phonemes of texts, many in each run.
func ask(t *testing.T, texts []string) []string {
	t.Helper()
	c, err := Espeak("en-us")
	testenv.Need(t, err)
	e := c.(*espeak)
	answers := make([]string, len(texts))
	for from := 0; from < len(texts); from += 100 {
		var all []string
		var of []int
		for i, text := range texts[from:min(from+100, len(texts))] {
			for _, c := range clauses(text) {
				all, of = append(all, c.text), append(of, from+i)
			}
		}
		out, err := e.clauses(t.Context(), all)
		if err != nil {
			t.Fatal(err)
		}
		for k, s := range out {
			answers[of[k]] += s + " "
		}
	}
	return answers
}

// said returns a text in the words of English, without digits and signs.
func said(text string) string {
	var b strings.Builder
	for _, t := range spoken.Tokens(text) {
		if t.Kind != spoken.Mark {
			b.WriteByte(' ')
		}
		if t.Kind == spoken.Letters {
			t.Text = strings.ToUpper(t.Text)
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// TestAgainstEspeak compares English with the program. People say amounts, dates and years in other
// words than the program, so two cases leave such sentences out, and two give the program the words
// that are said.
func TestAgainstEspeak(t *testing.T) {
	if testing.Short() {
		t.Skip("the program takes seconds")
	}
	texts := sentences(t)
	words := make([]string, len(texts))
	for i, text := range texts {
		words[i] = said(text)
	}
	asWritten, asSaid := ask(t, texts), ask(t, words)
	for _, c := range []struct {
		name           string
		want           []string
		digits, stress bool    // sentences with digits, too; marks of stress count
		lowest, bound  float64 // percent
	}{
		{"all sentences", asWritten, true, false, 1, 3.7},
		{"all sentences, with stress", asWritten, true, true, 1, 4.2},
		{"sentences without digits", asWritten, false, false, 0.5, 1.6},
		{"sentences without digits, with stress", asWritten, false, true, 0.5, 2},
		{"words that are said", asSaid, true, false, 0.5, 2},
		{"words that are said, with stress", asSaid, true, true, 0.5, 3},
	} {
		wrong, all, n := 0, 0, 0
		for i, text := range texts {
			if !c.digits && strings.ContainsAny(text, "0123456789") {
				continue
			}
			ours, err := English().Phonemes(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			reference := split(c.want[i], c.stress)
			wrong += distance(split(ours, c.stress), reference)
			all += len(reference)
			n++
		}
		rate := 100 * float64(wrong) / float64(all)
		t.Logf("%s: %.2f %% of %d phonemes differ (%d sentences)", c.name, rate, all, n)
		if rate > c.bound || rate < c.lowest {
			t.Errorf("%s: %.2f %%, expected are %.1f to %.1f %%", c.name, rate, c.lowest, c.bound)
		}
	}
}

func BenchmarkEnglish(b *testing.B) {
	texts := sentences(b)
	for b.Loop() {
		for _, text := range texts {
			if _, err := English().Phonemes(context.Background(), text); err != nil {
				b.Fatal(err)
			}
		}
	}
}

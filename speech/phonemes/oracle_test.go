//go:build !js && !wasip1

package phonemes

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nacre-ml/nacre/internal/testenv"
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

// distance returns how many phonemes must be put in, taken out or replaced to make one list the other.
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

// TestAgainstEspeak compares English with the program on sentences as they are, and on the ones without digits:
// people say amounts, dates and years in other words than the program does.
func TestAgainstEspeak(t *testing.T) {
	texts := sentences(t)
	want := ask(t, texts)
	for _, c := range []struct {
		name          string
		digits        bool // sentences with digits, too
		stress        bool
		bound, lowest float64 // percent
	}{
		{"all sentences", true, false, 4, 1},
		{"all sentences, with stress", true, true, 5, 1},
		{"sentences without digits", false, false, 3, 0.5},
		{"sentences without digits, with stress", false, true, 4, 0.5},
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
			reference := split(want[i], c.stress)
			wrong += distance(split(ours, c.stress), reference)
			all += len(reference)
			n++
		}
		rate := 100 * float64(wrong) / float64(all)
		t.Logf("%s: %.2f %% of %d phonemes differ (%d sentences)", c.name, rate, all, n)
		if rate > c.bound || rate < c.lowest {
			t.Errorf("%s: %.2f %% of the phonemes differ, between %.1f and %.1f %% are expected", c.name, rate, c.lowest, c.bound)
		}
	}
}

// TestSpeed bounds the time of 1,000 sentences generously: a slow machine takes a fifth of it.
func TestSpeed(t *testing.T) {
	texts := sentences(t)
	begin := time.Now()
	for _, text := range texts {
		if _, err := English().Phonemes(context.Background(), text); err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(begin); d > 2*time.Second {
		t.Errorf("1,000 sentences take %v", d)
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

package text

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/op"
)

// TestMachine compares machines with package regexp on random strings.
func TestMachine(t *testing.T) {
	pieces := []string{"a", "b", "A", "k", "\u212a", "é", "\n", "@", ".", "1", "\xff", " ", "語"}
	for _, text := range []string{
		".+@.+", "", "a*", "(a|b)*a(a|b)(a|b)", "(?i)[ak]+", `\pL+`, "^a.*b$", "a$b", "($|a)*", "$^", "^$|a", "(?s).*", "[^a]*",
		"(?:ab?){2,5}", "x*|[a-k]{3}", "(?U)a+b*", "é|語", "(a|aa|aaa)*b", `\ba+\b`, `\B.`, `(?m)^a*$`, `a\z|b`, "a[^b]*b|a", "k?",
	} {
		p, err := compilePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		whole := regexp.MustCompile(`\A(?:` + text + `)\z`)
		s := p.in(new(op.Run).Pace())
		m := s.long()
		r := rand.New(rand.NewPCG(3, 4))
		for range 1000 {
			var b strings.Builder
			for range r.IntN(12) {
				b.WriteString(pieces[r.IntN(1+r.IntN(len(pieces)))])
			}
			var got [][]int
			m.anchored = false
			m.each(b.String(), func(start, stop int) { got = append(got, []int{start, stop}) })
			if want := p.re.FindAllStringIndex(b.String(), -1); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%q in %q: matches are %v, want %v", text, b.String(), got, want)
			}
			m.anchored = true
			_, stop, ok := m.find(b.String(), 0)
			want := whole.MatchString(b.String())
			if all := ok && stop == b.Len(); all != want || s.isAll(b.String()) != want {
				t.Fatalf("%q and all of %q: match is %v", text, b.String(), all)
			}
		}
	}
}

// TestLongSearch matches strings that are too long for package regexp.
func TestLongSearch(t *testing.T) {
	long := strings.Repeat("ab ", 1<<16)
	for text, want := range map[string]bool{"(ab )*": true, "(ab )*a": false, `(\bab )+`: true} {
		p, err := compilePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		if p.isShort(long) || !p.isShort("ab") {
			t.Errorf("%q: strings of %d and 2 bytes are not told apart", text, len(long))
		}
		if got := p.in(new(op.Run).Pace()).isAll(long); got != want {
			t.Errorf("%q: match is %v", text, got)
		}
	}
	p, err := compilePattern("[a-z]+")
	if err != nil {
		t.Fatal(err)
	}
	var tokens []string
	p.in(new(op.Run).Pace()).each(long, func(start, stop int) { tokens = append(tokens, long[start:stop]) })
	if !slices.Equal(tokens, slices.Repeat([]string{"ab"}, 1<<16)) {
		t.Errorf("%d tokens", len(tokens))
	}
}

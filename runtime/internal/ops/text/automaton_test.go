package text

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/op"
)

// TestAutomaton compares automata with package regexp on random strings.
func TestAutomaton(t *testing.T) {
	pieces := []string{"a", "b", "A", "k", "\u212a", "é", "\n", "@", ".", "1", "\xff", "\ufffd", "語"}
	for _, pattern := range []string{
		".+@.+", "", "a*", "(a|b)*a(a|b)(a|b)", "(?i)[ak]+", "(?i)k",
		`\pL+`, `\PL*`, "^a.*b$", "a^b", "a$b", "($|a)*", "(^|a)+(b|$)", "$^", "^$|a",
		"(?s).*", ".*", "[^a]*", `\D+1?`,
		"(?:ab?){2,5}", "x*|[a-k]{3}", `\x{FFFD}+`, "(?U)a+b*", "é|語", "(a|aa|aaa)*b", "[a\\n]*",
	} {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		a, want := newAutomaton(tree), regexp.MustCompile(`\A(?:`+pattern+`)\z`)
		if a == nil {
			t.Fatalf("%q has no automaton", pattern)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 2000 {
			var s strings.Builder
			for range r.IntN(8) {
				s.WriteString(pieces[r.IntN(1+r.IntN(len(pieces)))])
			}
			if got := a.match(new(op.Run).Pace(), s.String()); got != want.MatchString(s.String()) {
				t.Fatalf("%q and %q: match is %v", pattern, s.String(), got)
			}
		}
	}
}

// TestAutomatonBounds checks that some patterns have no automaton.
func TestAutomatonBounds(t *testing.T) {
	for _, pattern := range []string{`a\b`, `(?m)a$`, "(a|b)*a(a|b){18}", strings.Repeat("ab", 200)} {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if newAutomaton(tree) != nil {
			t.Errorf("%.20q has an automaton", pattern)
		}
	}
}

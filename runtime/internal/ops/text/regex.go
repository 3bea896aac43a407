package text

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// regexMatch reports which strings a pattern matches as a whole. Patterns are RE2's without \C,
// which would match part of a character.
type regexMatch struct {
	automaton *automaton // nil if the pattern has none
	pattern   *pattern
}

// Bounds on patterns. They limit the size of a compiled pattern and the time per character of a
// string.
const (
	maxPatternBytes = 1 << 16
	maxPatternSize  = 1 << 16 // steps, with repetitions expanded
)

func newRegexMatch(n *op.Node) (op.Op, error) {
	if !n.Has("pattern") {
		return nil, graph.Errorf(graph.ErrFormat, "has no attribute pattern")
	}
	p, err := compilePattern(n.Str("pattern", ""))
	if err != nil {
		return nil, err
	}
	return &regexMatch{newAutomaton(p.tree), p}, nil
}

// pattern is a compiled expression. It finds the leftmost match, and the longest of these. That
// match spans the whole string if any match does.
type pattern struct {
	tree *syntax.Regexp
	re   *regexp.Regexp
	prog *syntax.Prog
	size int
}

// shortSearch bounds the strings that package regexp searches, since it cannot be stopped. A search
// for all matches takes time up to the square of the length per step of the pattern.
const shortSearch = 1 << 22

// isShort reports whether package regexp may search s.
func (p *pattern) isShort(s string) bool {
	return len(s) < 1<<16 && len(s)*len(s) <= shortSearch/p.size
}

// search finds matches of a pattern in a run.
type search struct {
	*pattern
	pace    *op.Pace
	machine *machine // nil until a string is long
}

// in returns a search for the pattern in a run.
func (p *pattern) in(pace *op.Pace) *search { return &search{pattern: p, pace: pace} }

func (s *search) long() *machine {
	if s.machine == nil {
		s.machine = newMachine(s.prog, s.pace)
	}
	return s.machine
}

// isAll reports whether a match spans the text.
func (s *search) isAll(text string) bool {
	s.pace.Work(64)
	if s.isShort(text) {
		at := s.re.FindStringIndex(text)
		return at != nil && at[0] == 0 && at[1] == len(text)
	}
	m := s.long()
	m.anchored = true
	_, stop, ok := m.find(text, 0)
	return ok && stop == len(text)
}

// each yields the bounds of matches that do not overlap.
func (s *search) each(text string, yield func(start, stop int)) {
	s.pace.Work(64)
	if !s.isShort(text) {
		s.long().each(text, yield)
		return
	}
	for _, at := range s.re.FindAllStringIndex(text, -1) {
		yield(at[0], at[1])
	}
}

// compilePattern compiles the text of a pattern.
func compilePattern(text string) (*pattern, error) {
	if len(text) > maxPatternBytes {
		return nil, graph.Errorf(graph.ErrUnsupported, "a pattern of %d bytes; at most %d are taken", len(text),
			maxPatternBytes)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if bad := new(syntax.Error); errors.As(err, &bad) && bad.Code == syntax.ErrInvalidEscape && bad.Expr == `\C` {
		return nil, graph.Errorf(graph.ErrUnsupported, `pattern: \C, any byte, is not supported; (?s:.) is any character`)
	}
	if err != nil {
		return nil, graph.Errorf(graph.ErrFormat, "pattern: %w", err)
	}
	if size := patternSize(tree); size > maxPatternSize {
		return nil, graph.Errorf(graph.ErrUnsupported,
			"the pattern has at least %d steps when its repetitions are written out; at most %d are taken", size, maxPatternSize)
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, graph.Errorf(graph.ErrFormat, "pattern: %w", err)
	}
	re.Longest()
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, graph.Errorf(graph.ErrFormat, "pattern: %w", err)
	}
	return &pattern{tree, re, prog, len(prog.Inst)}, nil
}

// patternSize estimates the steps of a compiled pattern. It stops counting above the bound.
func patternSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)
	if re.Op == syntax.OpCharClass {
		size = 1
	}
	for _, sub := range re.Sub {
		if size += patternSize(sub); size > maxPatternSize {
			return size
		}
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min+1, re.Max)
	}
	return size
}

// Infer keeps the extents.
func (o *regexMatch) Infer(c *op.Infer) error {
	c.Set(0, tensor.Bool, c.In[0].Dims)
	return nil
}

// Run matches every string.
func (o *regexMatch) Run(c *op.Run) error {
	y, pace := tensor.View[bool](c.Out[0]), c.Pace()
	search := o.pattern.in(pace)
	for i, s := range c.In[0].Strings() {
		if o.automaton != nil {
			y[i] = o.automaton.match(pace, s)
		} else {
			y[i] = search.isAll(s)
		}
	}
	return nil
}

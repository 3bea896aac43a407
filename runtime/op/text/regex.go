package text

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// regexMatch tells which strings a pattern matches from end to end. Patterns are
// those of RE2, without \C, which would match part of a character.
type regexMatch struct{ match func(s string) bool }

// Bounds on patterns: what one compiles to grows with both, and so does the time
// that each character of a string takes.
const (
	maxPatternBytes = 1 << 16
	maxPatternSize  = 1 << 16 // steps, with repetitions written out
)

func newRegexMatch(n *op.Node) (op.Op, error) {
	if !n.Has("pattern") {
		return nil, graph.Errorf(graph.ErrFormat, "has no attribute pattern")
	}
	_, tree, err := compilePattern(n.Str("pattern", ""))
	if err != nil {
		return nil, err
	}
	if a := newAutomaton(tree); a != nil {
		return &regexMatch{a.match}, nil
	}
	re, err := regexp.Compile(`\A(?:` + tree.String() + `)\z`)
	if err != nil {
		return nil, graph.Errorf(graph.ErrFormat, "pattern: %w", err)
	}
	return &regexMatch{re.MatchString}, nil
}

// compilePattern returns a pattern and its parse. Of the matches that start first
// the longest is found: it spans all of a string if any match does.
func compilePattern(pattern string) (*regexp.Regexp, *syntax.Regexp, error) {
	if len(pattern) > maxPatternBytes {
		return nil, nil, graph.Errorf(graph.ErrUnsupported, "a pattern of %d bytes; at most %d are taken", len(pattern), maxPatternBytes)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if bad := new(syntax.Error); errors.As(err, &bad) && bad.Code == syntax.ErrInvalidEscape && bad.Expr == `\C` {
		return nil, nil, graph.Errorf(graph.ErrUnsupported, `pattern: \C, any byte, is not supported; (?s:.) is any character`)
	}
	if err != nil {
		return nil, nil, graph.Errorf(graph.ErrFormat, "pattern: %w", err)
	}
	if size := patternSize(tree); size > maxPatternSize {
		return nil, nil, graph.Errorf(graph.ErrUnsupported, "the pattern has at least %d steps when its repetitions are written out; at most %d are taken", size, maxPatternSize)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, nil, graph.Errorf(graph.ErrFormat, "pattern: %w", err)
	}
	re.Longest()
	return re, tree, nil
}

// patternSize estimates the steps of a compiled pattern; once beyond the bound it
// stops counting.
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

// Infer keeps the shape.
func (o *regexMatch) Infer(c *op.Infer) error {
	c.Set(0, tensor.Bool, c.In[0].Dims)
	return nil
}

// Run matches every string.
func (o *regexMatch) Run(c *op.Run) error {
	y := tensor.View[bool](c.Out[0])
	for i, s := range c.In[0].Strings() {
		if i%1024 == 0 && c.Stopped() {
			return op.ErrStopped
		}
		y[i] = o.match(s)
	}
	return nil
}

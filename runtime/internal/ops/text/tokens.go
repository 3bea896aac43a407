package text

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tokenizer cuts strings into tokens. Tokens are the parts between separators, applied one after
// the other, or single characters, or the matches of an expression if no separators are given. Each
// string fills a row with its tokens, padded to the longest row.
type tokenizer struct {
	expression *pattern   // nil for separators
	separators []*pattern // none for single characters
	least      int        // fewest characters of a token; shorter ones are dropped
	mark       bool       // rows are enclosed in the control characters 2 and 3
	pad        string
}

func newTokenizer(n *op.Node) (op.Op, error) {
	for _, name := range []string{"mark", "pad_value", "mincharnum"} {
		if !n.Has(name) {
			return nil, graph.Errorf(graph.ErrFormat, "has no attribute %s", name)
		}
	}
	o := &tokenizer{least: n.Int("mincharnum", 1), mark: n.Bool("mark", false), pad: n.Str("pad_value", "")}
	if o.least < 1 {
		return nil, graph.Errorf(graph.ErrFormat, "mincharnum is %d; a token has at least 1 character", o.least)
	}
	list, pattern := n.Strs("separators"), n.Str("tokenexp", "")
	switch {
	case list == nil && pattern != "":
		var err error
		o.expression, err = compilePattern(pattern)
		return o, err
	case len(list) == 0:
		return nil, graph.Errorf(graph.ErrFormat, "has no separators and no tokenexp, or they are empty")
	case len(list) == 1 && list[0] == "":
		if o.least > 1 {
			return nil, graph.Errorf(graph.ErrFormat, "mincharnum is %d, and tokens are single characters", o.least)
		}
		return o, nil
	}
	size := 0
	for _, text := range list {
		p, err := compilePattern(text)
		if err != nil {
			return nil, err
		}
		if matchesEmpty(p.tree) {
			return nil, graph.Errorf(graph.ErrUnsupported,
				"separator %q matches an empty string; one that takes a character or more is supported", text)
		}
		if size += patternSize(p.tree); size > maxPatternSize {
			return nil, graph.Errorf(graph.ErrUnsupported,
				"the separators have more than %d steps when their repetitions are written out", maxPatternSize)
		}
		o.separators = append(o.separators, p)
	}
	return o, nil
}

// matchesEmpty reports whether a pattern can match an empty string.
func matchesEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpNoMatch, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return false
	case syntax.OpLiteral:
		return len(re.Rune) == 0
	case syntax.OpCapture, syntax.OpPlus:
		return matchesEmpty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || matchesEmpty(re.Sub[0])
	case syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !matchesEmpty(sub) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, matchesEmpty)
	}
	return true // assertions, and repetitions that may be empty
}

// Infer leaves the length of the rows unknown. Input without strings gives output without strings:
// a vector stays one, and a matrix loses its columns.
func (o *tokenizer) Infer(c *op.Infer) error {
	dims := c.In[0].Dims
	var out graph.Dims
	if dims != nil {
		if len(dims) != 1 && len(dims) != 2 {
			return graph.Errorf(graph.ErrShape, "input is %v; it takes [c] or [n,c]", c.In[0].Type)
		}
		if !slices.ContainsFunc(dims, func(d graph.Dim) bool { n, ok := d.Value(); return !ok || n == 0 }) {
			out = append(slices.Clone(dims), graph.Unknown())
		}
	}
	c.Set(0, tensor.String, out)
	return nil
}

// Run counts the tokens, then cuts.
func (o *tokenizer) Run(c *op.Run) error {
	x, longest := c.In[0], 0
	shape := x.Shape().Clone()
	if len(shape) != 1 && len(shape) != 2 {
		return graph.Errorf(graph.ErrShape, "input is %v; it takes [c] or [n,c]", x)
	}
	cut := o.cutter(c.Pace())
	for i, s := range x.Strings() {
		if !utf8.ValidString(s) {
			return graph.Errorf(graph.ErrFormat, "string %d is not UTF-8", i)
		}
		n := 0
		cut.each(s, func(string) { n++ })
		longest = max(longest, n)
	}
	if longest > 0 && o.mark {
		longest += 2
	}
	if x.Len() == 0 {
		shape[len(shape)-1] = 0
	} else {
		shape = append(shape, longest)
	}
	y, err := c.Output(0, tensor.String, shape)
	if err != nil || longest == 0 {
		return err
	}
	for i, s := range x.Strings() {
		cut.pace.Work(longest)
		row := y.Strings()[i*longest : i*longest : (i+1)*longest]
		if o.mark {
			row = append(row, "\x02")
		}
		cut.each(s, func(token string) { row = append(row, token) })
		if o.mark {
			row = append(row, "\x03")
		}
		for len(row) < longest {
			row = append(row, o.pad)
		}
	}
	return nil
}

// cutter cuts the strings of a run.
type cutter struct {
	*tokenizer
	pace       *op.Pace
	expression *search
	separators []*search
}

func (o *tokenizer) cutter(pace *op.Pace) *cutter {
	c := &cutter{tokenizer: o, pace: pace}
	if o.expression != nil {
		c.expression = o.expression.in(pace)
	}
	for _, p := range o.separators {
		c.separators = append(c.separators, p.in(pace))
	}
	return c
}

// each yields the tokens of s in order.
func (o *cutter) each(s string, yield func(token string)) {
	switch {
	case o.expression != nil:
		o.expression.each(s, func(start, stop int) { o.keep(s[start:stop], yield) })
	case o.separators == nil:
		for len(s) > 0 {
			o.pace.Work(8)
			_, n := utf8.DecodeRuneInString(s)
			yield(s[:n])
			s = s[n:]
		}
	default:
		o.between(s, o.separators, yield)
	}
}

// between yields the parts of s between matches of the first separator, cut by the other
// separators.
func (o *cutter) between(s string, separators []*search, yield func(token string)) {
	if len(separators) == 0 {
		yield(s)
		return
	}
	rest := func(part string) { o.between(part, separators[1:], yield) }
	if literal, whole := separators[0].re.LiteralPrefix(); whole && literal != "" {
		for found := true; found; {
			var part string
			part, s, found = strings.Cut(s, literal)
			o.keep(part, rest)
		}
		return
	}
	end := 0 // of the previous match
	separators[0].each(s, func(start, stop int) {
		o.keep(s[end:start], rest)
		end = stop
	})
	o.keep(s[end:], rest)
}

// keep yields s unless it is too short.
func (o *cutter) keep(s string, yield func(token string)) {
	o.pace.Work(16 + len(s))
	if s != "" && utf8.RuneCountInString(s) >= o.least {
		yield(s)
	}
}

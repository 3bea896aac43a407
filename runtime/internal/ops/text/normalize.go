package text

import (
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// stringNormalizer drops stop words and changes the case of the other strings. If none is left, the
// result is one empty string.
type stringNormalizer struct {
	stop    map[string]bool // in the case of compare
	compare *casing         // case for comparison; nil to compare exactly
	change  *casing         // case of the results; nil to keep it
}

func newStringNormalizer(n *op.Node) (op.Op, error) {
	o := &stringNormalizer{stop: map[string]bool{}}
	lower, err := readLocale(n.Str("locale", ""))
	if err != nil {
		return nil, err
	}
	upper := lower
	upper.upper = true
	switch action := n.Str("case_change_action", "NONE"); action {
	case "NONE":
	case "LOWER":
		o.change = &lower
	case "UPPER":
		o.change = &upper
	default:
		return nil, graph.Errorf(graph.ErrFormat, "case_change_action is %q; it takes LOWER, UPPER or NONE", action)
	}
	if !n.Bool("is_case_sensitive", false) {
		if o.compare = o.change; o.compare == nil {
			o.compare = &lower
		}
	}
	compare := o.compare.mapping()
	for _, word := range n.Strs("stopwords") {
		o.stop[compare(word)] = true
	}
	return o, nil
}

// casing is a change of case by the rules of Unicode for a language. It may change the number of
// letters.
type casing struct {
	language language.Tag
	ascii    bool // only ASCII letters change
	upper    bool
}

// readLocale reads the name of a locale, a language tag or a POSIX name such as tr_TR.UTF-8. An
// empty name selects the rules shared by most languages.
func readLocale(name string) (casing, error) {
	switch name {
	case "":
		return casing{}, nil
	case "C", "POSIX":
		return casing{ascii: true}, nil
	}
	base, _, _ := strings.Cut(name, "@")
	base, _, _ = strings.Cut(base, ".")
	if base == "C" {
		return casing{}, nil
	}
	tag, err := language.Parse(base)
	if err != nil {
		return casing{}, graph.Errorf(graph.ErrUnsupported, "locale %q: %w; names such as en_US, tr-TR or C are known",
			name, err)
	}
	return casing{language: tag}, nil
}

// mapping returns a function that changes strings. It is not safe for concurrent use.
func (k *casing) mapping() func(string) string {
	switch {
	case k == nil:
		return func(s string) string { return s }
	case k.ascii && k.upper:
		return func(s string) string { return mapASCII(s, 'a', 'z') }
	case k.ascii:
		return func(s string) string { return mapASCII(s, 'A', 'Z') }
	case k.upper:
		return cases.Upper(k.language).String
	}
	return cases.Lower(k.language).String
}

// mapASCII swaps the case of the letters from first to last.
func mapASCII(s string, first, last byte) string {
	b := []byte(s)
	for i, v := range b {
		if v >= first && v <= last {
			b[i] ^= 'a' ^ 'A'
		}
	}
	return string(b)
}

// Infer keeps the shape [n] or [1,n] if no string can be dropped.
func (o *stringNormalizer) Infer(c *op.Infer) error {
	dims := c.In[0].Dims
	if dims == nil {
		c.Set(0, tensor.String, nil)
		return nil
	}
	rank := len(dims)
	if rank != 1 && (rank != 2 || dims[0].IsKnown() && !dims[0].Is(1)) {
		return graph.Errorf(graph.ErrShape, "input is %v; it takes [n] or [1,n]", c.In[0].Type)
	}
	out := slices.Clone(dims)
	if rank == 2 {
		out[0] = graph.Known(1)
	}
	switch n, ok := out[rank-1].Value(); {
	case ok && n == 0:
		out[rank-1] = graph.Known(1)
	case !ok || len(o.stop) > 0:
		out[rank-1] = graph.Unknown()
	}
	c.Set(0, tensor.String, out)
	return nil
}

// Run normalizes the strings.
func (o *stringNormalizer) Run(c *op.Run) error {
	x := c.In[0]
	shape := x.Shape().Clone()
	if rank := len(shape); rank != 1 && (rank != 2 || shape[0] != 1) {
		return graph.Errorf(graph.ErrShape, "input is %v; it takes [n] or [1,n]", x)
	}
	compare, change := o.compare.mapping(), o.change.mapping()
	var kept []string
	pace := c.Pace()
	for _, s := range x.Strings() {
		pace.Work(64 + 16*len(s))
		if len(o.stop) > 0 && o.stop[compare(s)] {
			continue
		}
		if o.change != nil {
			s = change(s)
			if err := c.Mem.Reserve(len(s)); err != nil {
				return err
			}
		}
		kept = append(kept, s)
	}
	if len(kept) == 0 {
		kept = []string{""}
	}
	shape[len(shape)-1] = len(kept)
	y, err := c.Output(0, tensor.String, shape)
	if err != nil {
		return err
	}
	copy(y.Strings(), kept)
	return nil
}

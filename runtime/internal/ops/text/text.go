package text

import (
	"slices"
	"strings"
	"unicode"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// stringConcat joins pairs of strings, with broadcasting.
type stringConcat struct{}

func newStringConcat(*op.Node) (op.Op, error) { return stringConcat{}, nil }

// Infer broadcasts the extents.
func (stringConcat) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	dims, err := op.Broadcast(c.In[0].Dims, c.In[1].Dims)
	c.Set(0, tensor.String, dims)
	return err
}

// Run joins the pairs.
func (stringConcat) Run(c *op.Run) error {
	a, b, y := c.In[0].Strings(), c.In[1].Strings(), c.Out[0].Strings()
	w, err := kit.NewWalker(c.Out[0].Shape(), c.In[0].Shape(), c.In[1].Shape())
	if err != nil {
		return err
	}
	pace := c.Pace()
	for i := range y {
		head, tail := a[w.At[0]], b[w.At[1]]
		if err := c.Mem.Reserve(len(head) + len(tail)); err != nil {
			return err
		}
		pace.Work(64 + (len(head)+len(tail))/4)
		y[i] = head + tail
		w.Next()
	}
	return nil
}

// stringSplit cuts strings at a delimiter, or at runs of white space (the Unicode property
// White_Space), which it also trims from both ends. An empty string gives one part, itself, with a
// delimiter, and none with white space. Each string fills a row with its parts, padded with empty
// strings to the longest row.
type stringSplit struct {
	delimiter string // empty for white space
	most      int    // splits per string; negative for no limit
}

func newStringSplit(n *op.Node) (op.Op, error) {
	return &stringSplit{delimiter: n.Str("delimiter", ""), most: n.Int("maxsplit", -1)}, nil
}

// Infer leaves the length of the rows unknown.
func (o *stringSplit) Infer(c *op.Infer) error {
	x := c.In[0]
	c.Set(1, tensor.I64, x.Dims)
	if x.Dims == nil {
		c.Set(0, tensor.String, nil)
		return nil
	}
	c.Set(0, tensor.String, append(slices.Clone(x.Dims), graph.Unknown()))
	return nil
}

// Run counts the parts, then cuts.
func (o *stringSplit) Run(c *op.Run) error {
	x, longest := c.In[0], 0
	counts, err := c.ScratchInt64s(x.Len())
	if err != nil {
		return err
	}
	pace := c.Pace()
	for i, s := range x.Strings() {
		n := 0
		o.each(s, func(part string) { n++; pace.Work(16 + 4*len(part)) })
		counts[i], longest = int64(n), max(longest, n)
	}
	if c.Wants(0) {
		parts, err := c.Output(0, tensor.String, append(x.Shape().Clone(), longest))
		if err != nil {
			return err
		}
		for i, s := range x.Strings() {
			row := parts.Strings()[i*longest : (i+1)*longest]
			n := 0
			pace.Work(longest)
			o.each(s, func(part string) { row[n] = part; n++; pace.Work(16 + 4*len(part)) })
			clear(row[n:])
		}
	}
	if c.Wants(1) {
		copy(tensor.View[int64](c.Out[1]), counts)
	}
	return nil
}

// each yields the parts of s in order.
func (o *stringSplit) each(s string, yield func(part string)) {
	if o.delimiter == "" {
		o.eachField(s, yield)
		return
	}
	for n := 0; n != o.most; n++ {
		part, rest, found := strings.Cut(s, o.delimiter)
		if !found {
			break
		}
		yield(part)
		s = rest
	}
	yield(s)
}

func (o *stringSplit) eachField(s string, yield func(part string)) {
	s = strings.TrimSpace(s)
	for n := 0; s != ""; n++ {
		end := strings.IndexFunc(s, unicode.IsSpace)
		if n == o.most || end < 0 {
			yield(s)
			return
		}
		yield(s[:end])
		s = strings.TrimLeftFunc(s[end:], unicode.IsSpace)
	}
}

var text = op.Types{tensor.String}

// textRows lists operators on strings.
var textRows = []op.Row{
	{Name: "RegexFullMatch", Since: []int{20}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: text, New: newRegexMatch},
	{Name: "StringConcat", Since: []int{20}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: text, Heap: 8, New: newStringConcat},
	{Name: "StringNormalizer", Since: []int{10}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: text, Heap: 56, New: newStringNormalizer},
	{Name: "StringSplit", Since: []int{20}, In: [2]int{1, 1}, Out: [2]int{1, 2}, Types: text, New: newStringSplit},
	{Name: "TfIdfVectorizer", Since: []int{9}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Types{tensor.String, tensor.I32, tensor.I64}, New: newTfIdf},
	{Domain: kit.Microsoft, Name: "Tokenizer", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: text, New: newTokenizer},
}

package tokenizer

import (
	"fmt"
	"math"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ggufMeta is the part of a GGUF file's metadata that concerns text, by key. Its methods take keys
// without ggufPrefix. A value of another type than asked for is the error of the file.
type ggufMeta struct {
	work     *work
	pairs    map[string]*graph.Pair
	warnings []error
	err      error // the first
	made     *gguf // of the tokenizer that was made; nil before, and for a whole tokenizer.json
}

const ggufPrefix = "tokenizer.ggml."

// newGGUFMeta takes the pairs about the tokenizer and the model's name.
func newGGUFMeta(w *work, meta []graph.Pair) *ggufMeta {
	m := &ggufMeta{work: w, pairs: map[string]*graph.Pair{}}
	for i := range meta {
		p := &meta[i]
		if !strings.HasPrefix(p.Key, "tokenizer.") && !strings.HasPrefix(p.Key, "general.") {
			continue
		}
		if _, ok := m.pairs[p.Key]; ok {
			m.fail("%.80s: the metadata has the key twice", p.Key)
		}
		m.pairs[p.Key] = p
	}
	return m
}

// footprint returns the bytes of metadata.
func footprint(meta []graph.Pair) int {
	n := 0
	for _, p := range meta {
		n += len(p.Key) + len(p.Value)
		if p.Data != nil {
			n += tensor.Footprint(p.Data)
		}
	}
	return n
}

// fail sets the error unless there is one.
func (m *ggufMeta) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

func (m *ggufMeta) warn(format string, args ...any) {
	m.warnings = append(m.warnings, fmt.Errorf(format, args...))
}

// value returns the pair of a key, or nil.
func (m *ggufMeta) value(key string) *graph.Pair { return m.pairs[ggufPrefix+key] }

// mistyped sets the error for a value of another type than wanted.
func (m *ggufMeta) mistyped(p *graph.Pair, want string) {
	m.fail("%s is of the type %s, not %s", p.Key, p.Kind, want)
}

// text returns a text under its full key.
func (m *ggufMeta) text(key string) (text string, ok bool) {
	p := m.pairs[key]
	if p == nil {
		return "", false
	}
	if p.Data != nil {
		m.mistyped(p, "string")
		return "", false
	}
	return p.Value, true
}

// flag returns a boolean, or otherwise if there is none.
func (m *ggufMeta) flag(key string, otherwise bool) bool {
	p := m.value(key)
	if p == nil {
		return otherwise
	}
	if p.Data == nil || p.Data.DType() != tensor.Bool || p.Data.Len() != 1 {
		m.mistyped(p, "bool")
		return otherwise
	}
	return p.Data.Bytes()[0] != 0
}

// integer returns a whole number, and whether there is one.
func (m *ggufMeta) integer(key string) (n int64, ok bool) {
	p := m.value(key)
	if p == nil {
		return 0, false
	}
	if p.Data == nil || !p.Data.DType().IsInteger() || p.Data.Len() != 1 {
		m.mistyped(p, "an integer")
		return 0, false
	}
	x := tensor.Numbers(p.Data)(0)
	if math.Abs(x) > 1<<52 {
		m.fail("%s is %g, which is no id", p.Key, x)
		return 0, false
	}
	return int64(x), true
}

// texts returns an array of texts, and whether there is one.
func (m *ggufMeta) texts(key string) (list []string, ok bool) {
	p := m.value(key)
	if p == nil {
		return nil, false
	}
	if p.Data == nil || p.Data.DType() != tensor.String {
		m.mistyped(p, "array of string")
		return nil, false
	}
	return p.Data.Strings(), true
}

// numbers returns the elements of an array of one of two element types, or nil if there is none.
func (m *ggufMeta) numbers(key string, types ...tensor.DType) (at func(i int) float64, n int) {
	p := m.value(key)
	if p == nil {
		return nil, 0
	}
	for _, d := range types {
		if p.Data != nil && p.Data.DType() == d {
			m.work.hold(p.Data.Size()) // a copy if the elements are not aligned
			return tensor.Numbers(p.Data), p.Data.Len()
		}
	}
	m.mistyped(p, "array of "+types[0].String())
	return nil, 0
}

// forTokens is numbers with an element for each token.
func (m *ggufMeta) forTokens(key string, tokens int, types ...tensor.DType) func(i int) float64 {
	at, n := m.numbers(key, types...)
	if at != nil && n != tokens {
		m.fail("%s%s has %d elements, and the vocabulary %d tokens", ggufPrefix, key, n, tokens)
		return nil
	}
	return at
}

package oinf

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Summary writes the content of a model, in the lines that the format's own verifier prints: size
// variables, metadata, and tensors with their first and last elements, statistics and a histogram.
// Statistics are of the finite elements; NaN and infinities are counted. The standard deviation is
// the population's, with division by n.
func Summary(ctx context.Context, w io.Writer, m *graph.Model) (err error) {
	defer guard.At(m.File).End(&err)
	s := &summary{ctx: ctx, w: bufio.NewWriter(w), m: m, left: statistics(m.Graph.Initializers)}
	if og, ok := m.Source.(*origin); ok {
		s.bitsets = og.bitsets
	}
	for _, v := range m.Sizes {
		s.line("%s := %d", v.Name, v.Value)
	}
	s.gap(len(m.Sizes))
	for _, p := range m.Meta {
		s.meta(p)
	}
	s.gap(len(m.Meta))
	weights, declared := m.Graph.Initializers, m.Graph.Values
	for len(weights)+len(declared) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(weights) == 0 || len(declared) > 0 && declared[0].Name < weights[0].Name {
			s.declared(declared[0])
			declared = declared[1:]
		} else {
			s.tensor(weights[0])
			weights = weights[1:]
		}
		s.gap(1)
	}
	return errors.Join(ctx.Err(), s.w.Flush())
}

// statistics returns the number of bytes to compute statistics of. It is many times the bytes of
// the file, but less than a file can claim with tensors that share their bytes.
func statistics(list []*graph.Initializer) int {
	begin, end := int64(math.MaxInt64), int64(0)
	for _, init := range list {
		if init.Stored == nil {
			return math.MaxInt
		}
		begin = min(begin, init.Stored.Offset)
		end = max(end, init.Stored.Offset+int64(len(init.Tensor.Bytes())))
	}
	return int(max(end-begin, 0)) * 16
}

type summary struct {
	ctx     context.Context
	w       *bufio.Writer // keeps the first error
	m       *graph.Model
	bitsets map[string]bool
	left    int
}

func (s *summary) line(format string, args ...any) { fmt.Fprintf(s.w, format+"\n", args...) }

// gap ends a section of n lines with an empty line, if n is not 0.
func (s *summary) gap(n int) {
	if n > 0 {
		s.line("")
	}
}

func (s *summary) meta(p graph.Pair) {
	t := p.Data
	switch {
	case t == nil:
		s.line("%s: str = %q", p.Key, p.Value)
	case p.Kind == types[tagBitset].word:
		s.line("%s: bitset[%d] = % x", p.Key, t.Len(), t.Bytes()[:min(4, len(t.Bytes()))])
	case p.Kind == types[tagNDArray].word:
		s.line("%s: %s%s = %s", p.Key, s.word(t.DType(), ""), dims(t.Shape()), elements(t))
	default:
		s.line("%s: %s = %s", p.Key, p.Kind, element(t, 0))
	}
}

// word returns the format's word for the elements of a tensor.
func (s *summary) word(d tensor.DType, name string) string {
	if s.bitsets[name] {
		return types[tagBitset].word
	}
	return types[tagOf(d)].word
}

func (s *summary) declared(v *graph.Value) {
	shape, _ := v.Type.Dims.Concrete()
	s.line("%s: %s%s -- uninitialized", v.Name, s.word(v.Type.DType, v.Name), dims(shape))
	s.quant(v.Meta)
}

func (s *summary) tensor(init *graph.Initializer) {
	t, word := init.Tensor, s.word(init.Tensor.DType(), init.Name)
	switch t.Len() {
	case 0:
		s.line("%s: %s%s -- uninitialized", init.Name, word, dims(t.Shape()))
	case 1:
		s.line("%s: %s = %s", init.Name, word, element(t, 0))
	default:
		s.line("%s: %s%s = %s", init.Name, word, dims(t.Shape()), elements(t))
		s.stats(t)
	}
	s.quant(init.Meta)
}

func (s *summary) stats(t *tensor.Tensor) {
	size := len(t.Bytes())
	if size > s.left {
		s.line("- [nbytes: %d; no statistics: the tensors of the file share their bytes many times over]", size)
		return
	}
	s.left -= size
	d := describe(s.ctx, t)
	others := ""
	for _, o := range []struct {
		word string
		n    int
	}{{"nan", d.nan}, {"inf", d.plus}, {"-inf", d.minus}} {
		if o.n > 0 {
			others += fmt.Sprintf(", %s: %d", o.word, o.n)
		}
	}
	s.line("- [nbytes: %d, min: %s, max: %s, mean: %s, median: %s, std: %s%s]", size,
		number(d.min), number(d.max), number(d.mean), number(d.median), number(d.std), others)
	bins := make([]string, len(d.bins))
	for i, b := range d.bins {
		bins[i] = fmt.Sprintf("([%s, %s], %d)", number(b.low), number(b.high), b.n)
	}
	if len(bins) == 0 {
		bins = []string{"(empty)"}
	}
	s.line("- hist: {%s}", strings.Join(bins, ", "))
}

func (s *summary) quant(list []graph.Pair) {
	for _, p := range list {
		if p.Data != nil {
			s.line("- %s: %s = %s", p.Key, p.Kind, elements(p.Data))
		} else {
			s.line("- %s: %s", p.Key, p.Value)
		}
	}
}

func dims(shape tensor.Shape) string {
	list := make([]string, len(shape))
	for i, n := range shape {
		list[i] = strconv.Itoa(n)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// elements returns the text of a vector, or of the first few parts of a tensor with more axes.
func elements(t *tensor.Tensor) string {
	shape := t.Shape()
	if len(shape) < 2 {
		return vector(t, 0, t.Len())
	}
	var b strings.Builder
	b.WriteString("{ \n")
	rows := min(shape[0], len(shape), 5)
	for i := range rows {
		n := t.Len() / shape[0]
		b.WriteString(vector(t, i*n, n) + " ,\n")
	}
	if shape[0] > rows {
		b.WriteString("...\n")
	}
	b.WriteString("}")
	return b.String()
}

// vector returns the text of n elements. If n is more than ten, it has the first and the last five.
func vector(t *tensor.Tensor, begin, n int) string {
	var list []string
	for i := 0; i < n; i++ {
		if n > 10 && i == 5 {
			list = append(list, "...")
			i = n - 5
		}
		list = append(list, element(t, begin+i))
	}
	return "{ " + strings.Join(list, ", ") + " }"
}

// element returns the text of one element. Floating-point numbers have six digits.
func element(t *tensor.Tensor, i int) string {
	if !t.DType().IsFloat() {
		return t.Text(i)
	}
	var v [1]float64
	decoder(t.DType())(v[:], t.Bytes()[t.DType().Bytes(i):])
	return number(v[0])
}

// number returns the text of v with six digits.
func number(v float64) string {
	switch {
	case v != v:
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

package graph

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// maxShown is the most elements of a constant in a dump.
const maxShown = 8

// Dump writes a model as text, for people and for comparison. Equal models give equal texts. For a
// constant it writes the type and, if there are few, the elements.
func Dump(w io.Writer, m *Model) error {
	d := newDumper(w)
	d.line("model %s ir %d", m.Format, m.IR)
	d.depth++
	d.note("producer", m.Producer, m.ProducerVer)
	d.note("domain", m.Domain)
	if m.Version != 0 {
		d.line("version %d", m.Version)
	}
	d.opsets(m.Opsets)
	d.meta(m.Meta)
	d.note("doc", m.Doc)
	d.depth--
	if m.Graph != nil {
		d.graph("graph", m.Graph)
	}
	for _, f := range m.Functions {
		d.function(f)
	}
	return d.w.Flush()
}

// DumpGraph writes one graph as Dump does.
func DumpGraph(w io.Writer, g *Graph) error {
	d := newDumper(w)
	d.graph("graph", g)
	return d.w.Flush()
}

func newDumper(w io.Writer) *dumper { return &dumper{w: bufio.NewWriter(w)} }

// dumper writes lines. Its writer keeps the first error.
type dumper struct {
	w     *bufio.Writer
	depth int
}

func (d *dumper) line(format string, args ...any) {
	for range d.depth {
		d.w.WriteString("  ")
	}
	fmt.Fprintf(d.w, format, args...)
	d.w.WriteByte('\n')
}

// note writes quoted texts, unless all are empty.
func (d *dumper) note(what string, texts ...string) {
	var quoted []string
	for _, s := range texts {
		if s != "" {
			quoted = append(quoted, strconv.Quote(s))
		}
	}
	if len(quoted) > 0 {
		d.line("%s %s", what, strings.Join(quoted, " "))
	}
}

func (d *dumper) meta(list []Pair) {
	for _, p := range list {
		d.line("meta %q = %q", p.Key, p.Value)
	}
}

func (d *dumper) opsets(list []Opset) {
	for _, o := range list {
		name := o.Domain
		if name == "" {
			name = "ai.onnx"
		}
		d.line("opset %s %d", word(name), o.Version)
	}
}

func (d *dumper) graph(what string, g *Graph) {
	d.line("%s %s {", what, word(g.Name))
	d.depth++
	d.note("doc", g.Doc)
	d.meta(g.Meta)
	d.values("input", g.Inputs)
	for _, t := range g.Initializers {
		d.line("constant %s %s", word(t.Name), constant(t.Tensor))
		d.details(t.Doc, t.Meta)
	}
	for _, t := range g.Sparse {
		d.line("constant %s %s", word(t.Name), sparse(t.Tensor))
	}
	d.values("value", g.Values)
	for _, q := range g.Quant {
		d.line("quantized %s %s", word(q.Tensor), pairs(q.Params))
	}
	for _, n := range g.Nodes {
		d.node(n)
	}
	d.values("output", g.Outputs)
	d.depth--
	d.line("}")
}

func (d *dumper) function(f *Function) {
	d.line("function %s (%s) -> (%s) {", word(strings.Join(strip(f.Domain, f.Name, f.Overload), ".")), words(f.Inputs),
		words(f.Outputs))
	d.depth++
	d.note("doc", f.Doc)
	d.meta(f.Meta)
	d.opsets(f.Opsets)
	for _, name := range f.Attrs {
		d.line("attribute %s", word(name))
	}
	for _, a := range f.Defaults {
		d.attr("attribute ", a)
	}
	d.values("value", f.Values)
	for _, n := range f.Nodes {
		d.node(n)
	}
	d.depth--
	d.line("}")
}

func (d *dumper) values(what string, list []*Value) {
	for _, v := range list {
		d.line("%s %s %v", what, word(v.Name), v.Type)
		d.details(v.Doc, v.Meta)
	}
}

func (d *dumper) details(doc string, meta []Pair) {
	d.depth++
	d.note("doc", doc)
	d.meta(meta)
	d.depth--
}

func (d *dumper) node(n *Node) {
	op := word(n.OpName())
	if n.Overload != "" {
		op += ":" + word(n.Overload)
	}
	name := ""
	if n.Name != "" {
		name = " as " + word(n.Name)
	}
	d.line("%s = %s(%s)%s", words(n.Outputs), op, words(n.Inputs), name)
	d.depth++
	for _, a := range n.Attrs {
		d.attr(".", a)
	}
	d.depth--
	d.details(n.Doc, n.Meta)
}

func (d *dumper) attr(prefix string, a *Attr) {
	if a.Ref != "" {
		d.line("%s%s = attribute %s", prefix, word(a.Name), word(a.Ref))
		return
	}
	if graphs := a.Subgraphs(); len(graphs) > 0 {
		for _, g := range graphs {
			d.graph(prefix+word(a.Name)+" = graph", g)
		}
		return
	}
	d.line("%s%s = %s", prefix, word(a.Name), attrText(a))
}

func attrText(a *Attr) string {
	switch a.Kind {
	case AttrFloat:
		return float(a.Float)
	case AttrInt:
		return strconv.FormatInt(a.Int, 10)
	case AttrString:
		return strconv.Quote(string(a.Str))
	case AttrTensor:
		return constant(a.Tensor)
	case AttrSparse:
		return sparse(a.Sparse)
	case AttrType:
		return fmt.Sprint(a.Type)
	case AttrFloats:
		return list(a.Floats, float)
	case AttrInts:
		return list(a.Ints, func(n int64) string { return strconv.FormatInt(n, 10) })
	case AttrStrings:
		return list(a.Strs, func(s []byte) string { return strconv.Quote(string(s)) })
	case AttrTensors:
		return list(a.Tensors, constant)
	case AttrSparses:
		return list(a.Sparses, sparse)
	case AttrTypes:
		return list(a.Types, func(t *Type) string { return t.String() })
	}
	return "(" + a.Kind.String() + ")"
}

func float(f float32) string { return strconv.FormatFloat(float64(f), 'g', -1, 32) }

func list[T any](s []T, text func(T) string) string {
	parts := make([]string, len(s))
	for i, x := range s {
		parts[i] = text(x)
	}
	return "[" + strings.Join(parts, " ") + "]"
}

func constant(t *tensor.Tensor) string {
	if t == nil || t.Len() > maxShown {
		return t.String()
	}
	parts := make([]string, t.Len())
	for i := range parts {
		parts[i] = t.Text(i)
	}
	return t.String() + " {" + strings.Join(parts, " ") + "}"
}

func sparse(t *SparseTensor) string {
	if t == nil {
		return "none"
	}
	return fmt.Sprintf("sparse%v %s at %s", t.Shape, constant(t.Values), constant(t.Indices))
}

func pairs(list []Pair) string {
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i] = word(p.Key) + "=" + word(p.Value)
	}
	return strings.Join(parts, " ")
}

// word returns a name, quoted if it could be ambiguous.
func word(s string) string {
	for _, r := range s {
		if r <= ' ' || r == ',' || r == '"' || r == '(' || r == ')' || r == '=' || r == 0x7f || !strconv.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	if s == "" {
		return `""`
	}
	return s
}

func words(list []string) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = "_"
		if s != "" {
			parts[i] = word(s)
		}
	}
	return strings.Join(parts, ", ")
}

// strip drops empty strings.
func strip(list ...string) []string {
	var out []string
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

package optimize

import (
	"github.com/nacre-ml/nacre/runtime/graph"
)

// attendWriter writes the nodes that come in the place of attention's parts.
type attendWriter struct {
	*finder
	a     *attention
	nodes []*graph.Node
}

// splits reports whether all operands are there before their heads were put in
// front of their rows, in heads of known numbers.
func (w *attendWriter) splits() bool {
	for _, h := range []*heads{w.a.q, w.a.k, w.a.v} {
		_, ok1 := h.dims[1].Value()
		_, ok2 := h.dims[3].Value()
		if h.split == "" || !ok1 || !ok2 {
			return false
		}
	}
	return true
}

// out is the extents of the output with its heads side by side.
func (w *attendWriter) out() graph.Dims {
	q, v := w.a.q.dims, w.a.v.dims
	return graph.Dims{q[0], q[2], q[1].Mul(v[3])}
}

// node appends one with one output, whose name it returns.
func (w *attendWriter) node(op string, version int, inputs []string, attrs ...*graph.Attr) string {
	name := w.fresh(op)
	w.nodes = append(w.nodes, &graph.Node{Name: name, Op: op, Version: version, Inputs: inputs, Outputs: []string{name}, Attrs: attrs})
	return name
}

// write replaces root by the operator, on operands whose heads lie side by side or
// in front of their rows.
func (w *attendWriter) write(root *graph.Node, out string, side bool) bool {
	a := w.a
	attrs := []*graph.Attr{floatAttr("scale", a.scale)}
	if a.cap != 0 {
		attrs = append(attrs, floatAttr("softcap", a.cap))
	}
	w.nodes = append(w.nodes, a.extra...)
	inputs := make([]string, 3, 4)
	for i, h := range []*heads{a.q, a.k, a.v} {
		inputs[i] = w.operand(h, side)
		if side && h.rows != "" {
			attrs[0].Float *= float32(h.scale)
		}
	}
	if mask := w.mask(); mask != "" {
		inputs = append(inputs, mask)
	}
	if !side {
		w.nodes = append(w.nodes, instead(root, "", "Attention", 23, inputs, attrs...))
		return w.replace(root, w.nodes...)
	}
	q, kv := 1, 1
	if len(a.q.dims) == 4 {
		q, _ = a.q.dims[1].Value()
		kv, _ = a.k.dims[1].Value()
	}
	attrs = append(attrs, intAttr("q_num_heads", int64(q)), intAttr("kv_num_heads", int64(kv)))
	if is(root, "Transpose") {
		size, _ := a.v.dims[3].Value()
		y := w.node("Attention", 23, inputs, attrs...)
		w.nodes = append(w.nodes, instead(root, "", "Reshape", 14, []string{y, w.vector(0, 0, q, size)}))
	} else {
		w.nodes = append(w.nodes, instead(root, "", "Attention", 23, inputs, attrs...))
	}
	return w.replace(root, w.nodes...)
}

// operand returns the name of an operand in one of the two forms.
func (w *attendWriter) operand(h *heads, side bool) string {
	switch {
	case side && h.rows != "":
		return h.rows
	case side && len(h.dims) == 4:
		n, _ := h.dims[1].Value()
		d, _ := h.dims[3].Value()
		return w.node("Reshape", 14, []string{h.split, w.vector(0, 0, n*d)})
	case h.turn == nil:
		return h.value
	}
	return w.node("Transpose", 13, []string{h.value}, &graph.Attr{Name: "perm", Kind: graph.AttrInts, Ints: h.turn})
}

// mask returns the name of what all masks add; "" if there is none.
func (w *attendWriter) mask() string {
	sum := ""
	for _, m := range w.a.masks {
		if len(w.a.q.dims) == 3 && len(w.dims(m)) == 3 {
			m = w.node("Unsqueeze", 13, []string{m, w.vector(1)}) // an axis of heads
		}
		if sum != "" {
			m = w.node("Add", 14, []string{sum, m})
		}
		sum = m
	}
	return sum
}

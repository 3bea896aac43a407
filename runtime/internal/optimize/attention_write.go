package optimize

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// attentionWriter replaces the nodes of attention by the operator.
type attentionWriter struct {
	builder
	a *attention
}

// splits reports whether all operands were split into known numbers of heads.
func (w *attentionWriter) splits() bool {
	for _, h := range []*heads{w.a.q, w.a.k, w.a.v} {
		_, ok1 := h.dims[1].Value()
		_, ok2 := h.dims[3].Value()
		if h.split == "" || !ok1 || !ok2 {
			return false
		}
	}
	return true
}

// out returns the extents of the output with its heads side by side.
func (w *attentionWriter) out() graph.Dims {
	q, v := w.a.q.dims, w.a.v.dims
	return graph.Dims{q[0], q[2], q[1].Mul(v[3])}
}

// write replaces root by the operator. If side, the operands have their heads side by side;
// otherwise before their rows.
func (w *attentionWriter) write(root *graph.Node, side bool) bool {
	a := w.a
	attrs := []*graph.Attr{floatAttr("scale", a.scale)}
	if a.cap != 0 {
		attrs = append(attrs, floatAttr("softcap", a.cap))
	}
	if a.zeroed {
		attrs = append(attrs, intAttr("zeroed", 1))
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
		w.replaceRoot(root, nacreDomain, "ComposedAttention", 1, inputs, attrs...)
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
		y := w.apply("ComposedAttention", 1, inputs, attrs...)
		w.nodes[len(w.nodes)-1].Domain = nacreDomain
		w.replaceRoot(root, "", "Reshape", 14, []string{y, w.vector(0, 0, q, size)})
	} else {
		w.replaceRoot(root, nacreDomain, "ComposedAttention", 1, inputs, attrs...)
	}
	return w.replace(root, w.nodes...)
}

// operand returns the name of an operand with its heads side by side or before its
// rows.
func (w *attentionWriter) operand(h *heads, side bool) string {
	switch {
	case side && h.rows != "":
		return h.rows
	case side && len(h.dims) == 4:
		n, _ := h.dims[1].Value()
		d, _ := h.dims[3].Value()
		return w.apply("Reshape", 14, []string{h.split, w.vector(0, 0, n*d)})
	case h.perm == nil:
		return w.unwidened(h)
	}
	return w.apply("Transpose", 13, []string{h.value}, intsAttr("perm", h.perm...))
}

// unwidened returns the keys or values from before a conversion that kernels do as they read them:
// of codes, or, if they are the CPU's, by a Cast from 16-bit floats to float32.
func (w *attentionWriter) unwidened(h *heads) string {
	if n := w.producer(h.value, nacreDomain+".WidenCodes"); n != nil && h != w.a.q {
		return n.Inputs[0]
	}
	n := w.producer(h.value, "Cast")
	if w.Accelerated || h == w.a.q || n == nil || w.dtype(h.value) != tensor.F32 ||
		w.dtype(n.Inputs[0]) != tensor.F16 && w.dtype(n.Inputs[0]) != tensor.BF16 {
		return h.value
	}
	return n.Inputs[0]
}

// mask returns the name of the mask; "" if there is none.
func (w *attentionWriter) mask() string {
	m := w.a.mask
	if m != "" && len(w.a.q.dims) == 3 && w.a.maskRank == 3 {
		return w.apply("Unsqueeze", 13, []string{m, w.vector(1)}) // an axis of heads
	}
	return m
}

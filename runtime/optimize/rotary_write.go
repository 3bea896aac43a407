package optimize

import (
	"fmt"
	"maps"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// rotaryWriter writes the nodes that come in the place of rotations.
type rotaryWriter struct {
	*finder
	caches map[string]string // that there are, by what they are made of and how
	nodes  []*graph.Node     // for the rotation at hand
	made   map[string]string // caches among them
}

// node appends one with one output, whose name it returns.
func (w *rotaryWriter) node(op string, version int, inputs []string, attrs ...*graph.Attr) string {
	name := w.fresh(op)
	w.nodes = append(w.nodes, &graph.Node{Name: name, Op: op, Version: version, Inputs: inputs, Outputs: []string{name}, Attrs: attrs})
	return name
}

// write replaces the parts of a rotation by the operator. Caches of one batch for
// all are rows for positions, from the first on, which the operator of ONNX has no
// form for.
func (w *rotaryWriter) write(r rotation) bool {
	x, cache := w.dims(r.x), w.padded(r.cos, r)
	if len(x) != 4 || cache == nil {
		return false
	}
	for i, d := range w.padded(r.sin, r) {
		if !w.equal(d, cache[i]) {
			return false
		}
	}
	tokens := 2
	if !cache[1].Is(1) || !w.equal(cache[2], x[2]) {
		tokens = 1
	}
	heads := 3 - tokens
	if !cache[heads].Is(1) || !w.equal(cache[tokens], x[tokens]) || !cache[0].Is(1) && !w.equal(cache[0], x[0]) {
		return false
	}
	batches := !cache[0].Is(1)
	w.nodes, w.made = nil, map[string]string{}
	domain, version := "", 23
	inputs := []string{"", w.cache(r.cos, r, tokens, batches), w.cache(r.sin, r, tokens, batches)}
	if !batches {
		domain, version = microsoft, 1
		inputs = []string{"", w.vector(0), inputs[1], inputs[2]}
	}
	attrs := []*graph.Attr{}
	if r.interleaved {
		attrs = append(attrs, intAttr("interleaved", 1))
	}
	if !x[3].Is(r.size) {
		attrs = append(attrs, intAttr("rotary_embedding_dim", int64(r.size)))
	}
	n, ok1 := x[heads].Value()
	size, ok2 := x[3].Value()
	rows := ""
	if ok1 && ok2 {
		rows = w.rows(r.x, tokens, n*size)
	}
	if rows == "" {
		if tokens != 2 {
			return false
		}
		if !x[3].Is(r.size) {
			attrs = append(attrs, intAttr("num_heads", int64(n)))
		}
		inputs[0] = r.x
		w.nodes = append(w.nodes, instead(r.end, domain, "RotaryEmbedding", version, inputs, attrs...))
		return w.done(r)
	}
	inputs[0] = rows
	turned := w.node("RotaryEmbedding", version, inputs, append(attrs, intAttr("num_heads", int64(n)))...)
	w.nodes[len(w.nodes)-1].Domain = domain
	shape := w.vector(0, 0, n, size)
	if tokens == 1 {
		w.nodes = append(w.nodes, instead(r.end, "", "Reshape", 14, []string{turned, shape}))
	} else {
		split := w.node("Reshape", 14, []string{turned, shape})
		w.nodes = append(w.nodes, instead(r.end, "", "Transpose", 13, []string{split}, &graph.Attr{Name: "perm", Kind: graph.AttrInts, Ints: []int64{0, 2, 1, 3}}))
	}
	return w.done(r)
}

// done puts the nodes in the place of the rotation.
func (w *rotaryWriter) done(r rotation) bool {
	if !w.replace(r.end, w.nodes...) {
		return false
	}
	maps.Copy(w.caches, w.made)
	return true
}

// rows returns x as [batch,rows,heads·size]; "" if its heads were never there side
// by side.
func (w *rotaryWriter) rows(x string, tokens, width int) string {
	h := &heads{dims: w.dims(x), scale: 1}
	if tokens == 1 {
		d := h.dims
		h.dims = graph.Dims{d[0], d[2], d[1], d[3]}
		w.splitFrom(h, x)
	} else if t := w.from(x, "Transpose"); w.permutes(t, 0, 2, 1, 3) {
		w.splitFrom(h, t.Inputs[0])
	}
	switch {
	case h.rows != "" && h.scale == 1:
		return h.rows
	case h.split != "":
		return w.node("Reshape", 14, []string{h.split, w.vector(0, 0, width)})
	}
	return ""
}

// padded is the extents of a cache with four axes; nil if it has more or is not as
// wide as it must be.
func (w *rotaryWriter) padded(name string, r rotation) graph.Dims {
	d := w.dims(name)
	width := r.size
	if r.half {
		width /= 2
	}
	if d == nil || len(d) > 4 || len(d) < 2 || !d[len(d)-1].Is(width) {
		return nil
	}
	out := graph.Dims{graph.Known(1), graph.Known(1), graph.Known(1), graph.Known(1)}
	copy(out[4-len(d):], d)
	return out
}

// cache returns cosines or sines as the operator takes them: each number once, of
// [positions,pairs] or, where batches differ, [batch,positions,pairs].
func (w *rotaryWriter) cache(name string, r rotation, tokens int, batches bool) string {
	key := fmt.Sprint(w.name(name), r.half, r.interleaved, r.size, tokens, batches)
	if made, ok := w.caches[key]; ok {
		return made
	}
	lead, out := 4-len(w.dims(name)), name
	if !r.half {
		end, step := r.size/2, 1
		if r.interleaved {
			end, step = r.size, 2
		}
		out = w.node("Slice", 13, []string{out, w.vector(0), w.vector(end), w.vector(-1), w.vector(step)})
	}
	var axes []int
	for i := lead; i < 3; i++ {
		if i != tokens && (i != 0 || !batches) {
			axes = append(axes, i-lead)
		}
	}
	if axes != nil {
		out = w.node("Squeeze", 13, []string{out, w.vector(axes...)})
	}
	w.made[key] = out
	return out
}

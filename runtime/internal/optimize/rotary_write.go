package optimize

import (
	"fmt"
	"maps"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// rotaryWriter replaces rotations by RotaryEmbedding.
type rotaryWriter struct {
	builder
	caches map[string]string // names of the caches that the edit adds, by origin and form
	made   map[string]string // names of the caches that nodes add, likewise
}

// write replaces a rotation by the operator. If caches have no batch, positions from 0 on index
// them; only the operator of ONNX Runtime takes such caches.
func (w *rotaryWriter) write(found *match, r rotation) bool {
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
		w.replaceRoot(found.root, domain, "RotaryEmbedding", version, inputs, attrs...)
		return w.done(found)
	}
	inputs[0] = rows
	rotated := w.apply("RotaryEmbedding", version, inputs, append(attrs, intAttr("num_heads", int64(n)))...)
	w.nodes[len(w.nodes)-1].Domain = domain
	shape := w.vector(0, 0, n, size)
	if tokens == 1 {
		w.replaceRoot(found.root, "", "Reshape", 14, []string{rotated, shape})
	} else {
		split := w.apply("Reshape", 14, []string{rotated, shape})
		w.replaceRoot(found.root, "", "Transpose", 13, []string{split}, intsAttr("perm", 0, 2, 1, 3))
	}
	return w.done(found)
}

// done replaces the match by the nodes.
func (w *rotaryWriter) done(found *match) bool {
	if !w.replaceMatch(found, w.nodes...) {
		return false
	}
	maps.Copy(w.caches, w.made)
	return true
}

// rows returns x as [batch,rows,heads·size]. If no value holds its heads side by side, it returns
// "".
func (w *rotaryWriter) rows(x string, tokens, width int) string {
	h := &heads{dims: w.dims(x), scale: 1}
	if tokens == 1 {
		d := h.dims
		h.dims = graph.Dims{d[0], d[2], d[1], d[3]}
		w.splitFrom(h, x)
	} else if t := w.producer(x, "Transpose"); w.isTranspose(t, 0, 2, 1, 3) {
		w.splitFrom(h, t.Inputs[0])
	}
	switch {
	case h.rows != "" && h.scale == 1:
		return h.rows
	case h.split != "":
		return w.apply("Reshape", 14, []string{h.split, w.vector(0, 0, width)})
	}
	return ""
}

// padded returns the extents of a cache with leading axes up to a rank of four. If it has more axes
// or another width than the rotation, it returns nil.
func (w *rotaryWriter) padded(name string, r rotation) graph.Dims {
	d := w.dims(name)
	width := r.size
	if r.halved {
		width /= 2
	}
	if d == nil || len(d) > 4 || len(d) < 2 || !d[len(d)-1].Is(width) {
		return nil
	}
	out := graph.Dims{graph.Known(1), graph.Known(1), graph.Known(1), graph.Known(1)}
	copy(out[4-len(d):], d)
	return out
}

// cache returns cosines or sines as the operator takes them: each number once, as [positions,pairs]
// or, with batches, [batch,positions,pairs].
func (w *rotaryWriter) cache(name string, r rotation, tokens int, batches bool) string {
	key := fmt.Sprint(w.canonical(name), r.halved, r.interleaved, r.size, tokens, batches)
	if made, ok := w.caches[key]; ok {
		return made
	}
	lead, out := 4-len(w.dims(name)), name
	if !r.halved {
		end, step := r.size/2, 1
		if r.interleaved {
			end, step = r.size, 2
		}
		out = w.apply("Slice", 13, []string{out, w.vector(0), w.vector(end), w.vector(-1), w.vector(step)})
	}
	var axes []int
	for i := lead; i < 3; i++ {
		if i != tokens && (i != 0 || !batches) {
			axes = append(axes, i-lead)
		}
	}
	if axes != nil {
		out = w.apply("Squeeze", 13, []string{out, w.vector(axes...)})
	}
	w.made[key] = out
	return out
}

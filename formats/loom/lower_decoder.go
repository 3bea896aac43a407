package loom

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// decoding holds the inputs of a decoder and the values that its layers share.
type decoding struct {
	w                 *lowerer
	ids               string
	batch, rows, past string // extents, as vectors
	last, total       string // index of each sequence's last row, and the number of all rows, as int32
	mask              string // rows that each new row attends to; used instead of last and total
	angles            map[string][2]string
	states            [][2]string
	results           [][2]string
	heads             heads
}

// decoder declares the inputs of a decoder.
func (w *lowerer) decoder() *decoding {
	d := &decoding{w: w, angles: map[string][2]string{}}
	d.ids = w.b.Input("input_ids", graph.TensorOf(tensor.I64, graph.Dims{graph.Symbol("batch"), graph.Symbol("sequence")}))
	d.batch, d.rows = w.extent(d.ids, 0), w.extent(d.ids, 1)
	return d
}

// extent returns an extent of a value, as a vector.
func (w *lowerer) extent(x string, axis int64) string {
	return w.b.Op("Shape", []string{x}, graph.IntAttr("start", axis), graph.IntAttr("end", axis+1))
}

// sequences returns rows of the given width as [batch, rows, width].
func (d *decoding) sequences(x string, width int) string {
	return d.w.op("Reshape", x, d.w.concat(0, d.batch, d.rows, d.w.b.Ints(int64(width))))
}

// cacheType returns the type of a state with the given number of rows.
func cacheType(h heads, rows graph.Dim) graph.Type {
	return graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("batch"), graph.Known(h.kv), rows, graph.Known(h.size)})
}

// pastRows is the symbol for the number of rows of all states.
var pastRows = graph.Symbol("past_sequence")

// state declares the states of the next layer. The first call also makes the row counts or the
// mask.
func (d *decoding) state(h heads) [2]string {
	w, n := d.w, len(d.states)
	var pair [2]string
	for i, part := range []string{"key", "value"} {
		pair[i] = w.b.State(fmt.Sprintf("past_key_values.%d.%s", n, part), fmt.Sprintf("present.%d.%s", n, part), 2, cacheType(h, pastRows))
	}
	d.states = append(d.states, pair)
	if n > 0 {
		return pair
	}
	d.heads = h
	d.past = w.extent(pair[0], 2)
	total := w.op("Add", d.past, d.rows)
	if h.size%grouped != 0 {
		d.mask = w.causal(d.past, d.rows)
		return pair
	}
	d.total = w.cast(w.op("Squeeze", total), tensor.I32)
	d.last = w.cast(w.op("Expand", w.op("Sub", total, w.b.Ints(1)), d.batch), tensor.I32)
	return pair
}

// grouped divides the size of a head in ONNX Runtime's GroupQueryAttention.
const grouped = 8

// attention computes one layer's attention over rows of all heads, with rotary positions.
func (d *decoding) attention(h heads, q, k, v string) string {
	past := d.state(h)
	q, k, v = d.sequences(q, h.count*h.size), d.sequences(k, h.key), d.sequences(v, h.key)
	if h.size > 1 {
		q, k = d.rotated(h, q, h.count), d.rotated(h, k, h.kv)
	}
	var out []string
	if h.size%grouped == 0 {
		out = d.w.b.Node("com.microsoft", "GroupQueryAttention", []string{q, k, v, past[0], past[1], d.last, d.total}, 3,
			graph.IntAttr("num_heads", int64(h.count)), graph.IntAttr("kv_num_heads", int64(h.kv)))
	} else {
		out = d.w.b.Node("", "Attention", []string{q, k, v, d.mask, past[0], past[1]}, 3,
			graph.IntAttr("q_num_heads", int64(h.count)), graph.IntAttr("kv_num_heads", int64(h.kv)))
	}
	d.results = append(d.results, [2]string{out[1], out[2]})
	return d.w.reshape(out[0], -1, int64(h.count*h.size))
}

// rotated rotates pairs of numbers of each head by angles that grow with the row.
func (d *decoding) rotated(h heads, x string, count int) string {
	key := fmt.Sprint(h.size, h.base)
	pair, ok := d.angles[key]
	if !ok {
		pair[0], pair[1] = d.w.angles(h, d.past, d.batch, d.rows)
		d.angles[key] = pair
	}
	attrs := []*graph.Attr{graph.IntAttr("num_heads", int64(count))}
	if h.size%2 != 0 {
		attrs = append(attrs, graph.IntAttr("rotary_embedding_dim", int64(h.size-1)))
	}
	return d.w.b.Op("RotaryEmbedding", []string{x, pair[0], pair[1]}, attrs...)
}

// finish outputs the next contents of the states.
func (d *decoding) finish() {
	rows := pastRows.Add(graph.Symbol("sequence"))
	for i, pair := range d.results {
		for k, part := range []string{"key", "value"} {
			d.w.b.Output(pair[k], fmt.Sprintf("present.%d.%s", i, part), cacheType(d.heads, rows))
		}
	}
}

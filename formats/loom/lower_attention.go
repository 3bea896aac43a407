package loom

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// float32s returns the type of a float32 value.
func float32s(x flow) graph.Type { return graph.TensorOf(tensor.F32, known(x.dims)) }

// heads is the geometry of an attention layer.
type heads struct {
	model, query, key int // widths of the input, the queries and the keys
	count, kv, size   int // heads, heads of keys, numbers in a head
	base              float64
}

// heads returns the layer's geometry, with defaults for query_dim and rope_freq_base.
func (l *Layer) heads() (heads, error) {
	h := heads{l.DModel, l.QueryDim, 0, l.NumHeads, l.NumKVHeads, l.HeadDim, l.RopeFreqBase}
	if err := positive("d_model", h.model, "num_heads", h.count, "num_kv_heads", h.kv, "head_dim", h.size); err != nil {
		return h, err
	}
	if h.query == 0 {
		h.query = h.model
	}
	if h.base == 0 {
		h.base = 10000
	}
	n, err := product(h.count, h.size)
	if err != nil {
		return h, err
	}
	if h.key, err = product(h.kv, h.size); err != nil {
		return h, err
	}
	switch {
	case h.count%h.kv != 0:
		return h, fmt.Errorf("%d heads cannot share %d heads of keys", h.count, h.kv)
	case h.query < n:
		return h, fmt.Errorf("its query_dim is %d, and %d heads of %d numbers take %d", h.query, h.count, h.size, n)
	}
	if h.base < 0 {
		return h, fmt.Errorf("its rope_freq_base is %v; it must be positive", h.base)
	}
	return h, finite("rope_freq_base", h.base)
}

// attention computes causal self-attention with rotary positions. A single row of one sequence
// continues after the rows of the cache; any other input starts anew.
func (w *lowerer) attention(l *Layer, path string, x flow) (flow, error) {
	h, err := l.heads()
	if err != nil {
		return x, err
	}
	p, err := w.parts(l, path)
	if err != nil {
		return x, err
	}
	in := w.op("Reshape", x.name, w.concat(0, w.sequences(x), w.b.Ints(-1, int64(h.model))))
	shape := w.op("Shape", x.name)
	batch := w.extent(in, 0)
	rows := w.extent(in, 1)
	c := w.cache(h, batch, rows)
	flat := w.reshape(x.name, -1, int64(h.model))
	extents := w.concat(0, batch, rows)
	q := w.split(w.linear(flat, p["q"], p["bq"]), extents, h.query, h.count, h.size)
	k := w.split(w.linear(flat, p["k"], p["bk"]), extents, h.key, h.kv, h.size)
	v := w.split(w.linear(flat, p["v"], p["bv"]), extents, h.key, h.kv, h.size)
	if h.size > 1 {
		cos, sin := w.angles(h, c.length, batch, rows)
		q, k = w.rotated(q, cos, sin, h.size), w.rotated(k, cos, sin, h.size)
	}
	out := w.b.Node("", "Attention", []string{q, k, v, w.causal(c.length, rows), c.key, c.value}, 3)
	c.keep(w, out[1], out[2])
	y := w.reshape(w.transpose(out[0], 0, 2, 1, 3), -1, int64(h.count*h.size))
	matrix := p["o"]
	if n := h.count * h.size; n < h.query {
		matrix = w.slice(matrix, 0, int64(n), 1)
	}
	return flow{w.op("Reshape", w.linear(y, matrix, p["bo"]), shape), x.dims}, nil
}

// sequences returns the number of sequences in an input [..., rows, model]; 1 for a matrix.
func (w *lowerer) sequences(x flow) string {
	if w.quirks {
		return w.b.Ints(1) // the batch shares a cache, and is one sequence
	}
	lead := w.b.Op("Shape", []string{x.name}, graph.IntAttr("end", -2))
	return w.b.Op("ReduceProd", []string{w.concat(0, w.b.Ints(1), lead)}, graph.IntAttr("keepdims", 1))
}

// split returns rows of the given width as [batch, heads, rows, size]. extents holds batch and
// rows.
func (w *lowerer) split(x, extents string, width, count, size int) string {
	x = w.cut(x, width, count*size)
	return w.transpose(w.op("Reshape", x, w.concat(0, extents, w.b.Ints(int64(count), int64(size)))), 0, 2, 1, 3)
}

// cache is the past of an attention layer.
type cache struct {
	number     int
	key, value string // past rows that queries attend to
	length     string // number of these rows
	batch      string
	t          graph.Type
}

// cache declares the state of an attention layer. Its rows count only if the input is one row of
// one sequence.
func (w *lowerer) cache(h heads, batch, rows string) *cache {
	c := &cache{number: w.caches, batch: batch}
	w.caches++
	past := fmt.Sprintf("past_%d", c.number)
	c.t = graph.TensorOf(tensor.F32, graph.Dims{graph.Known(1), graph.Known(h.kv), graph.Symbol(past), graph.Known(h.size)})
	name := func(kind, part string) string { return fmt.Sprintf("%s.%d.%s", kind, c.number, part) }
	key := w.b.State(name("past_key_values", "key"), name("present", "key"), 2, c.t)
	val := w.b.State(name("past_key_values", "value"), name("present", "value"), 2, c.t)
	one := w.op("And", w.op("Equal", batch, w.b.Ints(1)), w.op("Equal", rows, w.b.Ints(1)))
	have := w.extent(key, 2)
	c.length = w.op("Mul", have, w.cast(one, tensor.I64))
	used := func(x string) string {
		x = w.op("Slice", x, w.b.Ints(0), c.length, w.b.Ints(2))
		return w.op("Expand", x, w.concat(0, batch, w.b.Ints(1, 1, 1)))
	}
	c.key, c.value = used(key), used(val)
	return c
}

// keep makes the keys and values of a single sequence the state. For several sequences the state
// becomes empty.
func (c *cache) keep(w *lowerer, key, val string) {
	t := c.t
	t.Dims = graph.Dims{t.Dims[0], t.Dims[1], graph.Symbol(fmt.Sprintf("total_%d", c.number)), t.Dims[3]}
	alone := w.cast(w.op("Equal", c.batch, w.b.Ints(1)), tensor.I64)
	for part, x := range map[string]string{"key": key, "value": val} {
		rows := w.extent(x, 2)
		end := w.concat(0, w.b.Ints(1), w.op("Mul", rows, alone))
		x = w.op("Slice", x, w.b.Ints(0, 0), end, w.b.Ints(0, 2))
		w.b.Output(x, fmt.Sprintf("present.%d.%s", c.number, part), t)
	}
}

// places returns the vector from, from + 1, ..., from + count - 1.
func (w *lowerer) places(from, count string) string {
	return w.op("Range", w.op("Squeeze", from), w.op("Squeeze", w.op("Add", from, count)), w.b.Int(1))
}

// causal returns the mask [new rows, all rows]: true if a new row attends to a row of the past or
// to a new row.
func (w *lowerer) causal(past, rows string) string {
	at := w.op("Unsqueeze", w.places(past, rows), w.b.Ints(1))
	all := w.places(w.b.Ints(0), w.op("Add", past, rows))
	return w.op("LessOrEqual", w.op("Unsqueeze", all, w.b.Ints(0)), at)
}

// angles returns the cosines and sines that rotate the rows after the past, as [batch, rows,
// size/2].
func (w *lowerer) angles(h heads, past, batch, rows string) (cos, sin string) {
	step := make([]float64, h.size/2)
	for j := range step {
		step[j] = 1 / math.Pow(h.base, float64(2*j)/float64(h.size))
	}
	at := w.op("Unsqueeze", w.cast(w.places(past, rows), tensor.F64), w.b.Ints(1))
	angle := w.op("Mul", at, w.f64s(step))
	shape := w.concat(0, batch, w.b.Ints(1, 1))
	wide := func(op string) string {
		return w.op("Expand", w.op("Unsqueeze", w.cast(w.op(op, angle), tensor.F32), w.b.Ints(0)), shape)
	}
	return wide("Cos"), wide("Sin")
}

// rotated rotates pairs of numbers of each head. If size is odd, the last number stays.
func (w *lowerer) rotated(x, cos, sin string, size int) string {
	inputs := []string{x, cos, sin}
	if size%2 == 0 {
		return w.b.Op("RotaryEmbedding", inputs)
	}
	return w.b.Op("RotaryEmbedding", inputs, graph.IntAttr("rotary_embedding_dim", int64(size-1)))
}

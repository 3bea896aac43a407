package decoder

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// attention adds the attention of block i. It reads the block's past states, and appends the
// present ones to m.presents.
func (m *maker) attention(i int, x string) string {
	l, c := &m.c.Layers[i], m.c
	q, k, v := m.heads(i, x)
	q, k, v = m.trace(i, "query", q), m.trace(i, "key", k), m.trace(i, "value", v)
	var out []string
	switch {
	case c.Encoder:
		attrs := append(m.scores(), graph.IntAttr("q_num_heads", int64(c.Heads)), graph.IntAttr("kv_num_heads", int64(c.KVHeads)))
		in := []string{q, k, v}
		if m.seen != "" {
			in = append(in, m.seen)
		}
		out = m.Node("", "Attention", in, 1, attrs...)
	case c.HeadDim%8 == 0 || l.Sinks != nil:
		out = m.grouped(l, q, k, v, m.pasts[i])
	default:
		out = m.masked(l, q, k, v, m.pasts[i])
	}
	if !c.Encoder {
		for k, what := range []string{"key", "value"} {
			m.presents = append(m.presents, present{out[1+k], fmt.Sprintf("present.%d.%s", i, what),
				m.stateType(PastExtent + " + sequence")})
		}
	}
	y := m.trace(i, "context", m.Op("Reshape", []string{out[0], m.Ints(-1, int64(c.Heads*c.HeadDim))}))
	return m.trace(i, "attention", m.linear(l.O, m.norm(l.WithinAttention, y)))
}

// scores returns the attributes for the scale and the cap of scores.
func (m *maker) scores() []*graph.Attr {
	scale := m.c.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(m.c.HeadDim))
	}
	attrs := []*graph.Attr{graph.FloatAttr("scale", float32(scale))}
	if m.c.AttentionCap != 0 {
		attrs = append(attrs, graph.FloatAttr("softcap", float32(m.c.AttentionCap)))
	}
	return attrs
}

// grouped adds GroupQueryAttention. The operator supports windows. In ONNX Runtime, the columns of
// a head must be a multiple of 8.
func (m *maker) grouped(l *Layer, q, k, v string, past pasts) []string {
	attrs := append(m.scores(), graph.IntAttr("num_heads", int64(m.c.Heads)), graph.IntAttr("kv_num_heads", int64(m.c.KVHeads)))
	if l.Window > 0 {
		attrs = append(attrs, graph.IntAttr("local_window_size", int64(l.Window)))
	}
	in := []string{q, k, v, past.key, past.value, m.last(), m.total32()}
	if l.Sinks != nil {
		in = append(in, "", "", "", "", m.float32s(l.Sinks))
	}
	return m.Node(microsoft, "GroupQueryAttention", in, 3, attrs...)
}

// masked adds the standard's Attention with a mask.
func (m *maker) masked(l *Layer, q, k, v string, past pasts) []string {
	attrs := append(m.scores(), graph.IntAttr("q_num_heads", int64(m.c.Heads)), graph.IntAttr("kv_num_heads", int64(m.c.KVHeads)))
	return m.Node("", "Attention", []string{q, k, v, m.mask(l.Window), past.key, past.value}, 3, attrs...)
}

// mask returns the keys that each query of a run sees, boolean [sequence,total].
func (m *maker) mask(window int) string {
	if name, ok := m.masks[window]; ok {
		return name
	}
	queries := m.Op("Unsqueeze", []string{m.positions(), m.Ints(1)})
	keys := m.Op("Range", []string{m.Int(0), m.scalar(m.total), m.Int(1)})
	sees := m.Op("LessOrEqual", []string{keys, queries})
	if window > 0 {
		first := m.Op("Sub", []string{queries, m.Int(int64(window))})
		sees = m.Op("And", []string{sees, m.Op("Greater", []string{keys, first})})
	}
	m.masks[window] = sees
	return sees
}

// last returns the index of the last row of each sequence, int32 [batch].
func (m *maker) last() string {
	if m.lastRows == "" {
		batch := m.Op("Shape", []string{m.ids}, graph.IntAttr("end", 1))
		last := m.Op("Expand", []string{m.Op("Sub", []string{m.total, m.Ints(1)}), batch})
		m.lastRows = m.Op("Cast", []string{last}, graph.IntAttr("to", 6))
	}
	return m.lastRows
}

// total32 returns the number of rows at the end of the run, an int32 scalar.
func (m *maker) total32() string {
	if m.rows32 == "" {
		m.rows32 = m.Op("Cast", []string{m.scalar(m.total)}, graph.IntAttr("to", 6))
	}
	return m.rows32
}

// positions returns the positions of a run's tokens, [sequence].
func (m *maker) positions() string {
	if m.places == "" {
		m.places = m.Op("Range", []string{m.scalar(m.past), m.scalar(m.total), m.Int(1)})
	}
	return m.places
}

// heads returns queries, keys and values as [batch,sequence,heads·head_dim], normalized and
// rotated.
func (m *maker) heads(i int, x string) (q, k, v string) {
	l := &m.c.Layers[i]
	wide, narrow := m.c.Heads*m.c.HeadDim, m.c.KVHeads*m.c.HeadDim
	if l.QKV.given() {
		parts := m.split(m.trace(i, "qkv", m.linear(l.QKV, x)), wide, narrow, narrow)
		q, k, v = parts[0], parts[1], parts[2]
	} else {
		q, k, v = m.linear(l.Q, x), m.linear(l.K, x), m.linear(l.V, x)
	}
	q, k = m.headNorm(l, l.Query, q), m.headNorm(l, l.Key, k)
	q, k, v = m.sequences(q, wide), m.sequences(k, narrow), m.sequences(v, narrow)
	return m.rotated(l.Rope, q, m.c.Heads), m.rotated(l.Rope, k, m.c.KVHeads), v
}

// headNorm normalizes each head or, with WideNorms, all heads together.
func (m *maker) headNorm(l *Layer, n Norm, x string) string {
	if !n.given() || l.WideNorms {
		return m.norm(n, x)
	}
	y := m.Op("Reshape", []string{x, m.Ints(0, -1, int64(m.c.HeadDim))})
	if len(n.Weight.Tensor.Shape()) == 1 {
		return m.norm(n, y) // sequences removes the axis of heads
	}
	ones := make([]float32, m.c.HeadDim)
	for i := range ones {
		ones[i] = 1
	}
	op := "RMSNormalization"
	if m.c.LayerNorm {
		op = "LayerNormalization"
	}
	y = m.Op(op, []string{y, m.vector(ones)}, graph.FloatAttr("epsilon", float32(m.c.Epsilon)))
	return m.Op("Mul", []string{y, m.float32s(n.Weight)})
}

// rotated rotates pairs of columns of each head of [batch,sequence,heads·head_dim]. If r is nil, it
// returns x.
func (m *maker) rotated(r *Rope, x string, heads int) string {
	if r == nil {
		return x
	}
	angles, ok := m.ropes[r]
	if !ok {
		angles = m.angles(r)
		m.ropes[r] = angles
	}
	attrs := []*graph.Attr{graph.IntAttr("num_heads", int64(heads))}
	if r.Interleaved {
		attrs = append(attrs, graph.IntAttr("interleaved", 1))
	}
	if width := 2 * len(r.Frequencies); width != m.c.HeadDim {
		attrs = append(attrs, graph.IntAttr("rotary_embedding_dim", int64(width)))
	}
	return m.Op("RotaryEmbedding", []string{x, angles[0], angles[1]}, attrs...)
}

// angles returns the cosines and sines for the positions of a run, [batch,sequence,pairs].
func (m *maker) angles(r *Rope) [2]string {
	positions := m.Op("Unsqueeze", []string{m.toFloat32(m.positions()), m.Ints(1)})
	scaled := m.Op("Mul", []string{positions, m.frequencies(r)})
	shape := m.Op("Concat", []string{m.extents, m.Ints(int64(len(r.Frequencies)))}, graph.IntAttr("axis", 0))
	var out [2]string
	for i, f := range []string{"Cos", "Sin"} {
		out[i] = m.Op("Expand", []string{m.times(m.Op(f, []string{scaled}), r.Magnitude), shape})
	}
	return out
}

// frequencies returns the frequencies for the number of tokens at the end of a run, [pairs].
func (m *maker) frequencies(r *Rope) string {
	short := m.vector(r.Frequencies)
	if r.Beyond == nil || m.c.Context > 0 && m.c.Context <= r.Beyond.Tokens {
		return short
	}
	if m.c.Context > 0 && r.Beyond.Frequencies != nil {
		return m.vector(r.Beyond.Frequencies)
	}
	long := m.vector(r.Beyond.Frequencies)
	if r.Beyond.Frequencies == nil {
		long = m.grown(r)
	}
	is := m.Op("Greater", []string{m.total, m.Ints(int64(r.Beyond.Tokens))})
	return m.Op("Where", []string{is, long, short})
}

// grown returns the frequencies of a base that depends on the number of tokens.
func (m *maker) grown(r *Rope) string {
	by, d := r.Beyond, float64(2*len(r.Frequencies))
	n := m.times(m.toFloat32(m.total), by.Factor/float64(by.Tokens))
	base := m.Op("Pow", []string{m.Op("Sub", []string{n, m.Float(float32(by.Factor - 1))}), m.Float(float32(d / (d - 2)))})
	exponents := make([]float32, len(r.Frequencies))
	for i := range exponents {
		exponents[i] = float32(-2 * float64(i) / d)
	}
	return m.Op("Pow", []string{m.times(base, by.Base), m.vector(exponents)})
}

func (m *maker) vector(v []float32) string {
	if !m.Take(4 * len(v)) {
		return ""
	}
	t := tensor.New(tensor.F32, len(v))
	copy(tensor.View[float32](t), v)
	return m.Constant(t)
}

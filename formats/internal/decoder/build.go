package decoder

import (
	"fmt"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// PastExtent is the symbol for the number of rows of the states.
const PastExtent = "past_sequence"

// microsoft is the domain of the operators that ONNX Runtime adds to the standard's.
const microsoft = "com.microsoft"

// Build adds the inputs, nodes, states and outputs of a decoder to the graph of b. The weights must
// have the extents given in c. If b ends with an error, the graph is incomplete.
func Build(b *graph.Builder, c *Config) {
	m := &maker{Builder: b, c: c, shapes: map[int]string{}, masks: map[int]string{}, ropes: map[*Rope][2]string{}, floats: map[*graph.Initializer]string{}, norms: map[*graph.Initializer]string{}}
	m.inputs()
	x := m.embedded()
	for i := range c.Layers {
		if b.Err() != nil {
			return
		}
		x = m.layer(i, x)
	}
	switch {
	case c.Batches:
		m.classified(x)
		return
	case c.Encoder:
		m.encoded(x)
		return
	}
	m.logits(x)
}

// maker adds the nodes of a decoder. Values are [tokens,columns], with the tokens of one sequence
// after another, unless a comment says otherwise.
type maker struct {
	*graph.Builder
	c        *Config
	ids      string
	extents  string // [batch,sequence] as a value
	past     string // the number of rows of the states, [1]
	total    string // the number of rows at the end of the run, [1]
	lastRows string // result of last
	rows32   string // result of total32
	places   string // result of positions
	pasts    []pasts
	presents []present
	shapes   map[int]string // for sequences, by columns
	masks    map[int]string // by window
	seen     string         // the keys that an encoder with Batches sees, boolean [batch,1,1,sequence]
	types    string         // the input token_type_ids; "" for none
	ropes    map[*Rope][2]string
	floats   map[*graph.Initializer]string
	norms    map[*graph.Initializer]string
}

// pasts names the states of a block as a run reads them.
type pasts struct{ key, value, conv string }

// present is the next value of a state.
type present struct {
	value, name string
	typ         graph.Type
}

func dims(list ...any) graph.Dims {
	var d graph.Dims
	for _, x := range list {
		switch x := x.(type) {
		case int:
			d = append(d, graph.Known(x))
		case string:
			d = append(d, graph.ParseDim(x))
		}
	}
	return d
}

// stateType returns the type of a state of rows rows.
func (m *maker) stateType(rows string) graph.Type {
	return graph.TensorOf(tensor.F32, dims("batch", m.c.KVHeads, rows, m.c.HeadDim))
}

// convType returns the type of the state of a convolution.
func (m *maker) convType(c *ShortConv) graph.Type {
	return graph.TensorOf(tensor.F32, dims("batch", m.c.Hidden, c.taps()-1))
}

// inputs adds the inputs, and the values computed from their extents.
func (m *maker) inputs() {
	m.ids = m.Input("input_ids", graph.TensorOf(tensor.I64, dims("batch", "sequence")))
	LimitTokens(m.Builder, m.ids, m.c.Vocab)
	if m.c.Batches {
		m.batches()
	}
	for i := range m.c.Layers {
		if m.Err() != nil || m.c.Encoder {
			break
		}
		m.pasts = append(m.pasts, m.states(i))
	}
	m.extents = m.Op("Shape", []string{m.ids})
	sequence := m.Op("Shape", []string{m.ids}, graph.IntAttr("start", 1))
	m.past = m.Ints(0)
	if i := slices.IndexFunc(m.pasts, func(p pasts) bool { return p.key != "" }); i >= 0 {
		m.past = m.Op("Shape", []string{m.pasts[i].key}, graph.IntAttr("start", 2), graph.IntAttr("end", 3))
	}
	m.total = m.Op("Add", []string{m.past, sequence})
	if m.c.Context > 0 {
		LimitWindow(m.Builder, m.pastExtent(), m.c.Context)
	}
}

// pastExtent returns the symbol for the rows of the states, or "" if no state has rows.
func (m *maker) pastExtent() string {
	if slices.ContainsFunc(m.pasts, func(p pasts) bool { return p.key != "" }) {
		return PastExtent
	}
	return ""
}

// states adds the states of block i.
func (m *maker) states(i int) pasts {
	if c := m.c.Layers[i].Conv; c != nil {
		if c.taps() == 1 {
			return pasts{}
		}
		return pasts{conv: m.State(fmt.Sprintf("past_conv.%d", i), fmt.Sprintf("present_conv.%d", i), -1, m.convType(c))}
	}
	grows := func(what string) string {
		return m.State(fmt.Sprintf("past_key_values.%d.%s", i, what), fmt.Sprintf("present.%d.%s", i, what), 2,
			m.stateType(PastExtent))
	}
	return pasts{key: grows("key"), value: grows("value")}
}

// scalar returns a vector of one element without its axis.
func (m *maker) scalar(v string) string { return m.Op("Squeeze", []string{v, m.Ints(0)}) }

// float32s returns a constant as float32.
func (m *maker) float32s(init *graph.Initializer) string {
	if name, ok := m.floats[init]; ok {
		return name
	}
	name := m.stored32(init, m.Weight(init))
	m.floats[init] = name
	return name
}

func (m *maker) toFloat32(v string) string { return m.Op("Cast", []string{v}, graph.IntAttr("to", 1)) }

// times returns v times a factor. A factor of 0 stands for 1.
func (m *maker) times(v string, by float64) string {
	if by == 0 || by == 1 {
		return v
	}
	return m.Op("Mul", []string{v, m.Float(float32(by))})
}

// embedded returns the embeddings of the tokens.
func (m *maker) embedded() string {
	x := m.Op("Gather", []string{m.Weight(m.c.Embedding), m.ids})
	if m.c.Trace == nil {
		x = m.Name(x, "input_ids.embeddings")
	}
	x = m.trace(-1, "embeddings", m.times(m.stored32(m.c.Embedding, x), m.c.EmbeddingScale))
	if p := m.c.Positions; p != nil {
		at := m.Op("Gather", []string{m.Weight(p), m.counted()})
		x = m.Op("Add", []string{x, m.stored32(p, at)})
	}
	if t := m.c.Types; t != nil {
		x = m.Op("Add", []string{x, m.stored32(t, m.Op("Gather", []string{m.Weight(t), m.typeIDs()}))})
	}
	x = m.norm(m.c.Embedded, x)
	return m.Op("Reshape", []string{x, m.Ints(-1, int64(m.c.Hidden))})
}

// stored32 returns part, a value with the type of init, as float32.
func (m *maker) stored32(init *graph.Initializer, part string) string {
	if init.Tensor.DType() != tensor.F32 {
		return m.toFloat32(part)
	}
	return part
}

// trace calls c.Trace with a value, and returns its new name.
func (m *maker) trace(layer int, role, value string) string {
	if m.c.Trace == nil {
		return value
	}
	return m.c.Trace(layer, role, value)
}

// norm normalizes the last axis. If n is not given, it returns x.
func (m *maker) norm(n Norm, x string) string {
	if !n.given() {
		return x
	}
	weight, ok := m.norms[n.Weight]
	if !ok {
		weight = m.float32s(n.Weight)
		if m.c.UnitOffset {
			weight = m.Op("Add", []string{weight, m.Float(1)})
		}
		m.norms[n.Weight] = weight
	}
	epsilon := graph.FloatAttr("epsilon", float32(m.c.Epsilon))
	if !m.c.LayerNorm {
		return m.Op("RMSNormalization", []string{x, weight}, epsilon)
	}
	in := []string{x, weight}
	if n.Bias != nil {
		in = append(in, m.float32s(n.Bias))
	}
	return m.Op("LayerNormalization", in, epsilon)
}

// linear multiplies by a matrix, and adds its bias.
func (m *maker) linear(w Matrix, x string) string {
	in := []string{x, m.float32s(w.Weight)}
	if w.Bias != nil && w.Scale == nil {
		in = append(in, m.float32s(w.Bias))
	}
	var attrs []*graph.Attr
	if !w.InOut {
		attrs = append(attrs, graph.IntAttr("transB", 1))
	}
	y := m.Op("Gemm", in, attrs...)
	if w.Scale == nil {
		return y
	}
	y = m.Op("Mul", []string{y, m.Op("Reshape", []string{m.float32s(w.Scale), m.Ints(1)})})
	if w.Bias != nil {
		y = m.Op("Add", []string{y, m.float32s(w.Bias)})
	}
	return y
}

// split cuts the columns into parts of the given widths.
func (m *maker) split(x string, widths ...int) []string {
	list := make([]int64, len(widths))
	for i, w := range widths {
		list[i] = int64(w)
	}
	return m.Node("", "Split", []string{x, m.Ints(list...)}, len(widths), graph.IntAttr("axis", 1))
}

// sequences reshapes [tokens,columns] to [batch,sequence,columns].
func (m *maker) sequences(x string, columns int) string {
	shape, ok := m.shapes[columns]
	if !ok {
		shape = m.Op("Concat", []string{m.extents, m.Ints(int64(columns))}, graph.IntAttr("axis", 0))
		m.shapes[columns] = shape
	}
	return m.Op("Reshape", []string{x, shape})
}

// layer adds a block.
func (m *maker) layer(i int, x string) string {
	l := &m.c.Layers[i]
	y := m.trace(i, "norm_1", m.norm(l.BeforeAttention, x))
	beside := y // input of a parallel MLP
	if l.BeforeMLP.given() {
		beside = x
	}
	if l.Conv != nil {
		y = m.shortConv(i, y)
	} else {
		y = m.attention(i, y)
	}
	y = m.norm(l.AfterAttention, y)
	x = m.norm(l.AttentionSum, m.trace(i, "residual", m.Op("Add", []string{x, m.times(y, m.c.ResidualScale)})))
	y = x
	if l.Parallel {
		y = beside
	}
	y = m.trace(i, "norm_2", m.norm(l.BeforeMLP, y))
	y = m.trace(i, "feed_forward", m.norm(l.AfterMLP, m.mlp(l, y)))
	return m.trace(i, "output", m.norm(l.MLPSum, m.Op("Add", []string{x, m.times(y, m.c.ResidualScale)})))
}

// mlp adds the MLP of a block.
func (m *maker) mlp(l *Layer, x string) string {
	if l.Experts != nil {
		return m.experts(l.Experts, x)
	}
	var gate, up string
	if l.GateUp.given() {
		half := l.GateUp.width() / 2
		parts := m.split(m.linear(l.GateUp, x), half, half)
		gate, up = parts[0], parts[1]
	} else {
		if l.Gate.given() {
			gate = m.linear(l.Gate, x)
		}
		up = m.linear(l.Up, x)
	}
	if gate == "" {
		up = m.activated(up)
	} else {
		up = m.Op("Mul", []string{m.activated(gate), up})
	}
	return m.linear(l.Down, m.norm(l.WithinMLP, up))
}

// logits adds the head and the outputs.
func (m *maker) logits(x string) {
	x = m.trace(-1, "final_norm", m.norm(m.c.Final, x))
	y := m.times(m.linear(m.c.Head, x), m.c.LogitScale)
	if limit := m.c.LogitCap; limit != 0 {
		y = m.times(m.Op("Tanh", []string{m.times(y, 1/limit)}), limit)
	}
	m.Output(m.sequences(y, m.c.Vocab), "logits", graph.TensorOf(tensor.F32, dims("batch", "sequence", m.c.Vocab)))
	for _, p := range m.presents {
		m.Output(p.value, p.name, p.typ)
	}
}

// encoded adds the outputs of an encoder.
func (m *maker) encoded(x string) {
	y := m.sequences(m.norm(m.c.Final, x), m.c.Hidden)
	m.Output(y, "last_hidden_state", graph.TensorOf(tensor.F32, dims("batch", "sequence", m.c.Hidden)))
	y = "last_hidden_state"
	switch m.c.Pooling {
	case NoPooling:
		return
	case Mean:
		y = m.Op("ReduceMean", []string{y, m.Ints(1)}, graph.IntAttr("keepdims", 0))
	case First:
		y = m.Op("Gather", []string{y, m.Int(0)}, graph.IntAttr("axis", 1))
	case Last:
		y = m.Op("Gather", []string{y, m.Int(-1)}, graph.IntAttr("axis", 1))
	}
	m.Output(y, "sentence_embedding", graph.TensorOf(tensor.F32, dims("batch", m.c.Hidden)))
}

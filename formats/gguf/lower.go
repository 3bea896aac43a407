package gguf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Unsaid is settings of folders of Hugging Face for which files have no words. The zero value is
// the meaning of files.
type Unsaid struct {
	ErrorGELU bool // the error function computes GELU, in place of the tanh form
	LooseYarn bool // the bounds of the pairs that yarn blends are not rounded to whole pairs
}

// Lower returns the network of a model. It returns nil for a file without tensors, without an
// architecture, or of another type than model.
func Lower(m *graph.Model, o container.Lowering) (*graph.Model, error) {
	return LowerUnsaid(m, Unsaid{}, o)
}

// LowerUnsaid is Lower with settings that m cannot say.
func LowerUnsaid(m *graph.Model, u Unsaid, o container.Lowering) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	s := settingsOf(m)
	if p := s.pairs[typeKey]; len(m.Graph.Initializers) == 0 || s.architecture == "" || p != nil && p.Value != "model" {
		return nil, nil
	}
	d, err := designOf(m, s, u)
	if err == nil {
		err = d.find(o)
	}
	if err != nil {
		return nil, loadError(m, err)
	}
	b := o.Builder(d.name)
	d.Context = o.Context
	decoder.Build(b, &d.Config)
	if d.Positions != nil {
		past := decoder.PastExtent
		if d.Encoder {
			past = ""
		}
		decoder.LimitWindow(b, past, d.Positions.Tensor.Shape()[0])
	}
	if err := b.Err(); err != nil {
		return nil, loadError(m, err)
	}
	return b.Model(m), nil
}

// design is a decoder before its tensors are found.
type design struct {
	*settings
	*architecture
	decoder.Config
	unsaid                     Unsaid
	norms                      [4]string
	final                      string // name of the last norm
	inner                      []int  // width of the MLP by layer
	experts, chosen, width     int    // number of experts, of those of a token, and their width
	normalized, shared         bool   // as decoder.Experts
	sigmoid                    bool
	limit                      float64
	gateUp                     bool // ffn_up has the rows of the gate, too
	positions, parallel, sinks bool
	within                     bool // norms stand before the last product of the attention and of the MLP
	queryNorms                 bool // of every head,
	wideNorms                  bool // of all heads together,
	ownNorms                   bool // or of every head with a weight of its own
	ropes                      []*decoder.Rope
	windows                    []int
	convs                      []bool                        // layers that are convolutions
	left                       map[string]*graph.Initializer // by name
	used                       map[string]bool
	take                       func(bytes int) error
	missing, misfits           []string
}

// designOf reads the settings of a model.
func designOf(m *graph.Model, s *settings, u Unsaid) (*design, error) {
	a, err := architectureOf(s)
	if err != nil {
		return nil, err
	}
	d := &design{settings: s, architecture: a, unsaid: u, left: map[string]*graph.Initializer{}, used: map[string]bool{},
		norms: a.norms, final: "output_norm"}
	for _, x := range m.Graph.Initializers {
		d.left[x.Name] = x
	}
	if d.norms == ([4]string{}) {
		d.norms = usual
	}
	d.sizesOf(len(m.Graph.Initializers))
	if s.err != nil {
		return nil, s.err
	}
	r := d.rope(d.positive("rope.freq_base", 10000), true)
	d.windows = make([]int, len(d.inner))
	d.ropes = slices.Repeat([]*decoder.Rope{r}, len(d.inner))
	if a.read != nil {
		a.read(d)
	}
	return d, s.err
}

// sizesOf reads the extents and the functions. Every block has four tensors or more.
func (d *design) sizesOf(tensors int) {
	c := &d.Config
	c.LayerNorm, c.Activation = d.layerNorm, d.activation
	if c.Activation == decoder.GELUTanh && d.unsaid.ErrorGELU {
		c.Activation = decoder.GELU
	}
	epsilon := "attention.layer_norm_rms_epsilon"
	if d.layerNorm {
		epsilon = "attention.layer_norm_epsilon"
	}
	c.Epsilon = d.positive(epsilon, 0)
	c.Hidden = d.size("embedding_length", 0)
	layers := d.size("block_count", 0)
	if drafts := int(min(max(d.float("nextn_predict_layers", 0), 0), maxSize)); drafts > 0 && drafts < layers {
		layers -= drafts
		d.drafts(layers)
	}
	if layers > tensors/4 {
		d.wrong(graph.ErrFormat, "block_count", "is %d, and the file has only %d tensors", layers, tensors)
		return
	}
	c.Heads = d.one("attention.head_count", d.sizes("attention.head_count", layers, 0, 1))
	c.KVHeads = d.keyHeads(layers)
	if d.err != nil {
		return
	}
	const key, value = "attention.key_length", "attention.value_length"
	if !d.has(key) && c.Hidden%c.Heads != 0 {
		d.wrong(graph.ErrFormat, key, "is missing, and the embedding_length %d is no multiple of the head_count %d",
			c.Hidden, c.Heads)
		return
	}
	c.HeadDim = d.size(key, max(c.Hidden/c.Heads, 1))
	if n := d.size(value, c.HeadDim); n != c.HeadDim {
		d.wrong(graph.ErrUnsupported, value, "is %d, and %s %d; equal ones are computed", n, key, c.HeadDim)
	}
	switch {
	case c.Heads%c.KVHeads != 0:
		d.wrong(graph.ErrFormat, "attention.head_count", "is %d, no multiple of the head_count_kv %d", c.Heads,
			c.KVHeads)
	case c.HeadDim > decoder.MaxHeadDim:
		d.wrong(graph.ErrUnsupported, key, "is %d; it takes up to %d", c.HeadDim, decoder.MaxHeadDim)
	case !d.truth("attention.causal", true) && !strings.HasSuffix(d.name, "bert"):
		d.wrong(graph.ErrUnsupported, "attention.causal", "is false; only causal decoders are computed")
	}
	c.Scale = d.float("attention.scale", 0)
	inner := 0
	if d.has("expert_feed_forward_length") {
		inner = d.size("expert_feed_forward_length", 0)
	}
	d.inner = d.sizes("feed_forward_length", layers, inner, 1)
	if d.has("expert_count") && d.float("expert_count", 0) != 0 {
		d.expertsOf()
	}
}

// one returns a size that is the same for all layers of a list. Zeros do not count.
func (d *design) one(key string, list []int) int {
	size := 0
	for _, n := range list {
		switch {
		case size == 0:
			size = n
		case n != 0 && n != size:
			d.wrong(graph.ErrUnsupported, key, "is not the same for all layers")
		}
	}
	return size
}

// drafts leaves out the blocks from this one on, which predict further tokens.
func (d *design) drafts(from int) {
	for name := range d.left {
		block, _, _ := strings.Cut(strings.TrimPrefix(name, "blk."), ".")
		if n, err := strconv.Atoi(block); err == nil && n >= from && strings.HasPrefix(name, "blk.") {
			d.used[name] = true
		}
	}
}

// keyHeads returns the number of heads of keys, and finds the layers that are convolutions.
func (d *design) keyHeads(layers int) int {
	const key = "attention.head_count_kv"
	least := 1
	if d.shortConvs {
		least = 0
	}
	list := d.sizes(key, layers, d.Heads, least)
	d.convs = make([]bool, layers)
	for i, n := range list {
		d.convs[i] = n == 0
	}
	if n := d.one(key, list); n != 0 {
		return n
	}
	return d.Heads
}

// local gives a window and a rope to the local layers of a period.
func (d *design) local(window, period int, r *decoder.Rope) {
	for i, is := range d.locals(len(d.windows), period) {
		if is {
			d.windows[i], d.ropes[i] = window, r
		}
	}
}

// layerBytes is the memory of a block before it has nodes, with its windows and ropes, in bytes.
const layerBytes = 1 << 10

// find takes all tensors of the decoder.
func (d *design) find(o container.Lowering) error {
	c := &d.Config
	d.take = o.Take
	const embedding = "token_embd.weight"
	if x := d.left[embedding]; x != nil && len(x.Tensor.Shape()) == 2 {
		c.Vocab = x.Tensor.Shape()[0]
	}
	if c.Embedding = d.tensor(embedding, c.Vocab, c.Hidden); c.Vocab == 0 && c.Embedding != nil {
		d.misfits = append(d.misfits, embedding+" has no rows")
	}
	if d.positions {
		c.Positions = d.tensor("position_embd.weight", d.size("context_length", 0), c.Hidden)
	}
	if d.Encoder {
		c.Embedded = d.norm("", "token_embd_norm", c.Hidden)
		if x := d.left["token_types.weight"]; x != nil && len(x.Tensor.Shape()) == 2 {
			c.Types = d.tensor("token_types.weight", max(x.Tensor.Shape()[0], 1), c.Hidden)
		}
	}
	for i := range d.inner {
		if err := o.Take(layerBytes); err != nil {
			return err
		}
		c.Layers = append(c.Layers, d.layer(i))
	}
	if !d.Encoder {
		c.Final = d.norm("", d.final, c.Hidden)
		c.Head.Weight = c.Embedding
		if d.left["output.weight"] != nil {
			c.Head = d.matrix("output", c.Vocab, c.Hidden)
		}
	}
	if d.err != nil {
		return d.err
	}
	return d.problems()
}

// layer takes the tensors of a block.
func (d *design) layer(i int) decoder.Layer {
	c, p := &d.Config, fmt.Sprintf("blk.%d.", i)
	var norms [4]decoder.Norm
	for k, name := range d.norms {
		norms[k] = d.norm(p, name, c.Hidden)
	}
	l := decoder.Layer{BeforeAttention: norms[0], AfterAttention: norms[1], BeforeMLP: norms[2], AfterMLP: norms[3],
		Rope: d.ropes[i], Window: d.windows[i], WideNorms: d.wideNorms, Parallel: d.parallel}
	if d.convs[i] {
		l.Conv = d.shortConv(p)
	} else {
		d.attention(&l, p)
	}
	if d.experts > 0 && d.left[p+"ffn_gate_inp.weight"] != nil {
		l.Experts = d.mixture(p)
	} else {
		d.mlp(&l, p, d.inner[i])
	}
	return l
}

// attention takes the tensors of the attention of a block.
func (d *design) attention(l *decoder.Layer, p string) {
	c := &d.Config
	q, kv := c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	if d.left[p+"attn_qkv.weight"] != nil {
		l.QKV = d.matrix(p+"attn_qkv", q+2*kv, c.Hidden)
	} else {
		l.Q, l.K, l.V = d.matrix(p+"attn_q", q, c.Hidden), d.matrix(p+"attn_k", kv, c.Hidden),
			d.matrix(p+"attn_v", kv, c.Hidden)
	}
	l.O = d.matrix(p+"attn_output", c.Hidden, q)
	if d.Encoder {
		l.AttentionSum, l.MLPSum = d.norm(p, "attn_output_norm", c.Hidden), d.norm(p, "layer_output_norm", c.Hidden)
	}
	if d.queryNorms {
		l.Query, l.Key = d.headNorm(p, "attn_q_norm", c.Heads), d.headNorm(p, "attn_k_norm", c.KVHeads)
	}
	if d.within {
		l.WithinAttention = d.norm(p, "attn_sub_norm", q)
	}
	if d.sinks {
		l.Sinks = d.tensor(p+"attn_sinks.weight", c.Heads)
	}
}

// headNorm takes the norm of this many heads.
func (d *design) headNorm(p, name string, heads int) decoder.Norm {
	switch {
	case d.wideNorms:
		return d.norm(p, name, heads*d.HeadDim)
	case d.ownNorms:
		return decoder.Norm{Weight: d.tensor(p+name+".weight", heads, d.HeadDim)}
	}
	return d.norm(p, name, d.HeadDim)
}

// shortConv takes the tensors of the convolution of a block.
func (d *design) shortConv(p string) *decoder.ShortConv {
	n := d.Hidden
	p += "shortconv."
	return &decoder.ShortConv{In: d.matrix(p+"in_proj", 3*n, n), Out: d.matrix(p+"out_proj", n, n),
		Taps: d.tensor(p+"conv.weight", n, d.size("shortconv.l_cache", 0)), Bias: d.maybe(p+"conv.bias", n)}
}

// mlp takes the matrices of the MLP.
func (d *design) mlp(l *decoder.Layer, p string, inner int) {
	n := d.Hidden
	switch {
	case d.gateUp:
		l.GateUp = d.matrix(p+"ffn_up", 2*inner, n)
	default:
		if d.activation == decoder.SiLU || d.left[p+"ffn_gate.weight"] != nil {
			l.Gate = d.matrix(p+"ffn_gate", inner, n)
		}
		l.Up = d.matrix(p+"ffn_up", inner, n)
	}
	if d.within {
		l.WithinMLP = d.norm(p, "ffn_sub_norm", inner)
	}
	l.Down = d.matrix(p+"ffn_down", n, inner)
}

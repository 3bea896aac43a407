package loom

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// bundle puts a decoder into the graph: input_ids int64 [batch,sequence] become logits float32
// [batch,sequence,vocab], and each layer N has the states past_key_values.N.key and
// past_key_values.N.value. The input of the head is named last_hidden_state.
func (w *lowerer) bundle() error {
	t := w.net.Transformer
	if err := positive("hidden_size", t.HiddenSize, "vocab_size", t.VocabSize); err != nil {
		return fmt.Errorf("the transformer: %w", err)
	}
	if eps := t.epsilon(); !(eps >= 0 && eps <= math.MaxFloat32) {
		return fmt.Errorf("the transformer: its rms_norm_eps is %v; it must be a positive float32", eps)
	}
	blocks, err := w.blocks()
	if err != nil {
		return err
	}
	table, err := w.global("embeddings", tensor.Shape{t.VocabSize, t.HiddenSize})
	if err != nil {
		return err
	}
	d := w.decoder()
	w.b.Limit(graph.Limit{Input: d.ids, Most: t.VocabSize - 1, About: fmt.Sprintf("token ids; the vocabulary has %d", t.VocabSize)})
	x := w.reshape(w.b.Op("Gather", []string{table, d.ids}, graph.IntAttr("axis", 0)), -1, int64(t.HiddenSize))
	for _, b := range blocks {
		if x, err = w.block(d, b, x); err == nil {
			err = w.b.Err()
		}
		if err != nil {
			return err
		}
	}
	if t.HasFinalNorm {
		norm, err := w.global("final_norm", tensor.Shape{t.HiddenSize})
		if err != nil {
			return err
		}
		x = w.rms(x, norm, rmsEpsilon)
	}
	y, err := w.head(x, table)
	if err != nil {
		return err
	}
	w.b.Name(d.sequences(x, t.HiddenSize), "last_hidden_state")
	y = d.sequences(y, t.VocabSize)
	w.b.Output(y, "logits", graph.TensorOf(tensor.F32, graph.Dims{graph.Symbol("batch"), graph.Symbol("sequence"), graph.Known(t.VocabSize)}))
	d.finish()
	return nil
}

// block is the four layers of one block of a decoder.
type block struct {
	norm1, attention, norm2, mlp *Layer
	path                         [4]string
	heads                        heads
}

// blocks groups the layers of a decoder into blocks, and checks them.
func (w *lowerer) blocks() ([]*block, error) {
	list := w.net.Layers
	if w.net.cells() != int64(len(list)) || len(list)%4 != 0 {
		return nil, fmt.Errorf("a decoder has four layers in each block, and the bundle has %d in a grid for %d", len(list), w.net.cells())
	}
	var blocks []*block
	for i := 0; i < len(list); i += 4 {
		b := &block{norm1: list[i], attention: list[i+1], norm2: list[i+2], mlp: list[i+3]}
		for k, want := range []LayerType{RMSNorm, MultiHeadAttention, RMSNorm, SwiGLU} {
			b.path[k] = fmt.Sprintf("layers.%d", i+k)
			if list[i+k].Type != want {
				return nil, fmt.Errorf("%s is %v; that layer of a block is %v in a decoder", b.path[k], list[i+k].Type, want)
			}
		}
		if err := b.prepare(w.net.Transformer); err != nil {
			return nil, &layerError{b.path[1], MultiHeadAttention, err}
		}
		if first := blocks; len(first) > 0 && (first[0].heads.kv != b.heads.kv || first[0].heads.size != b.heads.size) {
			return nil, fmt.Errorf("%s has %d heads of keys of %d numbers, and other layers have %d of %d", b.path[1], b.heads.kv, b.heads.size, first[0].heads.kv, first[0].heads.size)
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// prepare gives the attention layer the bundle's QueryDim, and its RopeFreqBase if the layer has
// none, and checks the widths.
func (b *block) prepare(t *Transformer) error {
	l := *b.attention
	if d := t.Dims; d != nil {
		if d.QueryDim > 0 {
			l.QueryDim = d.QueryDim
		}
		if l.RopeFreqBase == 0 {
			l.RopeFreqBase = d.RopeFreqBase
		}
	}
	var err error
	if b.heads, err = l.heads(); err != nil {
		return err
	}
	b.attention = &l
	widths := []int{b.norm1.InputHeight, l.DModel, b.norm2.InputHeight, b.mlp.InputHeight}
	for _, n := range widths {
		if n != t.HiddenSize {
			return fmt.Errorf("the block reads %d numbers, and the bundle has %d", n, t.HiddenSize)
		}
	}
	return positive("output_height of SwiGLU", b.mlp.OutputHeight)
}

// epsilon returns the epsilon of the norms before attention and before the feed-forward network.
func (t *Transformer) epsilon() float64 {
	if t.Dims == nil || t.Dims.RMSNormEps == 0 {
		return rmsEpsilon
	}
	return t.Dims.RMSNormEps
}

// bitNet reports whether matrices multiply whole numbers, as in a ternary bundle.
func (w *lowerer) bitNet() bool { return w.net.WeightDType() == Ternary }

// global returns a tensor of the whole bundle as float32.
func (w *lowerer) global(name string, shape tensor.Shape) (string, error) {
	return w.named("transformer."+name, shape)
}

// named returns an initializer as float32. It fails if the initializer has another shape.
func (w *lowerer) named(name string, shape tensor.Shape) (string, error) {
	init := w.inits[name]
	if init == nil {
		return "", fmt.Errorf("the bundle has no %s", name)
	}
	if !init.Tensor.Shape().Equal(shape) {
		return "", fmt.Errorf("%s is %v, not %v", name, init.Tensor.Shape(), shape)
	}
	return w.restored(init)
}

// block adds attention and then the feed-forward network to x. Each has a norm before it.
func (w *lowerer) block(d *decoding, b *block, x string) (string, error) {
	attention, err := w.projections(b.attention, b.path[1])
	if err != nil {
		return "", &layerError{b.path[1], MultiHeadAttention, err}
	}
	mlp, err := w.projections(b.mlp, b.path[3])
	if err != nil {
		return "", &layerError{b.path[3], SwiGLU, err}
	}
	eps := w.net.Transformer.epsilon()
	hidden := tensor.Shape{w.net.Transformer.HiddenSize}
	norms := [2]string{}
	for i, path := range []string{b.path[0], b.path[2]} {
		if norms[i], err = w.named(path, hidden); err != nil {
			return "", err
		}
	}
	y, err := w.attend(d, b, attention, w.rms(x, norms[0], eps))
	if err != nil {
		return "", &layerError{b.path[1], MultiHeadAttention, err}
	}
	x = w.op("Add", x, y)
	y, err = w.feed(b, mlp, w.rms(x, norms[1], eps))
	if err != nil {
		return "", &layerError{b.path[3], SwiGLU, err}
	}
	return w.op("Add", x, y), nil
}

// attend computes the attention of a block.
func (w *lowerer) attend(d *decoding, b *block, p map[string]projection, x string) (string, error) {
	h := b.heads
	in := w.prepared(x)
	q, err := w.headNorm(b.path[1]+".q_norm", h, w.cut(p["q"].of(w, in), h.query, h.count*h.size), h.count)
	if err != nil {
		return "", err
	}
	k, err := w.headNorm(b.path[1]+".k_norm", h, p["k"].of(w, in), h.kv)
	if err != nil {
		return "", err
	}
	y := d.attention(h, q, k, p["v"].of(w, in))
	if w.bitNet() {
		if y, err = w.inner(b.path[1], h.query, y); err != nil {
			return "", err
		}
	}
	out := p["o"]
	if n := h.count * h.size; n < h.query {
		if w.bitNet() {
			return "", fmt.Errorf("its query_dim is %d, and its heads give %d numbers", h.query, n)
		}
		if out.packed {
			return "", fmt.Errorf("its query_dim is %d, and its heads give %d numbers, which a matrix of Q4_0 cannot be cut to", h.query, n)
		}
		out.matrix = w.slice(out.matrix, 0, int64(n), 1)
	}
	return out.of(w, w.prepared(y)), nil
}

// cut returns the first n columns of x.
func (w *lowerer) cut(x string, width, n int) string {
	if n == width {
		return x
	}
	return w.slice(x, 0, int64(n), 1)
}

// headNorm normalises each head if the bundle has a norm of this name.
func (w *lowerer) headNorm(name string, h heads, x string, count int) (string, error) {
	if w.inits[name] == nil {
		return x, nil
	}
	norm, err := w.named(name, tensor.Shape{h.size})
	if err != nil {
		return "", err
	}
	y := w.rms(w.reshape(x, -1, int64(count), int64(h.size)), norm, rmsEpsilon)
	return w.reshape(y, -1, int64(count*h.size)), nil
}

// feed computes the feed-forward network of a block.
func (w *lowerer) feed(b *block, p map[string]projection, x string) (string, error) {
	in := w.prepared(x)
	a := SiLU
	if w.bitNet() && b.activation(w.net.Transformer) == ReLU2 {
		a = ReLU2
	}
	y := w.op("Mul", w.activate(a, p["gate"].of(w, in)), p["up"].of(w, in))
	if w.bitNet() {
		var err error
		if y, err = w.inner(b.path[3], b.mlp.OutputHeight, y); err != nil {
			return "", err
		}
	}
	return p["down"].of(w, w.prepared(y)), nil
}

// activation returns the activation of the feed-forward network.
func (b *block) activation(t *Transformer) Activation {
	if t.Dims != nil && t.Dims.Activation != "" {
		if a := ParseActivation(t.Dims.Activation); a != ReLU {
			return a
		}
	}
	return b.mlp.Activation
}

// head returns the logits. A ternary bundle's own head is made ternary; the table of embeddings is
// not.
func (w *lowerer) head(x, table string) (string, error) {
	t := w.net.Transformer
	if w.inits["transformer.lm_head"] == nil {
		if !t.LMHeadTied {
			return "", fmt.Errorf("the bundle has no transformer.lm_head, and does not say that the embeddings serve as such (lm_head_tied)")
		}
		return w.linear(x, table, ""), nil
	}
	shape := tensor.Shape{t.VocabSize, t.HiddenSize}
	matrix, err := w.global("lm_head", shape)
	if err != nil {
		return "", err
	}
	if !w.bitNet() {
		return w.linear(x, matrix, ""), nil
	}
	p := projection{matrix: matrix, scale: w.b.Float(1), whole: true}
	if !ternaryAlready(w.inits["transformer.lm_head"].Tensor) {
		p.scale = w.b.Op("ReduceMean", []string{w.op("Abs", matrix)}, graph.IntAttr("keepdims", 0))
		p.matrix = w.op("Div", matrix, p.scale)
	}
	p.matrix = w.op("Clip", w.rounded(p.matrix), w.b.Float(-1), w.b.Float(1))
	return p.of(w, w.prepared(x)), nil
}

// ternaryAlready reports whether all weights are within 1e-6 of -1, 0 or 1.
func ternaryAlready(t *tensor.Tensor) bool {
	if t.DType() != tensor.F32 {
		return false
	}
	for _, v := range tensor.View[float32](t) {
		d := min(abs(v), abs(v-1), abs(v+1))
		if !(d <= 1e-6) {
			return false
		}
	}
	return true
}

func abs(v float32) float32 { return max(v, -v) }

package loom

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// config holds the settings of a Hugging Face config.json that a bundle needs.
type config struct {
	Architectures []string `json:"architectures"`
	ModelType     string   `json:"model_type"`
	Layers        int      `json:"num_hidden_layers"`
	Hidden        int      `json:"hidden_size"`
	Inner         int      `json:"intermediate_size"`
	Heads         int      `json:"num_attention_heads"`
	KVHeads       int      `json:"num_key_value_heads"`
	HeadDim       int      `json:"head_dim"`
	Eps           *float64 `json:"rms_norm_eps"`
	Rope          *float64 `json:"rope_theta"`
	Act           string   `json:"hidden_act"`
}

// decoder reports whether the config describes a decoder in the style of Llama.
func (c *config) decoder() bool {
	names := c.Architectures
	if len(names) > 0 {
		names = append(slices.Clone(names), strings.ReplaceAll(c.ModelType, "smol", "smollm"))
	}
	for _, name := range names {
		for _, word := range []string{"llama", "mistral", "qwen", "smollm", "gemma", "phi"} {
			if strings.Contains(strings.ToLower(name), word) {
				return true
			}
		}
	}
	return slices.Contains([]string{"llama", "mistral", "qwen2", "qwen3", "smollm", "gemma", "gemma2", "phi", "phi3"}, strings.ToLower(c.ModelType)) ||
		c.Layers > 0 && c.Hidden > 0 && c.Heads > 0
}

// dims returns the extents in the config, with Loom's defaults for missing ones.
func (c *config) dims() (*Dims, error) {
	if !c.decoder() {
		return nil, fmt.Errorf("the config of %q is not of a decoder in the style of Llama", c.ModelType)
	}
	const most = 1 << 24
	for _, p := range []struct {
		key   string
		value int
	}{{"num_attention_heads", c.Heads}, {"hidden_size", c.Hidden}, {"intermediate_size", c.Inner}} {
		if p.value <= 0 || p.value > most {
			return nil, fmt.Errorf("%s of %d in the config cannot be", p.key, p.value)
		}
	}
	d := &Dims{NumLayers: c.Layers, NumHeads: c.Heads, NumKVHeads: c.KVHeads, HeadDim: c.HeadDim, IntermediateSize: c.Inner,
		RMSNormEps: 1e-6, RopeFreqBase: 10000, Activation: SiLU.String()}
	if d.NumKVHeads == 0 {
		d.NumKVHeads = d.NumHeads
	}
	if d.HeadDim == 0 {
		d.HeadDim = c.Hidden / c.Heads
	}
	if d.NumKVHeads < 0 || d.NumHeads%d.NumKVHeads != 0 || d.HeadDim <= 0 || d.HeadDim > most {
		return nil, fmt.Errorf("%d heads of %d numbers cannot share %d key heads", d.NumHeads, d.HeadDim, d.NumKVHeads)
	}
	if c.Eps != nil {
		d.RMSNormEps = *c.Eps
	}
	if c.Rope != nil {
		d.RopeFreqBase = *c.Rope
	}
	if strings.EqualFold(c.Act, "relu2") {
		d.Activation = ReLU2.String()
	}
	d.QueryDim, d.KVDim = d.NumHeads*d.HeadDim, d.NumKVHeads*d.HeadDim
	return d, nil
}

// Import makes a bundle from a Hugging Face decoder: config.json and the tensors of its safetensors
// files. The decoder's matrices become dtype d. Int4 gives Q4_0 blobs, Ternary takes the matrices
// of a BitNet model as they are, and other dtypes quantise. Import also returns the names of
// tensors that a bundle does not use. It fails if a tensor is missing, has another size or cannot
// become dtype d, if there are tensors for more blocks than the config says, and for Float64, which
// bundles cannot name.
func Import(configJSON []byte, tensors *graph.Model, d DType) (_ *Network, _ []string, err error) {
	defer guard.At(tensors.File).End(&err)
	var c config
	if err := json.Unmarshal(configJSON, &c); err != nil {
		return nil, nil, fmt.Errorf("config.json: %w", err)
	}
	dims, err := c.dims()
	if err != nil {
		return nil, nil, err
	}
	if d == Float64 || d >= dtypeCount {
		return nil, nil, fmt.Errorf("a bundle cannot be of %v", d)
	}
	im := &importer{dims: dims, hidden: c.Hidden, d: d, globals: map[string]*tensor.Tensor{}, blocks: map[int]map[string]*tensor.Tensor{}}
	last := -1
	for _, init := range tensors.Graph.Initializers {
		block, err := im.route(init)
		if err != nil {
			return nil, nil, err
		}
		last = max(last, block)
	}
	if dims.NumLayers <= 0 {
		dims.NumLayers = last + 1
	}
	if dims.NumLayers != len(im.blocks) {
		return nil, nil, fmt.Errorf("the config says %d layers, and there are tensors of %d", dims.NumLayers, len(im.blocks))
	}
	n, err := im.network()
	if err != nil {
		return nil, nil, err
	}
	return n, slices.Sorted(slices.Values(slices.AppendSeq(im.unknown, maps.Keys(im.globals)))), nil
}

// importer sorts the tensors of a decoder.
type importer struct {
	dims    *Dims
	hidden  int
	d       DType
	globals map[string]*tensor.Tensor         // by name
	blocks  map[int]map[string]*tensor.Tensor // by role, such as attn.q or mlp.down.scale
	unknown []string
}

// route files a tensor under the block and role in its name, and returns the number of its block,
// or -1 if it belongs to no block.
func (im *importer) route(init *graph.Initializer) (int, error) {
	parts := strings.Split(init.Name, ".")
	for i, p := range parts[:len(parts)-1] {
		if p != "layers" && p != "h" {
			continue
		}
		block, ok := index(parts[i+1])
		if !ok {
			break
		}
		role := roleOf(init.Name)
		if role == "" {
			im.unknown = append(im.unknown, init.Name)
			return -1, nil
		}
		if im.blocks[block] == nil {
			im.blocks[block] = map[string]*tensor.Tensor{}
		}
		if im.blocks[block][role] != nil {
			return -1, fmt.Errorf("%s is %s of its block, and so is another tensor", init.Name, role)
		}
		im.blocks[block][role] = init.Tensor
		return block, nil
	}
	im.globals[init.Name] = init.Tensor
	return -1, nil
}

// roleOf returns the role of a tensor of a block, or "" if bundles do not have such a tensor.
func roleOf(name string) string {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
	}
	role := ""
	switch {
	case has("inner_attn_ln", "attn_sub_norm"):
		return "attn.inner"
	case has("ffn_layernorm", "ffn_sub_norm"):
		return "mlp.inner"
	case has("input_layernorm", "ln_1"):
		return "norm1"
	case has("attn"):
		for _, r := range []string{"q", "k", "v", "o"} {
			switch {
			case has(r + "_norm"):
				return "attn." + r + "norm"
			case has(r + "_proj"):
				role = "attn." + r
			}
		}
	case has("post_attention_layernorm", "ln_2"):
		return "norm2"
	case has("mlp"):
		switch {
		case has("gate_proj", "w1"):
			role = "mlp.gate"
		case has("up_proj", "w3"):
			role = "mlp.up"
		case has("down_proj", "w2"):
			role = "mlp.down"
		}
	}
	switch {
	case role == "":
		return ""
	case has("weight_scale"):
		return role + ".scale"
	case strings.HasSuffix(name, ".bias"):
		return role + ".bias"
	}
	return role
}

// global takes the first tensor outside the blocks with one of these names, or with a name that
// ends in "." and one of them.
func (im *importer) global(names ...string) *tensor.Tensor {
	for _, want := range names {
		if im.globals[want] != nil {
			return im.take(want)
		}
		for _, name := range slices.Sorted(maps.Keys(im.globals)) {
			if strings.HasSuffix(name, "."+want) {
				return im.take(name)
			}
		}
	}
	return nil
}

// take removes a tensor from globals and returns it.
func (im *importer) take(name string) *tensor.Tensor {
	t := im.globals[name]
	delete(im.globals, name)
	return t
}

// network builds the bundle.
func (im *importer) network() (*Network, error) {
	dims := im.dims
	t := &Transformer{Architecture: "llama_style_decoder", HiddenSize: im.hidden, WeightDType: im.d.String(), Dims: dims}
	n := &Network{Depth: 1, Rows: 1, Cols: 1, LayersPerCell: 4 * dims.NumLayers, Transformer: t}
	for i := range dims.NumLayers {
		layers, err := im.block(im.blocks[i])
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
		for _, l := range layers {
			l.L = len(n.Layers)
			l.fill()
			l.filled &^= filledHeadDim | filledNumKVHeads | filledQueryDim
			n.Layers = append(n.Layers, l)
		}
	}
	embeddings := im.global("model.embed_tokens.weight", "transformer.wte.weight", "embeddings.weight", "embed_tokens.weight")
	if embeddings == nil {
		return nil, fmt.Errorf("there are no embeddings")
	}
	if s := embeddings.Shape(); len(s) == 2 {
		t.VocabSize = s[0]
	}
	head := im.global("lm_head.weight", "output.weight")
	norm := im.global("model.norm.weight", "transformer.ln_f.weight", "ln_f.weight", "norm.weight")
	t.LMHeadTied, t.HasFinalNorm = head == nil, norm != nil
	for _, g := range []struct {
		name  string
		t     *tensor.Tensor
		shape tensor.Shape
	}{{"embeddings", embeddings, tensor.Shape{t.VocabSize, im.hidden}}, {"lm_head", head, tensor.Shape{t.VocabSize, im.hidden}}, {"final_norm", norm, tensor.Shape{im.hidden}}} {
		if g.t == nil {
			continue
		}
		w, err := sized(g.name, g.t, g.shape)
		if err != nil {
			return nil, err
		}
		n.Globals = append(n.Globals, plainBlob(g.name, w, g.shape))
	}
	return n, nil
}

// plainBlob returns a blob of float32.
func plainBlob(name string, w []float32, shape tensor.Shape) *Blob {
	data, _ := Morph(Float32, w, 1)
	return &Blob{Name: name, DType: Float32, Data: data, Shape: shape, offset: -1}
}

// sized returns the numbers of a tensor. It fails if the tensor has another shape.
func sized(name string, t *tensor.Tensor, shape tensor.Shape) ([]float32, error) {
	if t == nil {
		return nil, fmt.Errorf("there is no %s", name)
	}
	if !t.Shape().Equal(shape) {
		return nil, fmt.Errorf("%s is %v, not %v", name, t.Shape(), shape)
	}
	_, w, err := numbers(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return w, nil
}

// block builds the four layers of a block.
func (im *importer) block(roles map[string]*tensor.Tensor) ([]*Layer, error) {
	d := im.dims
	var layers []*Layer
	norm := func(role string) error {
		w, err := sized(role, roles[role], tensor.Shape{im.hidden})
		layers = append(layers, &Layer{Type: RMSNorm, DType: Float32, InputHeight: im.hidden, OutputHeight: im.hidden, Weights: NewStore(Float32, w)})
		return err
	}
	if err := norm("norm1"); err != nil {
		return nil, err
	}
	attn := &Layer{Type: MultiHeadAttention, DType: im.d, NumHeads: d.NumHeads, NumKVHeads: d.NumKVHeads, HeadDim: d.HeadDim, QueryDim: d.QueryDim,
		DModel: im.hidden, RopeFreqBase: d.RopeFreqBase}
	if err := im.matrices(attn, "attn.", roles); err != nil {
		return nil, err
	}
	layers = append(layers, attn)
	if err := norm("norm2"); err != nil {
		return nil, err
	}
	mlp := &Layer{Type: SwiGLU, DType: im.d, Activation: ParseActivation(d.Activation), InputHeight: im.hidden, OutputHeight: d.IntermediateSize}
	if err := im.matrices(mlp, "mlp.", roles); err != nil {
		return nil, err
	}
	return append(layers, mlp), nil
}

// matrices gives a layer its matrices and biases, stored as the dtype requires, and the norms of
// its parts.
func (im *importer) matrices(l *Layer, prefix string, roles map[string]*tensor.Tensor) error {
	parts, err := l.Parts()
	if err != nil {
		return err
	}
	count, err := l.Count()
	if err != nil {
		return err
	}
	for _, p := range parts {
		if t := roles[prefix+p.Name]; p.Q4 != 0 && t == nil {
			return fmt.Errorf("there is no %s%s", prefix, p.Name)
		}
	}
	store := make([]float32, count)
	biased := false
	for _, p := range parts {
		n := p.Shape.Len()
		to := store[p.Offset : p.Offset+n]
		if p.Q4 == 0 {
			role := prefix + strings.TrimPrefix(p.Name, "b") + ".bias"
			if t := roles[role]; t != nil {
				w, err := sized(role, t, p.Shape)
				if err != nil {
					return err
				}
				copy(to, w)
				biased = biased || slices.ContainsFunc(w, func(x float32) bool { return x != 0 })
			}
			continue
		}
		role := prefix + p.Name
		m, err := im.matrix(role, roles[role], roles[role+".scale"], p)
		if err != nil {
			return err
		}
		switch im.d {
		case Int4:
			l.Extra = append(l.Extra, &Blob{Name: fmt.Sprintf("q4_0.%d", p.Q4), Kind: Q4_0, DType: Float32, Native: true, Data: PackQ4_0(m.w), Shape: p.Shape, offset: -1})
		case Ternary:
			if m.codes == nil {
				return fmt.Errorf("%s is not packed in two bits, as the matrices of a ternary bundle are", role)
			}
			l.Extra = append(l.Extra, &Blob{Name: fmt.Sprintf("bitnet_ternary.%d", 10000+p.Offset), Kind: BitNetTernary, DType: Float32, Native: true,
				Data: PackBitNet(m.codes, p.Shape[0], p.Shape[1], p.Offset, m.scale), Shape: p.Shape, offset: -1})
		default:
			copy(to, m.w)
		}
	}
	if biased && (im.d == Ternary || im.d == Int4 && l.Type == MultiHeadAttention) {
		return fmt.Errorf("a bundle of %v has no place for the biases of %s* (one of float32 or int8 has)", im.d, prefix)
	}
	switch {
	case im.d == Int4 && l.Type == SwiGLU:
		l.Extra = append(l.Extra, plainBlob("biases", store[parts[3].Offset:], tensor.Shape{count - parts[3].Offset}))
	case im.d != Int4 && im.d != Ternary:
		l.Weights = NewStore(im.d, store)
	}
	inner := tensor.Shape{l.QueryDim}
	if l.Type == SwiGLU {
		inner = tensor.Shape{l.OutputHeight}
	}
	for _, e := range []struct {
		role, name string
		shape      tensor.Shape
	}{{"inner", "inner_norm", inner}, {"qnorm", "q_norm", tensor.Shape{l.HeadDim}}, {"knorm", "k_norm", tensor.Shape{l.HeadDim}}} {
		if t := roles[prefix+e.role]; t != nil {
			w, err := sized(prefix+e.role, t, e.shape)
			if err != nil {
				return err
			}
			l.Extra = append(l.Extra, plainBlob(e.name, w, e.shape))
		}
	}
	return nil
}

// matrix is one matrix of a decoder.
type matrix struct {
	w     []float32
	codes []int8 // nil unless BitNet
	scale float32
}

// matrix reads a matrix of p's shape or, for BitNet, a quarter as many bytes. Each BitNet byte
// holds one weight from each quarter of the rows.
func (im *importer) matrix(role string, t, scale *tensor.Tensor, p Part) (*matrix, error) {
	n := p.Shape.Len()
	if t.DType() != tensor.U8 || p.Shape[0]%4 != 0 || t.Len() != n/4 {
		w, err := sized(role, t, p.Shape)
		return &matrix{w: w, scale: 1}, err
	}
	m := &matrix{w: make([]float32, n), codes: make([]int8, n), scale: 1}
	if scale != nil {
		if scale.Len() != 1 {
			return nil, fmt.Errorf("%s has %d scales, not 1", role, scale.Len())
		}
		_, w, err := numbers(scale)
		if err != nil {
			return nil, err
		}
		m.scale = w[0]
	}
	if math.IsNaN(float64(m.scale)) || math.IsInf(float64(m.scale), 0) {
		return nil, fmt.Errorf("the scale of %s is %v; it must be a finite number", role, m.scale)
	}
	for i, b := range t.Bytes() {
		for lane := range 4 {
			c := int8(b>>(2*lane)&3) - 1
			if c == 2 {
				c = 0
			}
			at := lane*(n/4) + i
			m.codes[at], m.w[at] = c, float32(c)*m.scale
		}
	}
	return m, nil
}

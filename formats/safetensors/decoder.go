package safetensors

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Decoder describes a Llama-style decoder: token embeddings, blocks of attention and
// gated MLP with RMS norms in front of both, a last norm, a head.
type Decoder struct {
	Hidden       int // width between blocks
	Vocab        int // rows of the embedding
	Heads        int // of queries
	KVHeads      int // of keys and values; Heads is a multiple
	HeadDim      int
	QueryDim     int // Heads·HeadDim
	KVDim        int // KVHeads·HeadDim
	Intermediate int // width within the MLP
	NormEps      float64
	RopeTheta    float64
	Activation   string // of the gate: silu, or relu2, the square of what ReLU gives
	BitNet       bool   // the configuration or the folder's name says that weights are ternary

	Embedding *graph.Initializer // [Vocab,Hidden]
	FinalNorm *graph.Initializer // [Hidden]; nil for none
	Head      *graph.Initializer // [Vocab,Hidden]; nil where it is the embedding
	Blocks    []Block
	Unused    []string // tensors outside the blocks that have no part in this
}

// Block is one layer. Norms that it does not have are nil.
type Block struct {
	Norm1, Norm2 *graph.Initializer // [Hidden], in front of attention and MLP
	QNorm, KNorm *graph.Initializer // [HeadDim], of every head of queries and of keys
	AttnNorm     *graph.Initializer // [QueryDim], in front of O
	MLPNorm      *graph.Initializer // [Intermediate], in front of Down
	Q            Matrix             // [QueryDim,Hidden]
	K, V         Matrix             // [KVDim,Hidden]
	O            Matrix             // [Hidden,QueryDim]
	Gate, Up     Matrix             // [Intermediate,Hidden]
	Down         Matrix             // [Hidden,Intermediate]
}

// Matrix is a linear map: outputs are its rows.
type Matrix struct {
	Rows, Cols int
	Weight     *graph.Initializer // [Rows,Cols] of a floating-point type or, packed, uint8 [Rows/4,Cols]
	Packed     bool               // ternary weights, four to a byte; Codes gives them
	Scale      *graph.Initializer // of packed weights, one number
	Bias       *graph.Initializer // [Rows]; nil for none
}

// Codes returns packed weights as -1, 0 and +1, [Rows,Cols]. Byte (i,j) of the weight
// holds column j of the rows i, i+Rows/4, i+Rows/2 and i+3·Rows/4, two bits each, the
// first lowest: the weight plus 1, where 3 counts as 1.
func (m *Matrix) Codes() []int8 {
	codes := make([]int8, m.Rows*m.Cols)
	quarter := len(codes) / 4
	for i, b := range m.Weight.Tensor.Bytes() {
		for lane := range 4 {
			c := int8(b >> (2 * lane) & 3)
			if c == 3 {
				c = 1
			}
			codes[lane*quarter+i] = c - 1
		}
	}
	return codes
}

// DecoderOf describes a model that OpenFolder opened: what its config.json says, and
// its tensors by what they do. A model that is no such decoder is graph.ErrUnsupported;
// tensors that are missing, have other shapes, or lie in a block without a part in it
// are graph.ErrFormat.
func DecoderOf(m *graph.Model) (*Decoder, error) {
	d := &describer{file: m.File, blocks: map[int][]member{}}
	d.config(m)
	if d.err == nil {
		d.tensors(m)
	}
	if d.err == nil {
		d.globals()
		d.allBlocks()
	}
	if d.err != nil {
		return nil, d.err
	}
	return &d.Decoder, nil
}

// describer finds what a Decoder says. The first error ends it.
type describer struct {
	Decoder
	file   string
	layers int // that the configuration asks for; 0 where it does not say
	top    []*graph.Initializer
	blocks map[int][]member // by number
	err    error
}

// member is a tensor of a block, with its name there.
type member struct {
	name string
	t    *graph.Initializer
}

func (d *describer) fail(kind error, format string, args ...any) {
	if d.err == nil {
		d.err = &graph.Error{Stage: "load", File: d.file, Offset: -1, Kind: kind, Err: fmt.Errorf(format, args...)}
	}
}

// settings is config.json as far as it matters.
type settings struct {
	Architectures []string `json:"architectures"`
	ModelType     string   `json:"model_type"`
	Activation    string   `json:"hidden_act"`
	NormEps       *float64 `json:"rms_norm_eps"`
	RopeTheta     *float64 `json:"rope_theta"`
	Layers        *int     `json:"num_hidden_layers"`
	Hidden        *int     `json:"hidden_size"`
	Heads         *int     `json:"num_attention_heads"`
	KVHeads       *int     `json:"num_key_value_heads"`
	HeadDim       *int     `json:"head_dim"`
	Intermediate  *int     `json:"intermediate_size"`
}

// families are parts of the names of models that are such decoders.
var families = []string{"llama", "mistral", "qwen", "smollm", "gemma", "phi"}

// isDecoder reports whether the settings are those of such a decoder.
func (s *settings) isDecoder() bool {
	if s.Layers != nil && s.Hidden != nil && s.Heads != nil {
		return true
	}
	for _, name := range append(s.Architectures, s.ModelType) {
		for _, family := range families {
			if strings.Contains(strings.ToLower(name), family) {
				return true
			}
		}
	}
	return false
}

// config takes the dimensions from the configuration.
func (d *describer) config(m *graph.Model) {
	var text string
	for _, p := range m.Meta {
		if p.Key == configFile && p.Data == nil {
			text = p.Value
		}
	}
	if text == "" {
		d.fail(graph.ErrUnsupported, "there is no %s, which says what the tensors are for; open the folder that has it", configFile)
		return
	}
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		d.fail(graph.ErrFormat, "%s: %w", configFile, err)
		return
	}
	if !s.isDecoder() {
		d.fail(graph.ErrUnsupported, "%s is of model_type %q, which is no Llama-style decoder", configFile, s.ModelType)
		return
	}
	d.Heads = d.size("num_attention_heads", s.Heads, 0)
	d.Hidden = d.size("hidden_size", s.Hidden, 0)
	d.Intermediate = d.size("intermediate_size", s.Intermediate, 0)
	d.KVHeads = d.size("num_key_value_heads", s.KVHeads, d.Heads)
	if d.err != nil {
		return
	}
	if s.HeadDim == nil && d.Hidden%d.Heads != 0 {
		d.fail(graph.ErrFormat, "%s has no head_dim, and hidden_size %d is no multiple of num_attention_heads %d", configFile, d.Hidden, d.Heads)
	}
	d.HeadDim = d.size("head_dim", s.HeadDim, d.Hidden/d.Heads)
	if s.Layers != nil {
		d.layers = d.size("num_hidden_layers", s.Layers, 0)
	}
	if d.err == nil && d.Heads%d.KVHeads != 0 {
		d.fail(graph.ErrFormat, "%s: num_attention_heads %d is no multiple of num_key_value_heads %d", configFile, d.Heads, d.KVHeads)
	}
	d.QueryDim, d.KVDim = d.Heads*d.HeadDim, d.KVHeads*d.HeadDim
	d.NormEps, d.RopeTheta = 1e-6, 10000
	if s.NormEps != nil {
		d.NormEps = *s.NormEps
	}
	if s.RopeTheta != nil {
		d.RopeTheta = *s.RopeTheta
	}
	switch s.Activation {
	case "", "silu", "swish":
		d.Activation = "silu"
	case "relu2":
		d.Activation = "relu2"
	default:
		d.fail(graph.ErrUnsupported, "%s: hidden_act %q is none of silu, relu2", configFile, s.Activation)
	}
	model := strings.ToLower(filepath.Base(m.File))
	d.BitNet = strings.Contains(strings.ToLower(s.ModelType), "bitnet") || strings.Contains(model, "bitnet") || strings.Contains(model, "1bit")
}

// size returns an extent of the configuration, which must be given where other is 0.
func (d *describer) size(key string, v *int, other int) int {
	switch {
	case v == nil && other > 0:
		return other
	case v == nil:
		d.fail(graph.ErrFormat, "%s lacks %s", configFile, key)
		return 0
	case *v <= 0 || *v > math.MaxInt32:
		d.fail(graph.ErrFormat, "%s: %s is %d", configFile, key, *v)
		return 0
	}
	return *v
}

// tensors sorts tensors into blocks and others.
func (d *describer) tensors(m *graph.Model) {
	highest := -1
	for _, t := range m.Graph.Initializers {
		n, rest, ok := blockOf(t.Name)
		if !ok {
			d.top = append(d.top, t)
			continue
		}
		d.blocks[n] = append(d.blocks[n], member{rest, t})
		highest = max(highest, n)
	}
	if d.layers == 0 {
		d.layers = highest + 1
	}
	if d.layers == 0 {
		d.fail(graph.ErrFormat, "there is no tensor of a block, such as model.layers.0.input_layernorm.weight")
	}
	if highest >= d.layers {
		d.fail(graph.ErrFormat, "there are tensors of block %d, and %s has %d blocks", highest, configFile, d.layers)
	}
}

// blockOf finds the number behind a part "layers" or "h" of a name, and what follows.
func blockOf(name string) (n int, rest string, ok bool) {
	parts := strings.Split(name, ".")
	for i := 0; i+1 < len(parts); i++ {
		if parts[i] != "layers" && parts[i] != "h" {
			continue
		}
		if n, err := strconv.ParseUint(parts[i+1], 10, 31); err == nil {
			return int(n), strings.Join(parts[i+2:], "."), true
		}
	}
	return 0, "", false
}

// globals finds the tensors outside the blocks.
func (d *describer) globals() {
	used := map[*graph.Initializer]bool{}
	find := func(names ...string) *graph.Initializer {
		for _, name := range names {
			var found *graph.Initializer
			for _, t := range d.top {
				if t.Name == name {
					found = t
					break
				}
				if !strings.HasSuffix(t.Name, name) {
					continue
				}
				if found != nil {
					d.fail(graph.ErrFormat, "both %q and %q end in %s", found.Name, t.Name, name)
					return nil
				}
				found = t
			}
			if found != nil {
				used[found] = true
				return found
			}
		}
		return nil
	}
	d.Embedding = find("model.embed_tokens.weight", "transformer.wte.weight", "embeddings.weight", "embed_tokens.weight")
	d.FinalNorm = find("model.norm.weight", "transformer.ln_f.weight", "ln_f.weight", "norm.weight")
	d.Head = find("lm_head.weight", "output.weight")
	if d.Embedding == nil {
		d.fail(graph.ErrFormat, "there is no tensor of token embeddings, such as model.embed_tokens.weight")
		return
	}
	shape := d.Embedding.Tensor.Shape()
	if len(shape) == 2 {
		d.Vocab = shape[0]
	}
	d.vector(d.Embedding, d.Vocab, d.Hidden)
	d.vector(d.FinalNorm, d.Hidden)
	d.vector(d.Head, d.Vocab, d.Hidden)
	for _, t := range d.top {
		if !used[t] {
			d.Unused = append(d.Unused, t.Name)
		}
	}
}

// vector checks type and shape of a tensor, if there is one.
func (d *describer) vector(t *graph.Initializer, dims ...int) {
	if t != nil && (!t.Tensor.DType().IsFloat() || !t.Tensor.Shape().Equal(dims)) {
		d.fail(graph.ErrFormat, "tensor %q is %v where floating-point numbers %v are wanted", t.Name, t.Tensor, tensor.Shape(dims))
	}
}

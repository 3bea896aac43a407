package huggingface

import (
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// family holds the decoders of one model_type: defaults of settings that are not given, and the
// differences from Llama.
type family struct {
	name    string
	headDim int     // 0 means hidden_size/num_attention_heads
	kvHeads int     // 0 means num_attention_heads
	theta   float64 // 0 means 10000
	epsilon float64 // 0 means 1e-6
	tied    bool
	act     string // "" means silu
	read    func(d *design) error
}

// design is a decoder before its tensors are found.
type design struct {
	*settings
	family *family
	decoder.Config
	layers, inner          int  // number of blocks, width of their MLP
	tied                   bool // the head is the embedding
	qkvBias, oBias, upBias bool
	fused                  bool // qkv_proj and gate_up_proj
	plainMLP               bool // c_fc and c_proj, no gate
	headNorms, wideNorms   bool
	norms                  [4]string // before and after the attention, before and after the MLP
	ropes                  []*decoder.Rope
	windows                []int
}

var families = []family{
	{name: "llama", read: (*design).llama},
	{name: "mistral", kvHeads: 8, read: (*design).mistral},
	{name: "qwen2", kvHeads: 32, read: (*design).qwen2},
	{name: "qwen3", kvHeads: 32, headDim: 128, read: (*design).qwen3},
	{name: "gemma", kvHeads: 16, headDim: 256, tied: true, act: "gelu_pytorch_tanh", read: (*design).gemma},
	{name: "gemma2", kvHeads: 4, headDim: 256, tied: true, act: "gelu_pytorch_tanh", read: (*design).gemma2},
	{name: "gemma3_text", kvHeads: 4, headDim: 256, tied: true, act: "gelu_pytorch_tanh", theta: 1e6, read: (*design).gemma3},
	{name: "phi3", epsilon: 1e-5, read: (*design).phi3},
	{name: "smollm3", kvHeads: 4, tied: true, theta: 2e6, read: (*design).smollm3},
	{name: "granite", read: (*design).granite},
	{name: "olmo2", epsilon: 1e-5, read: (*design).olmo2},
	{name: "stablelm", kvHeads: 32, epsilon: 1e-5, read: (*design).stablelm},
	{name: "starcoder2", kvHeads: 2, epsilon: 1e-5, tied: true, act: "gelu_pytorch_tanh", read: (*design).starcoder2},
}

// familyOf returns the family of the settings.
func familyOf(s *settings) (*family, error) {
	i := slices.IndexFunc(families, func(f family) bool { return f.name == s.ModelType })
	if i >= 0 {
		return &families[i], nil
	}
	return nil, refused(graph.ErrUnsupported, "%s is no family that is known (%s)", s.called(), strings.Join(Families(), ", "))
}

// Families returns the values of model_type that Lower supports.
func Families() []string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.name
	}
	for _, f := range encoders {
		if f.name != bert {
			names = append(names, f.name)
		}
	}
	return append(names, exchangedFamilies...)
}

func (d *design) llama() error {
	d.qkvBias, d.oBias, d.upBias = d.AttentionBias, d.AttentionBias, d.MLPBias
	return nil
}

func (d *design) mistral() error { return d.everyWindow(4096) }

func (d *design) qwen2() error {
	d.qkvBias = true
	return d.lateWindows()
}

func (d *design) qwen3() error {
	d.qkvBias, d.oBias = d.AttentionBias, d.AttentionBias
	d.headNorms = true
	return d.lateWindows()
}

// gemma reads the settings common to all versions of Gemma.
func (d *design) gemma() error {
	d.qkvBias, d.oBias = d.AttentionBias, d.AttentionBias
	d.UnitOffset = true
	d.EmbeddingScale = math.Sqrt(float64(d.Config.Hidden))
	return nil
}

// around gives blocks norms before and after attention and MLP.
func (d *design) around() error {
	d.norms = [4]string{"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"}
	scalar := or(d.QueryScalar, 256)
	if err := finite("query_pre_attn_scalar", scalar); err != nil {
		return err
	}
	d.Scale = 1 / math.Sqrt(scalar)
	return d.gemma()
}

func (d *design) gemma2() error {
	d.Config.AttentionCap, d.Config.LogitCap = d.settings.AttentionCap.or(50), d.settings.LogitCap.or(30)
	if err := d.someWindows(func(i int) bool { return i%2 == 0 }); err != nil {
		return err
	}
	return d.around()
}

func (d *design) gemma3() error {
	if d.Bidirectional {
		return refused(graph.ErrUnsupported, "use_bidirectional_attention is set; only causal decoders are known")
	}
	d.headNorms = true
	d.Config.LogitCap = d.settings.LogitCap.or(0)
	pattern, err := size("sliding_window_pattern", d.WindowPattern, 6)
	if err != nil {
		return err
	}
	if err := d.someWindows(func(i int) bool { return (i+1)%pattern != 0 }); err != nil {
		return err
	}
	local, err := d.rope(or(d.LocalTheta, 10000), nil)
	if err != nil {
		return err
	}
	for i, w := range d.windows {
		if w > 0 {
			d.ropes[i] = local
		}
	}
	return d.around()
}

func (d *design) phi3() error {
	d.fused = true
	return d.everyWindow(0)
}

func (d *design) smollm3() error {
	every, err := size("no_rope_layer_interval", d.NoRopeEvery, 4)
	if err != nil {
		return err
	}
	if d.NoRope != nil && len(d.NoRope) != d.layers {
		return refused(graph.ErrFormat, "no_rope_layers has %d numbers for %d layers", len(d.NoRope), d.layers)
	}
	for i := range d.ropes {
		if d.NoRope == nil && (i+1)%every == 0 || d.NoRope != nil && d.NoRope[i] == 0 {
			d.ropes[i] = nil
		}
	}
	w, err := d.window(0)
	if err != nil {
		return err
	}
	if err := d.windowsOf(w, func(i int) bool { return d.UseWindow && w > 0 && d.ropes[i] == nil }); err != nil {
		return err
	}
	return d.llama()
}

func (d *design) granite() error {
	d.EmbeddingScale, d.ResidualScale = or(d.EmbeddingMul, 1), or(d.ResidualMul, 1)
	d.Scale = or(d.AttentionMul, 1)
	divisor := or(d.LogitsScaling, 1)
	for _, x := range []struct {
		key string
		v   float64
	}{{"embedding_multiplier", d.EmbeddingScale}, {"residual_multiplier", d.ResidualScale}, {"attention_multiplier", d.Scale}, {"logits_scaling", divisor}} {
		if err := finite(x.key, x.v); err != nil {
			return err
		}
	}
	d.LogitScale = 1 / divisor
	return d.llama()
}

func (d *design) olmo2() error {
	d.qkvBias, d.oBias = d.AttentionBias, d.AttentionBias
	d.headNorms, d.wideNorms = true, true
	d.norms = [4]string{"", "post_attention_layernorm", "", "post_feedforward_layernorm"}
	return nil
}

func (d *design) stablelm() error {
	d.LayerNorm, d.qkvBias = true, d.QKVBias
	return nil
}

func (d *design) starcoder2() error {
	bias := or(d.UseBias, true)
	d.LayerNorm, d.plainMLP, d.qkvBias, d.oBias, d.upBias = true, true, bias, bias, bias
	return d.everyWindow(0)
}

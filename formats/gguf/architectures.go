package gguf

import (
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// architecture is a family of decoders and encoders: the differences from Llama without experts.
type architecture struct {
	name        string
	layerNorm   bool
	interleaved bool // the rope rotates neighbouring columns
	shortConvs  bool // layers without heads of keys are convolutions
	activation  decoder.Activation
	norms       [4]string       // before and after the attention, before and after the MLP; zero for Llama's
	read        func(d *design) // nil for none
}

// The names of norms.
var (
	usual  = [4]string{"attn_norm", "", "ffn_norm", ""}
	around = [4]string{"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"}
	after  = [4]string{"", "post_attention_norm", "", "post_ffw_norm"}
)

// architectures is the table of architectures.
var architectures = []architecture{
	{name: "llama", interleaved: true, read: func(d *design) { d.normalized = true }},
	{name: "qwen2"},
	{name: "qwen3", read: (*design).headNorms},
	{name: "qwen2moe", read: func(d *design) { d.shared = true }},
	{name: "qwen3moe", read: func(d *design) { d.normalized = true; d.headNorms() }},
	{name: "gemma", activation: decoder.GELUTanh, read: (*design).gemma},
	{name: "gemma2", activation: decoder.GELUTanh, norms: around, read: (*design).gemma2},
	{name: "gemma3", activation: decoder.GELUTanh, norms: around, read: (*design).gemma3},
	{name: "phi2", layerNorm: true, activation: decoder.GELUTanh, read: (*design).beside},
	{name: "phi3", read: func(d *design) { d.gateUp = true }},
	{name: "gpt2", layerNorm: true, activation: decoder.GELUTanh, read: func(d *design) { d.positions = true; clear(d.ropes) }},
	{name: "starcoder2", layerNorm: true, activation: decoder.GELUTanh},
	{name: "smollm3", interleaved: true, read: (*design).smollm3},
	{name: "granite", interleaved: true, read: (*design).granite},
	{name: "granitemoe", interleaved: true, read: func(d *design) { d.normalized = true; d.granite() }},
	{name: "olmo2", norms: after, read: (*design).olmo2},
	{name: "stablelm", layerNorm: true, read: (*design).stablelm},
	{name: "falcon", layerNorm: true, activation: decoder.GELUTanh, read: (*design).falcon},
	{name: "bert", layerNorm: true, activation: decoder.GELUTanh, read: func(d *design) { d.positions = true; clear(d.ropes); d.encoder() }},
	{name: "nomic-bert", layerNorm: true, read: (*design).encoder},
	{name: "lfm2", shortConvs: true, read: func(d *design) { d.final = "token_embd_norm"; d.headNorms() }},
	{name: "bitnet", read: (*design).bitnet},
	{name: "bitnet-b1.58", activation: decoder.ReLU2, read: (*design).bitnet},
	{name: "gpt-oss", norms: [4]string{"attn_norm", "", "post_attention_norm", ""}, read: (*design).gptOSS},
}

// Architectures returns the values of general.architecture that Lower supports.
func Architectures() []string {
	names := make([]string, len(architectures))
	for i, a := range architectures {
		names[i] = a.name
	}
	return names
}

// architectureOf returns the architecture of the settings.
func architectureOf(s *settings) (*architecture, error) {
	i := slices.IndexFunc(architectures, func(a architecture) bool { return a.name == s.architecture })
	if i < 0 {
		return nil, graph.Errorf(graph.ErrUnsupported, "%s %.80q is no architecture that can be run (%s)",
			architectureKey, s.architecture, strings.Join(Architectures(), ", "))
	}
	return &architectures[i], nil
}

// beside has the MLP of every block beside the attention, after one norm.
func (d *design) beside() {
	d.parallel = true
	d.norms[2] = ""
}

func (d *design) headNorms() { d.queryNorms = true }

func (d *design) gemma() {
	d.EmbeddingScale = math.Sqrt(float64(d.Hidden))
}

// wide sets the scale of scores of the model with this many layers.
func (d *design) wide(layers int) {
	if len(d.inner) == layers {
		d.Scale = 1 / math.Sqrt(float64(d.Hidden)/float64(d.Heads))
	}
}

func (d *design) gemma2() {
	d.gemma()
	d.wide(46)
	d.AttentionCap, d.LogitCap = d.float("attn_logit_softcapping", 50), d.float("final_logit_softcapping", 30)
	d.local(d.size("attention.sliding_window", 4096), 2, d.ropes[0])
}

func (d *design) gemma3() {
	d.gemma()
	d.wide(62)
	d.headNorms()
	d.LogitCap = d.float("final_logit_softcapping", 0)
	if d.has("attention.sliding_window") {
		d.local(d.size("attention.sliding_window", 0), 6, d.rope(d.positive("rope.freq_base_swa", 10000), false))
	}
}

func (d *design) smollm3() {
	for i := range d.ropes {
		if (i+1)%4 == 0 {
			d.ropes[i] = nil
		}
	}
}

func (d *design) granite() {
	d.EmbeddingScale, d.ResidualScale = d.float("embedding_scale", 1), d.float("residual_scale", 1)
	d.LogitScale = 1 / d.positive("logit_scale", 1)
	if !d.truth("rope.scaling.finetuned", true) {
		clear(d.ropes)
	}
}

func (d *design) olmo2() {
	d.headNorms()
	d.wideNorms = true
	if d.has("attention.sliding_window") {
		d.local(d.size("attention.sliding_window", 0), 4, d.rope(d.base("rope.freq_base_swa"), false))
	}
}

// base returns the base of a rope, which is that of all layers if the key is missing.
func (d *design) base(key string) float64 {
	return d.positive(key, d.positive("rope.freq_base", 10000))
}

func (d *design) stablelm() {
	if d.left["blk.0.ffn_norm.weight"] == nil {
		d.beside()
	}
	if d.left["blk.0.attn_q_norm.weight"] != nil {
		d.headNorms()
		d.ownNorms = true
	}
}

// bitnet has norms before the last product of the attention and of the MLP.
func (d *design) bitnet() { d.within = true }

func (d *design) falcon() {
	d.beside()
	if d.left["blk.0.attn_norm_2.weight"] != nil {
		d.norms[0], d.norms[2] = "attn_norm_2", "attn_norm"
	}
}

func (d *design) gptOSS() {
	d.normalized, d.sinks, d.limit = true, true, 7
	d.local(d.size("attention.sliding_window", 128), 2, d.rope(d.base("rope.freq_base_swa"), true))
}

// encoder has norms after the sums only, and every token see all tokens.
func (d *design) encoder() {
	const key = "pooling_type"
	d.norms, d.Encoder = [4]string{}, true
	switch v := d.float(key, 0); v {
	case 0, 1, 2, 3:
		d.Pooling = decoder.Pooling(v)
	default:
		d.wrong(graph.ErrUnsupported, key, "is %v; 0 to 3 are computed", v)
	}
	if d.truth("attention.causal", true) {
		d.wrong(graph.ErrUnsupported, "attention.causal", "is true; encoders are not causal")
	}
}

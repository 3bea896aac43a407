package huggingface

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/nacre-ml/nacre/runtime/graph"
)

// configFile is the name of the settings file, and the key of the metadata with its text.
const configFile = "config.json"

// settings holds the known settings of config.json. A pointer is nil if its setting is missing.
type settings struct {
	Architectures []string `json:"architectures"`
	ModelType     string   `json:"model_type"`

	Hidden       *int `json:"hidden_size"`
	Layers       *int `json:"num_hidden_layers"`
	Heads        *int `json:"num_attention_heads"`
	KVHeads      *int `json:"num_key_value_heads"`
	HeadDim      *int `json:"head_dim"`
	Intermediate *int `json:"intermediate_size"`
	Vocab        *int `json:"vocab_size"`

	Act         *string  `json:"hidden_act"`
	Activation  *string  `json:"hidden_activation"`
	RMSEpsilon  *float64 `json:"rms_norm_eps"`
	LayerEps    *float64 `json:"layer_norm_eps"`
	NormEpsilon *float64 `json:"norm_epsilon"`
	Tied        *bool    `json:"tie_word_embeddings"`

	AttentionBias bool  `json:"attention_bias"`
	MLPBias       bool  `json:"mlp_bias"`
	QKVBias       bool  `json:"use_qkv_bias"`
	UseBias       *bool `json:"use_bias"`
	Bidirectional bool  `json:"use_bidirectional_attention"`

	Theta         *float64   `json:"rope_theta"`
	LocalTheta    *float64   `json:"rope_local_base_freq"`
	Scaling       *scaling   `json:"rope_scaling"`
	Parameters    *scaling   `json:"rope_parameters"`
	Partial       *float64   `json:"partial_rotary_factor"`
	MaxPositions  *int       `json:"max_position_embeddings"`
	OriginalMax   *int       `json:"original_max_position_embeddings"`
	NoRope        []int      `json:"no_rope_layers"`
	NoRopeEvery   *int       `json:"no_rope_layer_interval"`
	Window        optional   `json:"sliding_window"`
	UseWindow     bool       `json:"use_sliding_window"`
	WindowLayers  *int       `json:"max_window_layers"`
	WindowPattern *int       `json:"sliding_window_pattern"`
	LayerTypes    []string   `json:"layer_types"`
	QueryScalar   *float64   `json:"query_pre_attn_scalar"`
	AttentionCap  optional   `json:"attn_logit_softcapping"`
	LogitCap      optional   `json:"final_logit_softcapping"`
	EmbeddingMul  *float64   `json:"embedding_multiplier"`
	AttentionMul  *float64   `json:"attention_multiplier"`
	ResidualMul   *float64   `json:"residual_multiplier"`
	LogitsScaling *float64   `json:"logits_scaling"`
	Quantization  *quantized `json:"quantization_config"`
}

// optional is a number that may be null. A null differs from a missing number.
type optional struct {
	given bool
	value *float64
}

func (o *optional) UnmarshalJSON(data []byte) error {
	o.given = true
	return json.Unmarshal(data, &o.value)
}

// or returns the number, 0 for null, or otherwise if it is missing.
func (o optional) or(otherwise float64) float64 {
	switch {
	case !o.given:
		return otherwise
	case o.value == nil:
		return 0
	}
	return *o.value
}

// quantized is the quantisation of a checkpoint.
type quantized struct {
	Method string `json:"quant_method"`
}

// scaling describes changes of a rope's frequencies.
type scaling struct {
	Type         string    `json:"rope_type"`
	OldType      string    `json:"type"`
	Theta        *float64  `json:"rope_theta"`
	Partial      *float64  `json:"partial_rotary_factor"`
	Full         *scaling  `json:"full_attention"` // for layers of this type
	Sliding      *scaling  `json:"sliding_attention"`
	Factor       *float64  `json:"factor"`
	Low          *float64  `json:"low_freq_factor"`
	High         *float64  `json:"high_freq_factor"`
	Original     *float64  `json:"original_max_position_embeddings"`
	Attention    *float64  `json:"attention_factor"`
	Fast         *float64  `json:"beta_fast"`
	Slow         *float64  `json:"beta_slow"`
	MScale       *float64  `json:"mscale"`
	MScaleAllDim *float64  `json:"mscale_all_dim"`
	Truncate     *bool     `json:"truncate"`
	Short        []float64 `json:"short_factor"`
	Long         []float64 `json:"long_factor"`
}

// kind returns the name of the rule.
func (s *scaling) kind() string {
	switch {
	case s == nil:
		return "default"
	case s.OldType != "":
		return s.OldType
	case s.Type != "":
		return s.Type
	}
	return "default"
}

// or returns a setting, or otherwise if it is missing.
func or[T any](v *T, otherwise T) T {
	if v == nil {
		return otherwise
	}
	return *v
}

// configOf returns the text of a model's config.json; empty if it has none.
func configOf(m *graph.Model) string {
	for _, p := range m.Meta {
		if p.Key == configFile && p.Data == nil {
			return p.Value
		}
	}
	return ""
}

// refused returns an error about a setting.
func refused(kind error, format string, args ...any) error {
	return graph.Errorf(kind, configFile+": "+format, args...)
}

// maxSize bounds the sizes in a configuration.
const maxSize = 1 << 24

// size returns a size, or other if it is missing. If it is missing and other is 0, that is an
// error.
func size(key string, v *int, other int) (int, error) {
	switch {
	case v == nil && other > 0:
		return other, nil
	case v == nil:
		return 0, refused(graph.ErrFormat, "%s is missing", key)
	case *v <= 0 || *v > maxSize:
		return 0, refused(graph.ErrFormat, "%s is %d; it must be from 1 to %d", key, *v, maxSize)
	}
	return *v, nil
}

// finite returns an error unless v is positive and finite.
func finite(key string, v float64) error {
	if !(v > 0) || math.IsInf(v, 0) {
		return refused(graph.ErrFormat, "%s is %v; it must be positive", key, v)
	}
	return nil
}

// parse reads the text of a configuration.
func parse(text string) (*settings, error) {
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, refused(graph.ErrFormat, "%w", err)
	}
	if s.Quantization != nil {
		return nil, refused(graph.ErrUnsupported, "the weights are quantised by %q; take the folder of the model in float32, float16 or bfloat16", s.Quantization.Method)
	}
	return &s, s.parameters()
}

// parameters copies rope_parameters, used by newer files, to the settings of older files.
func (s *settings) parameters() error {
	p := s.Parameters
	if p == nil {
		return nil
	}
	if s.Scaling != nil {
		return refused(graph.ErrFormat, "rope_scaling and rope_parameters are both given; leave one out")
	}
	if p.Full != nil || p.Sliding != nil {
		if s.ModelType != "gemma3_text" || p.Full == nil || p.Sliding == nil || p.Sliding.kind() != "default" {
			return refused(graph.ErrUnsupported, "rope_parameters of full_attention and sliding_attention are for gemma3_text, the second of type default")
		}
		s.LocalTheta = p.Sliding.Theta
		p = p.Full
	}
	s.Scaling = p
	if n := p.Original; n != nil && s.OriginalMax == nil && *n == math.Trunc(*n) && math.Abs(*n) <= maxSize {
		s.OriginalMax = new(int)
		*s.OriginalMax = int(*n)
	}
	if s.Theta == nil {
		s.Theta = p.Theta
	}
	if s.Partial == nil {
		s.Partial = p.Partial
	}
	return nil
}

// called names the model's family in messages.
func (s *settings) called() string {
	return fmt.Sprintf("model_type %q (%s)", s.ModelType, strings.Join(s.Architectures, ", "))
}

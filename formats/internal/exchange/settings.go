package exchange

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// kind is the type of a setting.
type kind int

const (
	size  kind = iota // a whole number above 0
	float             // a finite number
)

// Values of settings that are missing.
var (
	required = math.NaN()   // the lack is an error
	absent   = math.Inf(1)  // the other side lacks it, too
	headSize = math.Inf(-1) // the width of a head, by hidden size and heads
)

// maxSize bounds sizes on both sides.
const maxSize = 1 << 24

// setting is a number that both sides have: its key in a file without the architecture, its key in
// config.json, and its values if one lacks it.
type setting struct {
	gguf, config     string
	kind             kind
	ofGGUF, ofConfig float64
}

var llamaSettings = []setting{
	{"context_length", "max_position_embeddings", size, required, 2048},
	{"embedding_length", "hidden_size", size, required, required},
	{"block_count", "num_hidden_layers", size, required, required},
	{"feed_forward_length", "intermediate_size", size, required, required},
	{"attention.head_count", "num_attention_heads", size, required, required},
	{"attention.head_count_kv", "num_key_value_heads", size, absent, absent},
	{"attention.key_length", "head_dim", size, headSize, headSize},
	{"attention.layer_norm_rms_epsilon", "rms_norm_eps", float, required, 1e-6},
	{"rope.freq_base", "rope_theta", float, 10000, 10000},
}

var graniteSettings = []setting{
	{"embedding_scale", "embedding_multiplier", float, 1, 1},
	{"residual_scale", "residual_multiplier", float, 1, 1},
	{"attention.scale", "attention_multiplier", float, absent, 1},
	{"logit_scale", "logits_scaling", float, 1, 1},
}

func keyHeads(n float64) setting {
	return setting{"attention.head_count_kv", "num_key_value_heads", size, absent, n}
}

func headDim(n float64) setting {
	return setting{"attention.key_length", "head_dim", size, headSize, n}
}

// sides returns the keys of a setting in files and in config.json.
func (s setting) sides() (gguf, folder string) { return s.gguf, s.config }

// with returns rules or settings with others in place of rows of the same name in files, and the
// rest of the others at the end. An empty name in folders removes one.
func with[T interface{ sides() (gguf, folder string) }](list []T, others ...T) []T {
	var out []T
	add := func(x T) {
		if _, folder := x.sides(); folder != "" {
			out = append(out, x)
		}
	}
	used := make([]bool, len(others))
	for _, x := range list {
		gguf, _ := x.sides()
		for i, o := range others {
			if of, _ := o.sides(); of == gguf {
				x, used[i] = o, true
			}
		}
		add(x)
	}
	for i, o := range others {
		if !used[i] {
			add(o)
		}
	}
	return out
}

// fixed is a setting of config.json that files do not have, with its only value.
type fixed struct {
	config string
	value  any
}

// activation returns the function of the MLP.
func (f *family) activation() activation {
	if f.act.key == "" {
		return silu
	}
	return f.act
}

// metadata reads the pairs of a file. After the first problem it returns defaults.
type metadata struct {
	architecture string
	pairs        map[string]*graph.Pair
	err          error
}

func metadataOf(m *graph.Model) *metadata {
	d := &metadata{pairs: make(map[string]*graph.Pair, len(m.Meta))}
	for i := range m.Meta {
		d.pairs[m.Meta[i].Key] = &m.Meta[i]
	}
	if p := d.pairs["general.architecture"]; p != nil {
		d.architecture = p.Value
	}
	return d
}

// find returns the pair of a key of the architecture, or nil.
func (m *metadata) find(key string) *graph.Pair { return m.pairs[m.architecture+"."+key] }

func (m *metadata) has(key string) bool { return m.find(key) != nil }

// wrong records a problem with a key.
func (m *metadata) wrong(kind error, key, format string, args ...any) {
	if m.err == nil {
		m.err = graph.Errorf(kind, "metadata %s.%s %s", m.architecture, key, fmt.Sprintf(format, args...))
	}
}

// number returns a number, or otherwise if there is none. A list counts if its numbers other than 0
// are equal.
func (m *metadata) number(key string, otherwise float64) float64 {
	p := m.find(key)
	if p == nil {
		return otherwise
	}
	if p.Data == nil || p.Data.Len() == 0 || !p.Data.DType().IsFloat() && !p.Data.DType().IsInteger() {
		m.wrong(graph.ErrFormat, key, "is no number")
		return otherwise
	}
	v := 0.0
	for _, x := range m.list(key) {
		if v != 0 && x != 0 && x != v {
			m.wrong(graph.ErrUnsupported, key, "is not the same for all layers, and a folder has one number")
		}
		if x != 0 {
			v = x
		}
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		m.wrong(graph.ErrFormat, key, "is %v", v)
		return otherwise
	}
	if p.Data.DType() == tensor.F32 {
		v = shortest(v)
	}
	return v
}

// list returns the numbers of a key.
func (m *metadata) list(key string) []float64 {
	p := m.find(key)
	if p == nil || p.Data == nil {
		return nil
	}
	list := make([]float64, p.Data.Len())
	at := tensor.Numbers(p.Data)
	for i := range list {
		list[i] = at(i)
	}
	return list
}

// text returns a text, or "".
func (m *metadata) text(key string) string {
	if p := m.find(key); p != nil {
		return p.Value
	}
	return ""
}

// truth returns a boolean, or otherwise if there is none.
func (m *metadata) truth(key string, otherwise bool) bool {
	p := m.find(key)
	if p == nil || p.Data == nil || p.Data.DType() != tensor.Bool || p.Data.Len() != 1 {
		return otherwise
	}
	return p.Data.Bytes()[0] != 0
}

// shortest returns the number whose decimal form is the shortest one of a float32.
func shortest(v float64) float64 {
	x, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', -1, 32), 64)
	if err != nil {
		return v
	}
	return x
}

// config reads a config.json. After the first problem it returns defaults.
type config struct {
	values map[string]any
	err    error
}

func configOf(text string) (*config, error) {
	c := &config{}
	if err := json.Unmarshal([]byte(text), &c.values); err != nil {
		return nil, graph.Errorf(graph.ErrFormat, "%s: %w", ConfigFile, err)
	}
	if c.values["quantization_config"] != nil && !c.isMXFP4() {
		return nil, graph.Errorf(graph.ErrUnsupported,
			"%s: the weights are quantised; take the folder of the model in float32, float16 or bfloat16", ConfigFile)
	}
	c.parameters()
	if _, given := c.values["rope_scaling"]; !given && c.text("model_type") == "gpt_oss" {
		c.values["rope_scaling"] = map[string]any{"rope_type": "yarn", "factor": 32.0, "truncate": false,
			"original_max_position_embeddings": 4096.0}
	}
	return c, c.err
}

// parameters copies rope_parameters, used by newer files, to the keys of older ones.
func (c *config) parameters() {
	p, ok := c.values["rope_parameters"].(map[string]any)
	if !ok {
		return
	}
	if full, ok := p["full_attention"].(map[string]any); ok {
		if local, ok := p["sliding_attention"].(map[string]any); ok && local["rope_theta"] != nil {
			c.values["rope_local_base_freq"] = local["rope_theta"]
		}
		p = full
	}
	for from, to := range map[string]string{"rope_theta": "rope_theta", "partial_rotary_factor": "partial_rotary_factor"} {
		if p[from] != nil && c.values[to] == nil {
			c.values[to] = p[from]
		}
	}
	if c.values["rope_scaling"] == nil {
		c.values["rope_scaling"] = p
	}
}

// wrong records a problem with a key.
func (c *config) wrong(kind error, key, format string, args ...any) {
	if c.err == nil {
		c.err = graph.Errorf(kind, "%s: %s %s", ConfigFile, key, fmt.Sprintf(format, args...))
	}
}

func (c *config) has(key string) bool { return c.values[key] != nil }

// number returns a finite number, or otherwise if there is none.
func (c *config) number(key string, otherwise float64) float64 {
	switch v := c.values[key].(type) {
	case nil:
		return otherwise
	case float64:
		return v
	}
	c.wrong(graph.ErrFormat, key, "is no number")
	return otherwise
}

func (c *config) text(key string) string {
	s, _ := c.values[key].(string)
	return s
}

func (c *config) truth(key string, otherwise bool) bool {
	if b, ok := c.values[key].(bool); ok {
		return b
	}
	return otherwise
}

// below returns an object of the configuration, or nil.
func (c *config) below(key string) *config {
	v, ok := c.values[key].(map[string]any)
	if !ok {
		return nil
	}
	return &config{values: v}
}

// numbers returns a list of numbers, or nil if there is none.
func (c *config) numbers(key string) []float64 {
	list, ok := c.values[key].([]any)
	if !ok {
		return nil
	}
	out := make([]float64, len(list))
	for i, v := range list {
		x, ok := v.(float64)
		if !ok {
			c.wrong(graph.ErrFormat, key, "has an element that is no number")
			return nil
		}
		out[i] = x
	}
	return out
}

// texts returns a list of texts, or nil if there is none.
func (c *config) texts(key string) []string {
	list, ok := c.values[key].([]any)
	if !ok {
		return nil
	}
	out := make([]string, len(list))
	for i, v := range list {
		out[i], _ = v.(string)
	}
	return out
}

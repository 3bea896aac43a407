package huggingface

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// activations maps names in configurations to functions.
var activations = map[string]decoder.Activation{
	"silu": decoder.SiLU, "swish": decoder.SiLU, "gelu": decoder.GELU, "gelu_python": decoder.GELU, "gelu_pytorch_tanh": decoder.GELUTanh,
	"gelu_python_tanh": decoder.GELUTanh, "gelu_new": decoder.GELUTanh, "gelu_fast": decoder.GELUTanh, "gelu_accurate": decoder.GELUTanh,
	"gelu_10": decoder.GELU10, "quick_gelu": decoder.QuickGELU, "relu": decoder.ReLU, "relu2": decoder.ReLU2, "relu6": decoder.ReLU6,
	"leaky_relu": decoder.LeakyReLU, "mish": decoder.Mish, "tanh": decoder.Tanh, "sigmoid": decoder.Sigmoid, "linear": decoder.Identity,
}

// designOf reads a configuration for a checkpoint with this many tensors.
func designOf(text string, tensors int) (*design, error) {
	s, err := parse(text)
	if err != nil {
		return nil, err
	}
	f, err := familyOf(s)
	if err != nil {
		return nil, err
	}
	d := &design{settings: s, family: f, norms: [4]string{"input_layernorm", "", "post_attention_layernorm", ""}}
	if err := d.sizes(tensors); err != nil {
		return nil, err
	}
	if err := d.functions(); err != nil {
		return nil, err
	}
	theta := 10000.0
	if f.theta != 0 {
		theta = f.theta
	}
	r, err := d.rope(or(s.Theta, theta), s.Scaling)
	if err != nil {
		return nil, err
	}
	d.windows = make([]int, d.layers)
	for range d.layers {
		d.ropes = append(d.ropes, r)
	}
	return d, f.read(d)
}

// sizes reads the extents. Every block has four tensors or more.
func (d *design) sizes(tensors int) error {
	s, c := d.settings, &d.Config
	var err error
	read := func(to *int, key string, v *int, other int) {
		if err == nil {
			*to, err = size(key, v, other)
		}
	}
	read(&c.Hidden, "hidden_size", s.Hidden, 0)
	read(&c.Heads, "num_attention_heads", s.Heads, 0)
	read(&d.layers, "num_hidden_layers", s.Layers, 0)
	read(&d.inner, "intermediate_size", s.Intermediate, 0)
	read(&c.Vocab, "vocab_size", s.Vocab, 0)
	kv := d.family.kvHeads
	if kv == 0 {
		kv = c.Heads
	}
	read(&c.KVHeads, "num_key_value_heads", s.KVHeads, kv)
	if err != nil {
		return err
	}
	other := d.family.headDim
	if s.HeadDim == nil && other == 0 {
		if c.Hidden%c.Heads != 0 {
			return refused(graph.ErrFormat, "hidden_size %d is no multiple of num_attention_heads %d, and there is no head_dim", c.Hidden, c.Heads)
		}
		other = c.Hidden / c.Heads
	}
	if read(&c.HeadDim, "head_dim", s.HeadDim, other); err != nil {
		return err
	}
	switch {
	case c.Heads%c.KVHeads != 0:
		return refused(graph.ErrFormat, "num_attention_heads %d is no multiple of num_key_value_heads %d", c.Heads, c.KVHeads)
	case c.HeadDim > decoder.MaxHeadDim:
		return refused(graph.ErrUnsupported, "head_dim is %d; it takes up to %d", c.HeadDim, decoder.MaxHeadDim)
	case d.layers > tensors/4:
		return refused(graph.ErrFormat, "num_hidden_layers is %d, and the folder has only %d tensors; download all of its shards", d.layers, tensors)
	}
	return nil
}

// functions reads the activation, the epsilon of norms, and whether the head is the embedding.
func (d *design) functions() error {
	s, name := d.settings, d.family.act
	if name == "" {
		name = "silu"
	}
	key, given := "hidden_act", s.Act
	if d.family.name == "gemma2" || d.family.name == "gemma3_text" {
		key, given = "hidden_activation", s.Activation
	}
	act, ok := activations[or(given, name)]
	if !ok {
		return refused(graph.ErrUnsupported, "%s is %q; it takes %s", key, *given, strings.Join(slices.Sorted(maps.Keys(activations)), ", "))
	}
	d.Config.Activation = act
	d.Epsilon = 1e-6
	if d.family.epsilon != 0 {
		d.Epsilon = d.family.epsilon
	}
	switch d.family.name {
	case "stablelm":
		d.Epsilon = or(s.LayerEps, d.Epsilon)
	case "starcoder2":
		d.Epsilon = or(s.NormEpsilon, d.Epsilon)
	default:
		d.Epsilon = or(s.RMSEpsilon, d.Epsilon)
	}
	if !(d.Epsilon >= 0) || math.IsInf(d.Epsilon, 0) {
		return refused(graph.ErrFormat, "the epsilon of norms is %v", d.Epsilon)
	}
	d.tied = or(s.Tied, d.family.tied)
	return nil
}

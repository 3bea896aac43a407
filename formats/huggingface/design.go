package huggingface

import (
	"math"

	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// activations are the functions by the name that configurations have.
var activations = map[string]decoder.Activation{
	"silu": decoder.SiLU, "swish": decoder.SiLU, "gelu": decoder.GELU, "gelu_pytorch_tanh": decoder.GELUTanh, "gelu_new": decoder.GELUTanh,
	"gelu_fast": decoder.GELUTanh, "relu": decoder.ReLU, "relu2": decoder.ReLU2,
}

// designOf reads a configuration for a checkpoint of that many tensors.
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

// sizes reads the extents. A block has four tensors at least.
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
	case c.HeadDim > maxHeadDim:
		return refused(graph.ErrUnsupported, "head_dim is %d; it takes up to %d", c.HeadDim, maxHeadDim)
	case d.layers > tensors/4:
		return refused(graph.ErrFormat, "num_hidden_layers is %d, and the folder has only %d tensors; download all of its shards", d.layers, tensors)
	}
	return nil
}

// maxHeadDim bounds head_dim.
const maxHeadDim = 1 << 14

// functions reads what is computed between the matrices.
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
		return refused(graph.ErrUnsupported, "%s is %q; it takes silu, gelu, gelu_pytorch_tanh, relu, relu2", key, *given)
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

// everyWindow gives all layers a window; 0 for none.
func (d *design) everyWindow(w float64) error {
	for i := range d.windows {
		var err error
		if d.windows[i], err = window(w); err != nil {
			return err
		}
	}
	return nil
}

func window(w float64) (int, error) {
	if w != math.Trunc(w) || w < 0 || w > math.MaxInt32 {
		return 0, refused(graph.ErrFormat, "sliding_window is %v; it must be a whole number", w)
	}
	return int(w), nil
}

// lateWindows gives the layers from max_window_layers on a window, if the configuration
// uses it.
func (d *design) lateWindows() error {
	w := 0.0
	if d.UseWindow {
		w = d.settings.Window.or(4096)
	}
	first := or(d.WindowLayers, 28)
	return d.windowsOf(w, func(i int) bool { return i >= first })
}

// windowsOf gives a window to the layers that layer_types says or, without it, to those
// for which slides is true.
func (d *design) windowsOf(w float64, slides func(layer int) bool) error {
	extent, err := window(w)
	if err != nil {
		return err
	}
	if d.LayerTypes != nil && len(d.LayerTypes) != d.layers {
		return refused(graph.ErrFormat, "layer_types has %d names for %d layers", len(d.LayerTypes), d.layers)
	}
	for i := range d.windows {
		sliding := slides(i)
		if d.LayerTypes != nil {
			switch d.LayerTypes[i] {
			case "sliding_attention":
				sliding = true
			case "full_attention":
				sliding = false
			default:
				return refused(graph.ErrUnsupported, "layer_types has %q; it takes full_attention, sliding_attention", d.LayerTypes[i])
			}
		}
		if sliding {
			d.windows[i] = extent
		}
	}
	return nil
}

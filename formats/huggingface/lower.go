package huggingface

import (
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Lower returns the network of a folder's model, or nil for a model without config.json.
func Lower(m *graph.Model, o container.Lowering) (_ *graph.Model, err error) {
	defer guard.At(m.File).End(&err)
	text := configOf(m)
	if text == "" {
		return nil, nil
	}
	if f := encoderOf(text, o); f != nil {
		return f.lower(m, text, o)
	}
	if isExchanged(text) {
		return exchanged(m, o)
	}
	c, err := configured(m, text, o)
	if err != nil {
		return nil, &graph.Error{Stage: "load", File: m.File, Offset: -1, Err: err}
	}
	b := o.Builder("decoder")
	c.Context = o.Context
	decoder.Build(b, c)
	if err := b.Err(); err != nil {
		return nil, &graph.Error{Stage: "load", File: m.File, Offset: -1, Err: err}
	}
	return b.Model(m), nil
}

// configured finds the tensors for a configuration.
func configured(m *graph.Model, text string, o container.Lowering) (*decoder.Config, error) {
	d, err := designOf(text, len(m.Graph.Initializers))
	if err != nil {
		return nil, err
	}
	f := &finder{design: d, left: map[string]*graph.Initializer{}}
	for _, x := range m.Graph.Initializers {
		f.left[x.Name] = x
	}
	if f.left["model.embed_tokens.weight"] != nil || f.left["embed_tokens.weight"] == nil {
		f.prefix = "model."
	}
	if err := f.find(o); err != nil {
		return nil, err
	}
	if err := f.problems(); err != nil {
		return nil, err
	}
	return &d.Config, nil
}

// finder takes tensors by name.
type finder struct {
	*design
	prefix  string
	left    map[string]*graph.Initializer // tensors not taken yet
	missing []string
	wrong   []string
}

// tensor takes a tensor with these extents.
func (f *finder) tensor(name string, dims ...int) *graph.Initializer {
	x := f.left[name]
	if x == nil {
		f.missing = append(f.missing, name)
		return nil
	}
	delete(f.left, name)
	if t := x.Tensor; !computed(t.DType()) || !t.Shape().Equal(dims) {
		f.wrong = append(f.wrong, fmt.Sprintf("%s is %v, where floating-point numbers %v are wanted", name, t, tensor.Shape(dims)))
	}
	return x
}

// computed reports whether weights may have this element type.
func computed(d tensor.DType) bool {
	return d == tensor.F32 || d == tensor.F16 || d == tensor.BF16 || d == tensor.F64
}

// norm takes the parameters of a norm. The empty name gives an empty norm.
func (f *finder) norm(name string, n int) decoder.Norm {
	if name == "" {
		return decoder.Norm{}
	}
	w := decoder.Norm{Weight: f.tensor(name+".weight", n)}
	if f.LayerNorm {
		w.Bias = f.tensor(name+".bias", n)
	}
	return w
}

// matrix takes a matrix [out, in] and, if bias is set, its bias.
func (f *finder) matrix(name string, out, in int, bias bool) decoder.Matrix {
	w := decoder.Matrix{Weight: f.tensor(name+".weight", out, in)}
	if bias {
		w.Bias = f.tensor(name+".bias", out)
	}
	return w
}

// layerBytes is the memory of a block before it has nodes, with its windows and ropes, in bytes.
const layerBytes = 1 << 10

// find takes all tensors of the decoder. Its error is of the budget of o.
func (f *finder) find(o container.Lowering) error {
	c := &f.design.Config
	c.Embedding = f.tensor(f.prefix+"embed_tokens.weight", c.Vocab, c.Hidden)
	for i := range f.layers {
		if err := o.Take(layerBytes); err != nil {
			return err
		}
		c.Layers = append(c.Layers, f.layer(i))
	}
	final := f.norm(f.prefix+"norm", c.Hidden)
	c.Final = final
	if f.tied {
		c.Head.Weight = c.Embedding
		delete(f.left, "lm_head.weight")
	} else {
		c.Head = f.matrix("lm_head", c.Vocab, c.Hidden, false)
	}
	return nil
}

// layer takes the tensors of a block.
func (f *finder) layer(i int) decoder.Layer {
	c, p := &f.design.Config, fmt.Sprintf("%slayers.%d.", f.prefix, i)
	var norms [4]decoder.Norm
	for k, name := range f.norms {
		if name != "" {
			norms[k] = f.norm(p+name, c.Hidden)
		}
	}
	l := decoder.Layer{BeforeAttention: norms[0], AfterAttention: norms[1], BeforeMLP: norms[2], AfterMLP: norms[3], Rope: f.ropes[i], Window: f.windows[i], WideNorms: f.wideNorms}
	a, q, kv := p+"self_attn.", c.Heads*c.HeadDim, c.KVHeads*c.HeadDim
	if f.fused {
		l.QKV = f.matrix(a+"qkv_proj", q+2*kv, c.Hidden, f.qkvBias)
	} else {
		l.Q, l.K, l.V = f.matrix(a+"q_proj", q, c.Hidden, f.qkvBias), f.matrix(a+"k_proj", kv, c.Hidden, f.qkvBias), f.matrix(a+"v_proj", kv, c.Hidden, f.qkvBias)
	}
	l.O = f.matrix(a+"o_proj", c.Hidden, q, f.oBias)
	if f.headNorms {
		wide, narrow := c.HeadDim, c.HeadDim
		if f.wideNorms {
			wide, narrow = q, kv
		}
		l.Query, l.Key = f.norm(a+"q_norm", wide), f.norm(a+"k_norm", narrow)
	}
	f.mlp(&l, p+"mlp.")
	delete(f.left, a+"rotary_emb.inv_freq") // computed from the settings
	return l
}

// mlp takes the matrices of the MLP.
func (f *finder) mlp(l *decoder.Layer, p string) {
	n := f.design.Config.Hidden
	switch {
	case f.plainMLP:
		l.Up, l.Down = f.matrix(p+"c_fc", f.inner, n, f.upBias), f.matrix(p+"c_proj", n, f.inner, f.upBias)
		return
	case f.fused:
		l.GateUp = f.matrix(p+"gate_up_proj", 2*f.inner, n, f.upBias)
	default:
		l.Gate, l.Up = f.matrix(p+"gate_proj", f.inner, n, f.upBias), f.matrix(p+"up_proj", f.inner, n, f.upBias)
	}
	l.Down = f.matrix(p+"down_proj", n, f.inner, f.upBias)
}

// problems returns an error with every problem of the tensors.
func (f *finder) problems() error {
	var list []string
	add := func(names []string, one, many string) {
		if len(names) > 0 {
			list = append(list, counted(len(names), one, many)+": "+few(names))
		}
	}
	add(f.missing, "tensor is missing", "tensors are missing")
	add(f.wrong, "tensor does not fit "+configFile, "tensors do not fit "+configFile)
	add(sorted(f.left), "tensor has no part in a decoder of model_type "+f.ModelType, "tensors have no part in a decoder of model_type "+f.ModelType)
	if len(list) == 0 {
		return nil
	}
	return graph.Errorf(graph.ErrFormat, "%s", strings.Join(list, "; "))
}

package huggingface

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/formats/internal/decoder"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// bert is the family whose encoders have a counterpart in GGUF.
const bert = "bert"

// An encoderFamily holds the encoders of one model_type: where tensors are, and the heads.
type encoderFamily struct {
	name    string
	prefix  string // of the encoder's tensors, which an encoder without a head may leave out
	layer   string // of the tensors of a block
	parts   [8]string
	counted bool      // positions count tokens, from the number after pad_token_id on
	untyped bool      // there are no types
	first   [2]string // matrix of the first token, and the head of texts
	act     decoder.Activation
}

// The parts of a block: queries, keys, values and their product, its norm, the MLP and its norm.
var bertParts = [8]string{"attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense",
	"attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"}

var encoders = []encoderFamily{
	{name: bert, prefix: "bert.", layer: "encoder.layer.", parts: bertParts,
		first: [2]string{"bert.pooler.dense", "classifier"}, act: decoder.Tanh},
	{name: "roberta", prefix: "roberta.", layer: "encoder.layer.", parts: bertParts, counted: true,
		first: [2]string{"classifier.dense", "classifier.out_proj"}, act: decoder.Tanh},
	{name: "xlm-roberta", prefix: "roberta.", layer: "encoder.layer.", parts: bertParts, counted: true,
		first: [2]string{"classifier.dense", "classifier.out_proj"}, act: decoder.Tanh},
	{name: "camembert", prefix: "roberta.", layer: "encoder.layer.", parts: bertParts, counted: true,
		first: [2]string{"classifier.dense", "classifier.out_proj"}, act: decoder.Tanh},
	{name: "distilbert", prefix: "distilbert.", layer: "transformer.layer.", untyped: true,
		parts: [8]string{"attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin",
			"sa_layer_norm", "ffn.lin1", "ffn.lin2",
			"output_layer_norm"},
		first: [2]string{"pre_classifier", "classifier"}, act: decoder.ReLU},
}

// encoderSettings are the settings of encoders in config.json. DistilBERT has other names.
type encoderSettings struct {
	Architectures []string `json:"architectures"`
	ModelType     string   `json:"model_type"`
	Hidden        *int     `json:"hidden_size"`
	Dim           *int     `json:"dim"`
	Layers        *int     `json:"num_hidden_layers"`
	LayersToo     *int     `json:"n_layers"`
	Heads         *int     `json:"num_attention_heads"`
	HeadsToo      *int     `json:"n_heads"`
	Inner         *int     `json:"intermediate_size"`
	InnerToo      *int     `json:"hidden_dim"`
	Vocab         *int     `json:"vocab_size"`
	Positions     *int     `json:"max_position_embeddings"`
	Types         *int     `json:"type_vocab_size"`
	Pad           *int     `json:"pad_token_id"`
	Act           *string  `json:"hidden_act"`
	ActToo        *string  `json:"activation"`
	Epsilon       *float64 `json:"layer_norm_eps"`
	Decoder       bool     `json:"is_decoder"`
	Embedding     *string  `json:"position_embedding_type"`

	Quantization *quantized `json:"quantization_config"`
}

// task returns the end of the first architecture, such as ForSequenceClassification.
func (s *encoderSettings) task() string {
	if len(s.Architectures) == 0 {
		return ""
	}
	name := s.Architectures[0]
	if i := strings.Index(name, "For"); i >= 0 {
		return name[i:]
	}
	return ""
}

// The heads that are computed.
const (
	ofTexts  = "ForSequenceClassification"
	ofTokens = "ForTokenClassification"
)

// encoderOf returns the family of a configuration; nil for others, and for a BERT without a head
// that need not run in batches.
func encoderOf(text string, o container.Lowering) *encoderFamily {
	var s encoderSettings
	if json.Unmarshal([]byte(text), &s) != nil {
		return nil
	}
	i := slices.IndexFunc(encoders, func(f encoderFamily) bool { return f.name == s.ModelType })
	if i < 0 || s.ModelType == bert && !o.Batches && s.task() != ofTexts && s.task() != ofTokens {
		return nil
	}
	return &encoders[i]
}

// lower returns the network of a folder.
func (f *encoderFamily) lower(m *graph.Model, text string, o container.Lowering) (*graph.Model, error) {
	c, err := f.configured(m, text, o)
	if err != nil {
		return nil, &graph.Error{Stage: "load", File: m.File, Offset: -1, Err: err}
	}
	b := o.Builder("encoder")
	decoder.Build(b, c)
	most := c.Positions.Tensor.Shape()[0]
	if c.CountFrom != nil {
		most -= *c.CountFrom + 1
	}
	decoder.LimitWindow(b, "", most)
	if err := b.Err(); err != nil {
		return nil, &graph.Error{Stage: "load", File: m.File, Offset: -1, Err: err}
	}
	return b.Model(m), nil
}

// configured finds the tensors for a configuration.
func (f *encoderFamily) configured(m *graph.Model, text string, o container.Lowering) (*decoder.Config, error) {
	var s encoderSettings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, refused(graph.ErrFormat, "%w", err)
	}
	switch {
	case s.Quantization != nil:
		return nil, refused(graph.ErrUnsupported,
			"the weights are quantised by %q; take the folder of the model in float32, float16 or bfloat16", s.Quantization.Method)
	case !slices.Contains([]string{"", ofTexts, ofTokens, "ForMaskedLM", "ForPreTraining"}, s.task()):
		return nil, refused(graph.ErrUnsupported,
			"architectures is %q; encoders, %s and %s are computed; export the model to ONNX for other heads",
			s.Architectures, ofTexts, ofTokens)
	case s.Decoder:
		return nil, refused(graph.ErrUnsupported, "is_decoder is set; %s is computed as an encoder", s.ModelType)
	case or(s.Embedding, "absolute") != "absolute":
		return nil, refused(graph.ErrUnsupported, "position_embedding_type is %q; it takes absolute", *s.Embedding)
	}
	d := &design{settings: &settings{ModelType: s.ModelType}}
	c := &d.Config
	c.Encoder, c.Batches, c.LayerNorm = true, true, true
	var inner, positions, types, pad int
	for _, x := range []struct {
		to    *int
		key   string
		v     *int
		other int
	}{
		{&c.Hidden, "hidden_size", first(s.Hidden, s.Dim), 0},
		{&d.layers, "num_hidden_layers", first(s.Layers, s.LayersToo), 0},
		{&c.Heads, "num_attention_heads", first(s.Heads, s.HeadsToo), 0},
		{&inner, "intermediate_size", first(s.Inner, s.InnerToo), 0},
		{&c.Vocab, "vocab_size", s.Vocab, 0},
		{&positions, "max_position_embeddings", s.Positions, 512},
		{&types, "type_vocab_size", s.Types, 2},
	} {
		var err error
		if *x.to, err = size(x.key, x.v, x.other); err != nil {
			return nil, err
		}
	}
	if c.Epsilon = or(s.Epsilon, 1e-12); finite("layer_norm_eps", c.Epsilon) != nil {
		return nil, finite("layer_norm_eps", c.Epsilon)
	}
	act, ok := activations[or(s.Act, or(s.ActToo, "gelu"))]
	if c.Activation = act; !ok {
		return nil, refused(graph.ErrUnsupported, "hidden_act is %q", or(s.Act, or(s.ActToo, "gelu")))
	}
	if f.counted {
		if pad = or(s.Pad, 1); pad < 0 || pad+1 >= positions {
			return nil, refused(graph.ErrFormat, "pad_token_id is %d, and max_position_embeddings %d", pad, positions)
		}
		c.CountFrom = &pad
	}
	switch tensors := len(m.Graph.Initializers); {
	case c.Hidden%c.Heads != 0:
		return nil, refused(graph.ErrFormat, "hidden_size %d is no multiple of num_attention_heads %d", c.Hidden, c.Heads)
	case c.Hidden/c.Heads > decoder.MaxHeadDim:
		return nil, refused(graph.ErrUnsupported,
			"hidden_size %d and num_attention_heads %d make heads of %d; they take up to %d", c.Hidden, c.Heads,
			c.Hidden/c.Heads, decoder.MaxHeadDim)
	case d.layers > tensors/4:
		return nil, refused(graph.ErrFormat,
			"num_hidden_layers is %d, and the folder has only %d tensors; download all of its shards", d.layers, tensors)
	}
	c.KVHeads, c.HeadDim = c.Heads, c.Hidden/c.Heads
	d.inner = inner
	find := &finder{design: d, left: map[string]*graph.Initializer{}}
	for _, x := range m.Graph.Initializers {
		find.left[oldNorms.Replace(x.Name)] = x
	}
	if find.left[f.prefix+"embeddings.word_embeddings.weight"] != nil {
		find.prefix = f.prefix
	}
	return c, f.find(find, s.task(), positions, types, o)
}

// first returns the first setting that is given.
func first(list ...*int) *int {
	for _, v := range list {
		if v != nil {
			return v
		}
	}
	return nil
}

// oldNorms are the names of the parameters of norms in old folders.
var oldNorms = strings.NewReplacer("LayerNorm.gamma", "LayerNorm.weight", "LayerNorm.beta", "LayerNorm.bias")

// find takes all tensors of an encoder.
func (f *encoderFamily) find(t *finder, task string, positions, types int, o container.Lowering) error {
	c, p := &t.design.Config, t.prefix+"embeddings."
	c.Embedding = t.tensor(p+"word_embeddings.weight", c.Vocab, c.Hidden)
	c.Positions = t.tensor(p+"position_embeddings.weight", positions, c.Hidden)
	if !f.untyped {
		c.Types = t.tensor(p+"token_type_embeddings.weight", types, c.Hidden)
	}
	c.Embedded = t.norm(p+"LayerNorm", c.Hidden)
	for i := range t.layers {
		if err := o.Take(layerBytes); err != nil {
			return err
		}
		p := fmt.Sprintf("%s%s%d.", t.prefix, f.layer, i)
		square := func(part int) decoder.Matrix { return t.matrix(p+f.parts[part], c.Hidden, c.Hidden, true) }
		c.Layers = append(c.Layers, decoder.Layer{
			Q: square(0), K: square(1), V: square(2), O: square(3), AttentionSum: t.norm(p+f.parts[4], c.Hidden),
			Up: t.matrix(p+f.parts[5], t.inner, c.Hidden, true), Down: t.matrix(p+f.parts[6], c.Hidden, t.inner, true),
			MLPSum: t.norm(p+f.parts[7], c.Hidden),
		})
	}
	switch task {
	case ofTexts:
		c.First, c.FirstActivation = t.matrix(f.first[0], c.Hidden, c.Hidden, true), f.act
		c.Head = t.matrix(f.first[1], t.rows(f.first[1]), c.Hidden, true)
	case ofTokens:
		c.Head = t.matrix("classifier", t.rows("classifier"), c.Hidden, true)
	}
	for name := range t.left { // what follows an encoder, and positions that are computed
		for _, part := range []string{"pooler.", "cls.", "lm_head.", "vocab_", "embeddings.position_ids"} {
			if strings.HasPrefix(strings.TrimPrefix(name, f.prefix), part) {
				delete(t.left, name)
			}
		}
	}
	return t.problems()
}

// rows returns the rows of a matrix, the labels of a head; 1 if it is missing or no matrix.
func (f *finder) rows(name string) int {
	if x := f.left[name+".weight"]; x != nil && len(x.Tensor.Shape()) == 2 {
		return max(x.Tensor.Shape()[0], 1)
	}
	return 1
}

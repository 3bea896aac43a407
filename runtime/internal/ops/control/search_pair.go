package control

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const encoderBody = "encoder"

// Values of model_type.
const (
	textAlone    = iota // a decoder
	textToText          // an encoder of text and a decoder, such as T5
	speechToText        // an encoder of sound and a decoder, such as Whisper
)

// pair is an encoder and a decoder. The encoder takes its source, an attention mask if the source
// is text, and the decoder's prompts. It returns logits, hidden states, two caches of each layer's
// own attention and two of each layer's attention to the source. The decoder takes tokens, the
// mask, perhaps the hidden states, and all caches. It returns logits and the caches of its own
// attention. An encoder of text may take no prompts and return only the caches of attention to the
// source; the decoder then runs from the first token on.
type pair struct {
	layers int
	masked bool // both take a mask of the source
	hidden bool // the decoder takes the hidden states
	apart  bool // the encoder takes no prompts
	whole  bool // the decoder takes whole texts, not only their last tokens
	first  int  // the token that starts texts; -1 for none
	words  speechWords
}

// readPair describes the graphs of a node. It returns nil for a decoder alone.
func readPair(n *op.Node, kind int) (*pair, error) {
	p := &pair{masked: kind == textToText, first: n.Int("decoder_start_token_id", -1)}
	switch {
	case kind == textAlone && n.Has(encoderBody):
		return nil, graph.Errorf(graph.ErrFormat, "model_type is %d, a decoder alone, and there is a graph %q", kind,
			encoderBody)
	case kind == textAlone:
		return nil, nil
	case kind != textToText && kind != speechToText:
		return nil, graph.Errorf(graph.ErrUnsupported, "model_type is %d; it takes %d to %d", kind, textAlone, speechToText)
	case n.Has(initDecoderBody):
		return nil, graph.Errorf(graph.ErrFormat, "model_type is %d, and there is a graph %q", kind, initDecoderBody)
	case p.first > math.MaxInt32 || p.first < math.MinInt32:
		return nil, graph.Errorf(graph.ErrFormat, "decoder_start_token_id is %d", p.first)
	}
	if err := n.Graph(encoderBody); err != nil {
		return nil, err
	}
	return p, p.check(n.Attr(encoderBody).Graph, n.Attr(decoderBody).Graph)
}

// check returns an error if the graphs' operands do not form a pair.
func (p *pair) check(encoder, decoder *graph.Graph) error {
	p.apart = p.masked && len(encoder.Inputs) == 2
	if err := p.checkEncoder(encoder); err != nil {
		return err
	}
	takes := []string{"input_ids"}
	if p.masked {
		takes = append(takes, "encoder_attention_mask")
	}
	if len(decoder.Inputs) > len(takes) && decoder.Inputs[len(takes)].Name == "encoder_hidden_states" {
		if p.hidden = true; p.apart {
			return graph.Errorf(graph.ErrFormat,
				"graph %q takes encoder_hidden_states, and graph %q, which takes no prompts, does not give them", decoderBody,
				encoderBody)
		}
		takes = append(takes, "encoder_hidden_states")
	}
	if err := named(decoderBody, "inputs", decoder.Inputs, len(takes)+4*p.layers, takes...); err != nil {
		return err
	}
	ids := decoder.Inputs[0].Type
	if len(ids.Dims) != 2 {
		return graph.Errorf(graph.ErrFormat, "input %q of graph %q is %v, not of [batch,tokens]", decoder.Inputs[0].Name,
			decoderBody, ids)
	}
	tokens, ok := ids.Dims[1].Value()
	p.whole = !ok || tokens != 1
	return named(decoderBody, "outputs", decoder.Outputs, 1+2*p.layers, "logits")
}

// checkEncoder checks the encoder's operands.
func (p *pair) checkEncoder(g *graph.Graph) error {
	takes := []string{"encoder_input_ids", "encoder_attention_mask", "decoder_input_ids"}
	gives, first, each := []string{"logits", "encoder_hidden_states", "present_key_self_0", "present_value_self_0"}, 2, 4
	switch {
	case p.apart:
		takes = takes[:2]
		gives, first, each = []string{"present_key_cross_0", "present_value_cross_0"}, 0, 2
	case !p.masked:
		takes = []string{takes[0], takes[2]}
	}
	if err := named(encoderBody, "inputs", g.Inputs, len(takes), takes...); err != nil {
		return err
	}
	p.layers = (len(g.Outputs) - first) / each
	if p.layers < 1 || len(g.Outputs) != first+each*p.layers {
		return graph.Errorf(graph.ErrFormat, "graph %q has %d outputs, not %d and %d for each layer", encoderBody,
			len(g.Outputs), first, each)
	}
	return named(encoderBody, "outputs", g.Outputs, len(g.Outputs), gives...)
}

// named returns an error if list does not have want operands, or if the first ones do not have the
// given names.
func named(body, kind string, list []*graph.Value, want int, names ...string) error {
	if len(list) != want {
		return graph.Errorf(graph.ErrFormat, "graph %q has %d %s and needs %d", body, len(list), kind, want)
	}
	for i, name := range names {
		if list[i].Name != name {
			return graph.Errorf(graph.ErrFormat, "number %d of the %s of graph %q is %q and should be %q", i, kind, body,
				list[i].Name, name)
		}
	}
	return nil
}

// start reads the source and the prompts of the decoder.
func (p *pair) start(c *op.Run) (*wish, error) {
	source := c.In[0]
	shape, axes := source.Shape(), 3
	if p.masked {
		axes = 2
	}
	if len(shape) != axes || shape.Len() == 0 || (source.DType() == tensor.I32) != p.masked {
		return nil, graph.Errorf(graph.ErrShape,
			"input 0, %v, is no source of the encoder, which is int32 of [batch,tokens] or floats of [batch,features,frames]",
			source)
	}
	w := &wish{batch: shape[0], source: source, temperature: 1}
	if t := c.Given(10); t != nil {
		s := t.Shape()
		if t.DType() != tensor.I32 || len(s) != 2 || s[0] != w.batch || s[1] == 0 {
			return nil, graph.Errorf(graph.ErrShape, "decoder_input_ids %v are not int32 of [%d,tokens]", t, w.batch)
		}
		w.prompt, w.ids = s[1], tensor.View[int32](t)
		return w, nil
	}
	if p.first < 0 {
		return nil, graph.Errorf(graph.ErrFormat,
			"decoder_start_token_id is %d, and nothing else gives the first token of a text", p.first)
	}
	w.prompt, w.ids = 1, make([]int32, w.batch)
	for i := range w.ids {
		w.ids[i] = int32(p.first)
	}
	return w, nil
}

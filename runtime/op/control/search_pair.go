package control

import (
	"fmt"
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

// pair is an encoder and a decoder. The encoder takes its source, an attention mask
// where it is of text, and the prompts of the decoder. It gives logits, hidden states,
// two caches of each layer's own attention and two of each layer's attention to the
// source. The decoder takes tokens, the mask, perhaps the hidden states, and all
// caches; it gives logits and the caches of its own attention.
type pair struct {
	layers int
	masked bool // both take a mask of the source
	hidden bool // the decoder takes the hidden states
	whole  bool // the decoder takes whole texts, not their last tokens
	first  int  // the token that texts begin with, -1 for none
	words  speechWords
}

// readPair returns what the graphs of a node are; nil where it has a decoder alone.
func readPair(n *op.Node, kind int) (*pair, error) {
	p := &pair{masked: kind == textToText, first: n.Int("decoder_start_token_id", -1)}
	switch {
	case kind == textAlone && n.Has(encoderBody):
		return nil, graph.Errorf(graph.ErrFormat, "model_type is %d, a decoder alone, and there is a graph %q", kind, encoderBody)
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

// check reports operands of the graphs that are not those of a pair.
func (p *pair) check(encoder, decoder *graph.Graph) error {
	takes := []string{"encoder_input_ids", "decoder_input_ids"}
	if p.masked {
		takes = []string{"encoder_input_ids", "encoder_attention_mask", "decoder_input_ids"}
	}
	if err := named(encoderBody, "inputs", encoder.Inputs, len(takes), takes...); err != nil {
		return err
	}
	p.layers = (len(encoder.Outputs) - 2) / 4
	if p.layers < 1 || len(encoder.Outputs) != 2+4*p.layers {
		return graph.Errorf(graph.ErrFormat, "graph %q has %d outputs, not 2 and 4 for each layer", encoderBody, len(encoder.Outputs))
	}
	if err := named(encoderBody, "outputs", encoder.Outputs, len(encoder.Outputs), "logits", "encoder_hidden_states", "present_key_self_0", "present_value_self_0"); err != nil {
		return err
	}
	takes = []string{"input_ids"}
	if p.masked {
		takes = append(takes, "encoder_attention_mask")
	}
	if len(decoder.Inputs) > len(takes) && decoder.Inputs[len(takes)].Name == "encoder_hidden_states" {
		p.hidden = true
		takes = append(takes, "encoder_hidden_states")
	}
	if err := named(decoderBody, "inputs", decoder.Inputs, len(takes)+4*p.layers, takes...); err != nil {
		return err
	}
	ids := decoder.Inputs[0].Type
	if len(ids.Dims) != 2 {
		return graph.Errorf(graph.ErrFormat, "input %q of graph %q is %v, not of [batch,tokens]", decoder.Inputs[0].Name, decoderBody, ids)
	}
	tokens, ok := ids.Dims[1].Value()
	p.whole = !ok || tokens != 1
	return named(decoderBody, "outputs", decoder.Outputs, 1+2*p.layers, "logits")
}

// named reports operands of a graph that are not as many as wanted, or not of the names
// that the first should have.
func named(body, kind string, list []*graph.Value, want int, names ...string) error {
	if len(list) != want {
		return graph.Errorf(graph.ErrFormat, "graph %q has %d %s and needs %d", body, len(list), kind, want)
	}
	for i, name := range names {
		if list[i].Name != name {
			return graph.Errorf(graph.ErrFormat, "number %d of the %s of graph %q is %q and should be %q", i, kind, body, list[i].Name, name)
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
		return nil, graph.Errorf(graph.ErrShape, "input 0, %v, is no source of the encoder, which is int32 of [batch,tokens] or floats of [batch,features,frames]", source)
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
		return nil, graph.Errorf(graph.ErrFormat, "decoder_start_token_id is %d, and nothing else tells what texts begin with", p.first)
	}
	w.prompt, w.ids = 1, make([]int32, w.batch)
	for i := range w.ids {
		w.ids[i] = int32(p.first)
	}
	return w, nil
}

// translation is the state of an encoder and a decoder over some texts at once.
type translation struct {
	c            *op.Run
	s            *search
	w            *wish
	copies, rows int
	ids          []int32        // of the next run of the decoder, [rows,tokens]
	fixed        []tensor.Value // mask and hidden states
	cross        []tensor.Value // caches of attention to the source
	caches       op.Stream      // of the decoder's own attention; nil before the encoder has run
}

// translate returns the state before the encoder has run.
func (s *search) translate(c *op.Run, w *wish, copies int) *translation {
	d := &translation{c: c, s: s, w: w, copies: copies, rows: w.batch * copies}
	for b := range w.batch {
		for range copies {
			d.ids = append(d.ids, w.ids[b*w.prompt:][:w.prompt]...)
		}
	}
	return d
}

// run runs the encoder at first, later the decoder.
func (d *translation) run() ([]float32, int, error) {
	if d.caches == nil {
		return d.encode()
	}
	ids, err := tensor.From(d.ids, d.rows, len(d.ids)/d.rows)
	if err != nil {
		return nil, 0, err
	}
	in := append([]tensor.Value{ids}, d.fixed...)
	in = append(in, make([]tensor.Value, 2*d.s.pair.layers)...)
	out, err := d.caches.Run(append(in, d.cross...))
	if err != nil {
		return nil, 0, err
	}
	scores, n, err := d.s.last(d.c, out[0], d.rows)
	d.c.Release(out...)
	return scores, n, err
}

// encode runs the encoder on the texts, and copies what it gives for the rows of each.
func (d *translation) encode() ([]float32, int, error) {
	prompts := tensor.New(tensor.I32, d.w.batch, d.w.prompt)
	copy(tensor.View[int32](prompts), d.w.ids)
	in := []tensor.Value{d.w.source}
	if d.s.pair.masked {
		mask, err := d.mask()
		if err != nil {
			return nil, 0, err
		}
		in = append(in, mask)
	}
	out, err := d.c.Body(encoderBody, append(in, prompts))
	if err != nil {
		return nil, 0, err
	}
	scores, n, err := d.s.last(d.c, out[0], d.w.batch)
	if err != nil {
		return nil, 0, err
	}
	d.c.Release(out[0])
	if d.s.pair.hidden {
		in = append(in, out[1])
	} else {
		d.c.Release(out[1])
	}
	if d.fixed, err = d.expand(in[1:]); err != nil {
		return nil, 0, err
	}
	own := 2 + 2*d.s.pair.layers
	if d.cross, err = d.expand(out[own:]); err != nil {
		return nil, 0, err
	}
	if err := d.open(out[2:own]); err != nil {
		return nil, 0, err
	}
	all := make([]float32, 0, d.rows*n)
	for r := range d.rows {
		all = append(all, scores[r/d.copies*n:][:n]...)
	}
	return all, n, nil
}

// open makes the caches of the decoder from those that the encoder gives.
func (d *translation) open(given []tensor.Value) error {
	own, err := d.expand(given)
	if err != nil {
		return err
	}
	l := d.s.pair.loop(d.rows, d.w.most)
	for i, v := range own {
		t := v.(*tensor.Tensor) // expand has seen that
		if len(t.Shape()) != 4 {
			return graph.Errorf(graph.ErrShape, "the encoder gives %v as a cache, which is of [batch,heads,tokens,size]", t)
		}
		l.States[i].DType, l.States[i].Dims = t.DType(), graph.DimsOf(t.Shape())
		l.States[i].Dims[l.States[i].Axis] = graph.Symbol(op.Rows)
	}
	if d.caches, err = d.c.Stream(decoderBody, l); err != nil {
		return err
	}
	return d.caches.Set(own)
}

// loop describes the runs of the decoder, but for the types of caches.
func (p *pair) loop(rows, most int) *op.Loop {
	l := &op.Loop{Room: min(most, maxRoom), Going: map[int]graph.Dims{}}
	if p.whole {
		l.Going[0] = graph.Dims{graph.Known(rows), graph.Symbol(op.Rows)}
	}
	for i := range 2 * p.layers {
		l.States = append(l.States, op.LoopState{In: 1 + op.Btoi(p.masked) + op.Btoi(p.hidden) + i, Out: 1 + i, Axis: 2})
	}
	return l
}

// mask returns the mask of the source, which leaves out padding before the text where
// the wish has none.
func (d *translation) mask() (tensor.Value, error) {
	if err := d.c.Mem.Reserve(tensor.SizeOf(tensor.I32, d.w.source.Shape())); err != nil {
		return nil, err
	}
	t := tensor.New(tensor.I32, d.w.source.Shape()...)
	list := tensor.View[int32](t)
	if d.w.mask != nil {
		copy(list, d.w.mask)
		return t, nil
	}
	ids, tokens := tensor.View[int32](d.w.source), d.w.source.Shape()[1]
	for b := range d.w.batch {
		begun := false
		for i := b * tokens; i < (b+1)*tokens; i++ {
			begun = begun || ids[i] != d.s.pad
			list[i] = int32(op.Btoi(begun))
		}
	}
	return t, nil
}

// expand returns values with each row as many times as texts have copies, in place of
// the values.
func (d *translation) expand(list []tensor.Value) ([]tensor.Value, error) {
	expanded := make([]tensor.Value, len(list))
	for i, v := range list {
		t, ok := v.(*tensor.Tensor)
		if !ok || len(t.Shape()) == 0 || t.Shape()[0] != d.w.batch {
			return nil, graph.Errorf(graph.ErrShape, "the encoder gives %v where the first extent should be %d texts", v, d.w.batch)
		}
		if d.copies == 1 {
			expanded[i] = v
			continue
		}
		shape := append(tensor.Shape{d.rows}, t.Shape()[1:]...)
		if err := shape.Check(); err != nil {
			return nil, err
		}
		if err := d.c.Mem.Reserve(tensor.SizeOf(t.DType(), shape)); err != nil {
			return nil, fmt.Errorf("%d copies of %v: %w", d.copies, t, err)
		}
		more := tensor.New(t.DType(), shape...)
		n := len(t.Bytes()) / d.w.batch
		for r := range d.rows {
			copy(more.Bytes()[r*n:][:n], t.Bytes()[r/d.copies*n:])
		}
		d.c.Release(v)
		expanded[i] = more
	}
	return expanded, nil
}

// advance makes tokens the next input. The caches of attention to the source are the
// same for all rows of a text, and stay.
func (d *translation) advance(tokens []int32, from []int) error {
	if !d.s.pair.whole {
		d.ids = tokens
	} else {
		length := len(d.ids) / d.rows
		texts := make([]int32, 0, len(d.ids)+d.rows)
		for r, id := range tokens {
			source := r
			if from != nil {
				source = from[r]
			}
			texts = append(append(texts, d.ids[source*length:][:length]...), id)
		}
		d.ids = texts
	}
	if from == nil {
		return nil
	}
	return d.caches.Gather(0, from)
}

// end gives back what the decoder takes beside its caches.
func (d *translation) end() {
	d.c.Release(d.fixed...)
	d.c.Release(d.cross...)
}

package control

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// search is what the searches of com.microsoft share: they write text with a decoder,
// a graph from input_ids, position_ids, attention_mask and pasts to logits and presents.
type search struct {
	init       bool // another graph runs first
	pad, eos   int32
	vocabulary int // -1 for that of the logits
	noRepeat   int // tokens of groups that must not occur twice; 0 for any
}

const (
	decoderBody     = "decoder"
	initDecoderBody = "init_decoder"
)

// maxText bounds the tokens of a text.
const maxText = 1 << 24

func readSearch(n *op.Node) (*search, error) {
	n.Ignore("decoder_start_token_id")
	if kind := n.Int("model_type", 0); kind != 0 || n.Has("encoder") {
		return nil, graph.Errorf(graph.ErrUnsupported, "model_type is %d, an encoder and a decoder; only decoders (0) are computed", kind)
	}
	s := &search{init: n.Has(initDecoderBody), vocabulary: n.Int("vocab_size", -1), noRepeat: n.Int("no_repeat_ngram_size", 0)}
	if s.init {
		if err := n.Graph(initDecoderBody); err != nil {
			return nil, err
		}
	}
	if s.noRepeat < 0 {
		return nil, graph.Errorf(graph.ErrFormat, "no_repeat_ngram_size is %d", s.noRepeat)
	}
	for _, id := range []struct {
		name string
		to   *int32
	}{{"pad_token_id", &s.pad}, {"eos_token_id", &s.eos}} {
		if !n.Has(id.name) {
			return nil, graph.Errorf(graph.ErrFormat, "attribute %q is missing", id.name)
		}
		v := n.Int(id.name, 0)
		if v < math.MinInt32 || v > math.MaxInt32 {
			return nil, graph.Errorf(graph.ErrFormat, "%s is %d", id.name, v)
		}
		*id.to = int32(v)
	}
	return s, n.Graph(decoderBody)
}

// wish is what a search is asked for, from its inputs.
type wish struct {
	batch, prompt, most, least int
	ids                        []int32 // [batch,prompt]
	mask                       []int32 // [batch,prompt]; nil where padding tells it
	penalty                    float32
	words, first               []int32 // masks of the vocabulary: always, and in the first step by text
}

// wishes reads the inputs that all searches have: ids, most and least tokens, and at
// the places given the penalty, the masks of words and of the prompt.
func (s *search) wishes(c *op.Run, penalty, words int) (*wish, error) {
	shape := c.In[0].Shape()
	if len(shape) != 2 || shape.Len() == 0 || c.In[0].DType() != tensor.I32 {
		return nil, graph.Errorf(graph.ErrShape, "input_ids %v are not int32 of [batch,tokens]", c.In[0])
	}
	w := &wish{batch: shape[0], prompt: shape[1], ids: tensor.View[int32](c.In[0]), penalty: 1}
	var err error
	if w.most, err = op.ScalarInt(c.In[1], "max_length"); err != nil {
		return nil, err
	}
	if c.Has(2) {
		if w.least, err = op.ScalarInt(c.In[2], "min_length"); err != nil {
			return nil, err
		}
	}
	if w.most <= w.prompt || w.most > maxText || w.least < 0 || w.least >= w.most {
		return nil, graph.Errorf(graph.ErrShape, "max_length %d and min_length %d do not go with a prompt of %d tokens", w.most, w.least, w.prompt)
	}
	if w.penalty, err = number(c, penalty, "repetition_penalty", 1); err != nil {
		return nil, err
	}
	if !(w.penalty > 0) {
		return nil, graph.Errorf(graph.ErrShape, "repetition_penalty is %v", w.penalty)
	}
	for i, list := range []*[]int32{&w.words, &w.first, &w.mask} {
		if t := c.Given(words + i); t != nil {
			if t.DType() != tensor.I32 {
				return nil, graph.Errorf(graph.ErrUnsupported, "input %d is %v; it takes int32", words+i, t)
			}
			*list = tensor.View[int32](t)
		}
	}
	if w.mask != nil && len(w.mask) != len(w.ids) {
		return nil, graph.Errorf(graph.ErrShape, "attention_mask has %d elements for %d tokens", len(w.mask), len(w.ids))
	}
	return w, nil
}

// number returns an input that is one float, or def where it is left out.
func number(c *op.Run, i int, what string, def float32) (float32, error) {
	t := c.Given(i)
	if t == nil {
		return def, nil
	}
	v, err := op.ScalarNumber(t, what)
	return float32(v), err
}

// decoding is the state of a decoder over some texts at once.
type decoding struct {
	c                    *op.Run
	s                    *search
	rows                 int
	ids, positions, mask []int32 // of the next run, [rows,tokens], [rows,tokens], [rows,length]
	next                 []int32 // position of the token after the next run, by row
	pasts                []tensor.Value
	ran                  bool
}

// begin returns the state before the first run, with each text of the wish in a number
// of rows.
func (s *search) begin(c *op.Run, w *wish, copies int) *decoding {
	d := &decoding{c: c, s: s, rows: w.batch * copies}
	for b := range w.batch {
		for range copies {
			position := int32(0)
			for t, id := range w.ids[b*w.prompt:][:w.prompt] {
				seen := int32(op.Btoi(id != s.pad))
				if w.mask != nil {
					seen = w.mask[b*w.prompt+t]
				}
				d.ids, d.mask = append(d.ids, id), append(d.mask, seen)
				if seen == 0 {
					d.positions = append(d.positions, 0)
					continue
				}
				d.positions = append(d.positions, position)
				position++
			}
			d.next = append(d.next, position)
		}
	}
	return d
}

// run runs the decoder and returns the logits of the last token of each row.
func (d *decoding) run() (logits []float32, vocabulary int, err error) {
	body := decoderBody
	if !d.ran && d.s.init {
		body = initDecoderBody
	}
	if d.pasts == nil {
		if err := d.empty(body); err != nil {
			return nil, 0, err
		}
	}
	matrix := func(list []int32) tensor.Value {
		t := tensor.New(tensor.I32, d.rows, len(list)/d.rows)
		copy(tensor.View[int32](t), list)
		return t
	}
	in := append([]tensor.Value{matrix(d.ids), matrix(d.positions), matrix(d.mask)}, d.pasts...)
	out, err := d.c.Body(body, in)
	if err != nil {
		return nil, 0, err
	}
	if d.ran {
		d.c.Release(d.pasts...)
	}
	d.ran = true
	if len(out) != 1+len(d.pasts) {
		return nil, 0, graph.Errorf(graph.ErrFormat, "graph %q has %d outputs for %d pasts", body, len(out), len(d.pasts))
	}
	d.pasts = out[1:]
	logits, vocabulary, err = d.last(out[0])
	d.c.Release(out[0])
	return logits, vocabulary, err
}

// empty makes pasts without tokens, of the types that the graph's inputs have.
func (d *decoding) empty(body string) error {
	inputs := d.c.Node.Attr(body).Graph.Inputs
	if len(inputs) < 4 {
		return graph.Errorf(graph.ErrUnsupported, "graph %q has %d inputs, and so no pasts", body, len(inputs))
	}
	for _, in := range inputs[3:] {
		if len(in.Type.Dims) != 5 {
			return graph.Errorf(graph.ErrUnsupported, "input %q of graph %q is %v, no past of [2,batch,heads,tokens,size]", in.Name, body, in.Type)
		}
		heads, ok1 := in.Type.Dims[2].Value()
		size, ok2 := in.Type.Dims[4].Value()
		if !ok1 || !ok2 {
			return graph.Errorf(graph.ErrUnsupported, "input %q of graph %q is %v, whose heads are not known", in.Name, body, in.Type)
		}
		d.pasts = append(d.pasts, tensor.New(in.Type.DType, 2, d.rows, heads, 0, size))
	}
	return nil
}

// last returns the logits of the last token of each row.
func (d *decoding) last(v tensor.Value) ([]float32, int, error) {
	t, ok := v.(*tensor.Tensor)
	if !ok || len(t.Shape()) != 3 || t.Shape()[0] != d.rows || t.Shape().Len() == 0 || !op.ComputedInF32.Has(t.DType()) {
		return nil, 0, graph.Errorf(graph.ErrShape, "the decoder gives %v, no logits of [%d,tokens,vocabulary]", v, d.rows)
	}
	tokens, n := t.Shape()[1], t.Shape()[2]
	if d.s.vocabulary > 0 && d.s.vocabulary != n {
		return nil, 0, graph.Errorf(graph.ErrShape, "the decoder gives %v, and vocab_size is %d", v, d.s.vocabulary)
	}
	all, err := d.c.Floats(t)
	if err != nil {
		return nil, 0, err
	}
	list := make([]float32, 0, d.rows*n)
	for r := range d.rows {
		list = append(list, all[((r+1)*tokens-1)*n:][:n]...)
	}
	return list, n, nil
}

// advance makes tokens the next input, one for each row, each behind the row whose past
// it follows; nil for its own.
func (d *decoding) advance(tokens []int32, from []int) error {
	length := len(d.mask) / d.rows
	mask, next := make([]int32, 0, len(d.mask)+d.rows), make([]int32, d.rows)
	for r := range d.rows {
		source := r
		if from != nil {
			source = from[r]
		}
		mask = append(append(mask, d.mask[source*length:][:length]...), 1)
		next[r] = d.next[source] + 1
	}
	d.ids, d.mask = tokens, mask
	d.positions = d.positions[:0]
	for r := range d.rows {
		d.positions = append(d.positions, next[r]-1)
	}
	d.next = next
	if from == nil {
		return nil
	}
	for i, v := range d.pasts {
		moved, err := d.reorder(v.(*tensor.Tensor), from)
		if err != nil {
			return err
		}
		d.c.Release(v)
		d.pasts[i] = moved
	}
	return nil
}

// reorder returns a past, [2,rows,heads,tokens,size], whose rows are others.
func (d *decoding) reorder(t *tensor.Tensor, from []int) (*tensor.Tensor, error) {
	s := t.Shape()
	if len(s) != 5 || s[1] != d.rows {
		return nil, graph.Errorf(graph.ErrShape, "a present is %v, not of [2,%d,heads,tokens,size]", t, d.rows)
	}
	if err := d.c.Mem.Reserve(len(t.Bytes())); err != nil {
		return nil, err
	}
	out := tensor.New(t.DType(), s...)
	n := len(t.Bytes()) / max(s[0]*s[1], 1)
	for k := range s[0] {
		for r, source := range from {
			copy(out.Bytes()[(k*s[1]+r)*n:][:n], t.Bytes()[(k*s[1]+source)*n:])
		}
	}
	return out, nil
}

// texts is a growing list of tokens for each row.
type texts [][]int32

// textBytes is what a token of a row takes at most while texts are written: in the text
// and the one that takes its place, and in the inputs of the decoder.
const textBytes = 4 * 6

// newTexts returns the prompts, each in a number of rows. It counts what texts of the
// most tokens will take.
func newTexts(c *op.Run, w *wish, copies int) (texts, error) {
	if w.batch > op.MaxElements/copies/w.most/textBytes {
		return nil, graph.Errorf(graph.ErrMemory, "%d times %d texts of %d tokens are too many", w.batch, copies, w.most)
	}
	rows := w.batch * copies
	if err := c.Mem.Reserve(rows * w.most * textBytes); err != nil {
		return nil, err
	}
	list := make(texts, 0, rows)
	for b := range w.batch {
		for range copies {
			list = append(list, slices.Clone(w.ids[b*w.prompt:][:w.prompt]))
		}
	}
	return list, nil
}

// adjust changes scores, [rows,vocabulary], as the wish says. Step counts from 1.
func (s *search) adjust(w *wish, written texts, scores []float32, n, step int) error {
	if w.words != nil && len(w.words) != n || w.first != nil && len(w.first) != w.batch*n {
		return graph.Errorf(graph.ErrShape, "masks of %d and %d words do not go with a vocabulary of %d", len(w.words), len(w.first), n)
	}
	copies := len(written) / w.batch
	for r, text := range written {
		row := scores[r*n:][:n]
		for _, id := range text {
			if (id < 0 || int(id) >= n) && (w.penalty != 1 || s.noRepeat > 0) {
				return graph.Errorf(graph.ErrShape, "token %d is not in a vocabulary of %d", id, n)
			}
		}
		penalise(row, text, w.penalty)
		s.forbidRepeats(row, text)
		forbid(row, w.words)
		if step == 1 && w.first != nil {
			forbid(row, w.first[r/copies*n:][:n])
		}
		if len(text) < w.least && s.eos >= 0 && int(s.eos) < n {
			row[s.eos] = lowest
		}
	}
	return nil
}

const lowest = -math.MaxFloat32

// penalise makes tokens that are there less likely.
func penalise(row []float32, text []int32, penalty float32) {
	if penalty == 1 {
		return
	}
	met := map[int32]bool{}
	for _, id := range text {
		if met[id] {
			continue
		}
		met[id] = true
		if row[id] < 0 {
			row[id] *= penalty
		} else {
			row[id] /= penalty
		}
	}
}

// forbidRepeats forbids tokens that would repeat a group of the text.
func (s *search) forbidRepeats(row []float32, text []int32) {
	n := s.noRepeat
	if n == 0 || n > len(text) {
		return
	}
	last := text[len(text)-n+1:]
	for at := 0; at+n <= len(text); at++ {
		same := true
		for i, id := range last {
			same = same && text[at+i] == id
		}
		if same {
			row[text[at+n-1]] = lowest
		}
	}
}

// forbid forbids the words that a mask has 0 for.
func forbid(row []float32, mask []int32) {
	for i, v := range mask {
		if v == 0 {
			row[i] = lowest
		}
	}
}

// inferTexts sets int32 of [batch,...].
func inferTexts(c *op.Infer, axes int) error {
	out := graph.UnknownDims(axes)
	if d := c.In[0].Dims; len(d) == 2 {
		out[0] = d[0]
	}
	if n, ok := c.In[1].KnownInts(); ok && len(n) == 1 && n[0] > 0 {
		out[axes-1] = graph.Known(n[0])
	}
	c.Set(0, tensor.I32, out)
	return nil
}

// output makes output i and counts it.
func output(c *op.Run, i int, d tensor.DType, shape ...int) (*tensor.Tensor, error) {
	if err := tensor.Shape(shape).Check(); err != nil {
		return nil, err
	}
	if err := c.Mem.Reserve(tensor.SizeOf(d, shape)); err != nil {
		return nil, fmt.Errorf("output %d: %w", i, err)
	}
	t := tensor.New(d, shape...)
	c.Set(i, t)
	return t, nil
}

var searchRows = []op.Row{
	{Domain: op.Microsoft, Name: "GreedySearch", Since: []int{1}, In: [2]int{2, 7}, Out: [2]int{1, 1}, Types: op.Types{tensor.I32}, DynamicOutputs: true, New: newGreedySearch},
	{Domain: op.Microsoft, Name: "BeamSearch", Since: []int{1}, In: [2]int{5, 12}, Optional: op.Inputs(2), Out: [2]int{1, 3}, Types: op.Types{tensor.I32}, DynamicOutputs: true, New: newBeamSearch},
	{Domain: op.Microsoft, Name: "Sampling", Since: []int{1}, In: [2]int{2, 9}, Out: [2]int{1, 2}, Types: op.Types{tensor.I32}, DynamicOutputs: true, Impure: true, New: newSampling},
}

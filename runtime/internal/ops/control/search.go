package control

import (
	"fmt"
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// search holds the fields shared by the searches of com.microsoft. They write text with a decoder,
// a graph from input_ids, position_ids, attention_mask and pasts to logits and presents, or with an
// encoder and a decoder.
type search struct {
	init       bool // another graph runs first
	decoder    *graph.Graph
	beams      int   // the input with the number of continuations per text; 0 for one
	pair       *pair // nil for a decoder alone
	pad, eos   int32
	vocabulary int // -1 to take the logits' extent
	noRepeat   int // length of token groups that must not repeat; 0 for any
}

const (
	decoderBody     = "decoder"
	initDecoderBody = "init_decoder"
)

// maxText bounds the tokens of a text.
const maxText = 1 << 24

// readDecoderSearch is readSearch for operators that take a decoder alone.
func readDecoderSearch(n *op.Node) (*search, error) {
	n.Ignore("decoder_start_token_id")
	if kind := n.Int("model_type", 0); kind != 0 {
		return nil, graph.Errorf(graph.ErrUnsupported,
			"model_type is %d, and %s takes decoders alone (0); BeamSearch takes encoders", kind, n.OpName())
	}
	return readSearch(n)
}

func readSearch(n *op.Node) (*search, error) {
	s := &search{init: n.Has(initDecoderBody), vocabulary: n.Int("vocab_size", -1),
		noRepeat: n.Int("no_repeat_ngram_size", 0)}
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
	if err := n.Graph(decoderBody); err != nil {
		return nil, err
	}
	s.decoder = n.Attr(decoderBody).Graph
	return s, checkApart(s.decoder)
}

// checkApart refuses decoders whose pasts and presents share one buffer for the most tokens. They
// take past_sequence_length.
func checkApart(g *graph.Graph) error {
	for _, in := range g.Inputs {
		switch in.Name {
		case "past_sequence_length", "beam_width", "cache_indirection":
			return graph.Errorf(graph.ErrUnsupported, "graph %q takes %s, as decoders with past_present_share_buffer do; "+
				"they are not supported, nor by ONNX Runtime on a CPU; export the model with separate pasts and presents, "+
				"which share memory here too", decoderBody, in.Name)
		}
	}
	return nil
}

// wish holds the inputs of a search.
type wish struct {
	batch, prompt, most, least int
	ids                        []int32        // [batch,prompt]
	mask                       []int32        // [batch,tokens] of the first graph's input; nil to mask padding
	source                     *tensor.Tensor // of the encoder, [batch,...]
	penalty, temperature       float32
	words, first               []int32 // masks of the vocabulary: for every step, and by text for the first step
	times                      bool    // the rules of timestamps hold
	tails                      texts   // by text: tokens that follow the prompt regardless of scores; nil for none
	pace                       *op.Pace
}

// wishes reads the inputs shared by all searches: ids, most and least tokens and, at the given
// positions, the penalty and the masks of words and prompt.
func (s *search) wishes(c *op.Run, penalty, words int) (*wish, error) {
	w, err := s.start(c)
	if err != nil {
		return nil, err
	}
	if err := w.lengths(c); err != nil {
		return nil, err
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
	if tokens := c.In[0].Len(); w.mask != nil && (s.pair == nil || s.pair.masked) && len(w.mask) != tokens {
		return nil, graph.Errorf(graph.ErrShape, "attention_mask has %d elements for %d tokens", len(w.mask), tokens)
	}
	return w, nil
}

// start reads the prompts.
func (s *search) start(c *op.Run) (*wish, error) {
	if s.pair != nil {
		return s.pair.start(c)
	}
	shape := c.In[0].Shape()
	if len(shape) != 2 || shape.Len() == 0 || c.In[0].DType() != tensor.I32 {
		return nil, graph.Errorf(graph.ErrShape, "input_ids %v are not int32 of [batch,tokens]", c.In[0])
	}
	return &wish{batch: shape[0], prompt: shape[1], ids: tensor.View[int32](c.In[0]), temperature: 1}, nil
}

// lengths reads the most and least tokens of a text.
func (w *wish) lengths(c *op.Run) (err error) {
	if w.most, err = op.ScalarInt(c.In[1], "max_length"); err != nil {
		return err
	}
	if c.Has(2) {
		if w.least, err = op.ScalarInt(c.In[2], "min_length"); err != nil {
			return err
		}
	}
	if w.most <= w.prompt || w.most > maxText || w.least < 0 || w.least >= w.most {
		return graph.Errorf(graph.ErrShape, "max_length %d and min_length %d do not go with a prompt of %d tokens", w.most,
			w.least, w.prompt)
	}
	return nil
}

// number returns an input of one float, or def if it is left out.
func number(c *op.Run, i int, what string, def float32) (float32, error) {
	t := c.Given(i)
	if t == nil {
		return def, nil
	}
	v, err := kit.ScalarNumber(t, what)
	return float32(v), err
}

// texts is a growing list of tokens per row.
type texts [][]int32

// textBytes is the most memory in bytes that a token of a row takes while texts are written: in the
// text, in its replacement, and in the inputs of the decoder.
const textBytes = 4 * 6

// newTexts returns the prompts, each in copies rows. It reserves memory for texts of w.most tokens.
func newTexts(c *op.Run, w *wish, copies int) (texts, error) {
	if w.batch > kit.MaxElements/copies/w.most/textBytes {
		return nil, graph.Errorf(graph.ErrMemory, "%d times %d texts of %d tokens are too many", w.batch, copies, w.most)
	}
	w.pace = c.Pace()
	rows := w.batch * copies
	if err := c.Mem.Reserve(rows * w.most * textBytes); err != nil {
		return nil, err
	}
	list := make(texts, 0, rows)
	for b := range w.batch {
		for range copies {
			text := make([]int32, 0, min(w.most, maxRoom))
			list = append(list, append(text, w.ids[b*w.prompt:][:w.prompt]...))
		}
	}
	return list, nil
}

// textWork is the work of penalise for a token of a text.
const textWork = 32

// adjust changes scores, [rows,vocabulary], by the rules of the wish. step counts from 1.
func (s *search) adjust(w *wish, written texts, scores []float32, n, step int) error {
	if w.words != nil && len(w.words) != n || w.first != nil && len(w.first) != w.batch*n {
		return graph.Errorf(graph.ErrShape, "masks of %d and %d words do not go with a vocabulary of %d", len(w.words),
			len(w.first), n)
	}
	copies := len(written) / w.batch
	for r, text := range written {
		row, tail := scores[r*n:][:n], w.tail(r/copies)
		w.pace.Work(4*n + textWork*len(text))
		if step <= len(tail) {
			if err := s.force(row, tail[step-1]); err != nil {
				return err
			}
			continue
		}
		for _, id := range text {
			if (id < 0 || int(id) >= n) && (w.penalty != 1 || s.noRepeat > 0) {
				return graph.Errorf(graph.ErrShape, "token %d is not in a vocabulary of %d", id, n)
			}
		}
		penalise(row, text, w.penalty)
		s.forbidRepeats(w.pace, row, text)
		forbid(row, w.words)
		if step == len(tail)+1 && w.first != nil {
			forbid(row, w.first[r/copies*n:][:n])
		}
		if len(text) < w.least && s.eos >= 0 && int(s.eos) < n {
			row[s.eos] = lowest
		}
		if w.temperature != 1 {
			for i := range row {
				row[i] /= w.temperature
			}
		}
		if w.times {
			if err := s.ruleTimes(row, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// tail returns the tokens that must follow the prompt of a text.
func (w *wish) tail(text int) []int32 {
	if w.tails == nil {
		return nil
	}
	return w.tails[text]
}

// force leaves one token to choose. The score of the text stays the same.
func (s *search) force(row []float32, id int32) error {
	if int(id) >= len(row) || id == s.eos {
		return graph.Errorf(graph.ErrShape,
			"extra_decoding_ids has token %d, which ends texts or is not in a vocabulary of %d", id, len(row))
	}
	for i := range row {
		row[i] = lowest
	}
	row[id] = 0
	return nil
}

const lowest = -math.MaxFloat32

// penalise makes the tokens of text less likely.
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

// forbidRepeats forbids tokens that would repeat a group of n tokens of the text.
func (s *search) forbidRepeats(pace *op.Pace, row []float32, text []int32) {
	n := s.noRepeat
	if n == 0 || n > len(text) {
		return
	}
	last := text[len(text)-n+1:]
	for at := 0; at+n <= len(text); at++ {
		pace.Work(n)
		if slices.Equal(text[at:at+n-1], last) {
			row[text[at+n-1]] = lowest
		}
	}
}

// forbid forbids the words with 0 in the mask.
func forbid(row []float32, mask []int32) {
	for i, v := range mask {
		if v == 0 {
			row[i] = lowest
		}
	}
}

// inferTexts sets output 0 to int32 with the given number of axes, [batch,...,max_length].
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

// output allocates output i and counts its memory.
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
	{Domain: kit.Microsoft, Name: "GreedySearch", Since: []int{1}, In: [2]int{2, 7}, Out: [2]int{1, 1}, Types: op.Types{tensor.I32}, DynamicOutputs: true, New: newGreedySearch},
	{Domain: kit.Microsoft, Name: "BeamSearch", Since: []int{1}, In: [2]int{5, 12}, Optional: kit.Inputs(2), Out: [2]int{1, 3}, Types: op.Types{tensor.I32, tensor.F32, tensor.F16}, DynamicOutputs: true, New: newBeamSearch},
	{Domain: kit.Microsoft, Name: "Sampling", Since: []int{1}, In: [2]int{2, 9}, Out: [2]int{1, 2}, Types: op.Types{tensor.I32}, DynamicOutputs: true, Impure: true, Random: true, New: newSampling},
}

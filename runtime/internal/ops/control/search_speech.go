package control

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// speechSearch is WhisperBeamSearch: beamSearch with the inputs of speech models.
type speechSearch struct{ *beamSearch }

func newSpeechSearch(n *op.Node) (op.Op, error) {
	s, err := readSearch(n)
	if err != nil {
		return nil, err
	}
	kind := n.Int("model_type", speechToText)
	if kind != speechToText {
		return nil, graph.Errorf(graph.ErrFormat, "model_type is %d and should be %d", kind, speechToText)
	}
	s.beams = 3
	if s.pair, err = readPair(n, kind); err != nil {
		return nil, err
	}
	if n.Bool("decoder_output_cross_qk", false) || n.HasIn(crossHeads) || len(n.Outputs) > 3 && n.Outputs[3] != "" {
		return nil, graph.Errorf(graph.ErrUnsupported, "scores of attention to the source (decoder_output_cross_qk, "+
			"cross_qk_layer_head, cross_qk) are not computed, nor does ONNX Runtime compute them on a CPU; export the "+
			"model without them")
	}
	w := &s.pair.words
	for name, to := range map[string]*int{"translate_token_id": &w.translate, "transcribe_token_id": &w.transcribe,
		"start_of_lm_token_id": &w.startOfLM,
		"no_speech_token_id":   &w.noSpeech, "no_timestamps_token_id": &w.noTimes, "beginning_timestamp_token_id": &w.times} {
		*to = n.Int(name, -1)
	}
	return &speechSearch{&beamSearch{s, n.Bool("early_stopping", false)}}, nil
}

// Inputs that only speechSearch has.
const (
	crossHeads = 12
	extraIDs   = 13
	warmth     = 14
)

// Infer applies the rule of beamSearch and adds a probability per text.
func (o *speechSearch) Infer(c *op.Infer) error {
	err := o.beamSearch.Infer(c)
	c.Set(4, tensor.F32, graph.UnknownDims(1))
	return err
}

// speechWords holds Whisper's special tokens; -1 for none.
type speechWords struct {
	translate, transcribe, startOfLM, noSpeech, noTimes, times int
}

// speech reads the inputs that only speech models have.
func (p *pair) speech(c *op.Run, w *wish) (err error) {
	if p.masked {
		return nil
	}
	if c.Has(11) {
		kind, err := op.ScalarInt(c.In[11], "logits_processor")
		if err != nil {
			return err
		}
		if kind < 0 || kind > 1 {
			return graph.Errorf(graph.ErrUnsupported, "logits_processor is %d; it takes 0 and 1, the rules of timestamps", kind)
		}
		w.times = kind == 1
	}
	if w.times && p.words.times <= 0 {
		return graph.Errorf(graph.ErrFormat, "logits_processor is 1 and beginning_timestamp_token_id is %d, no token",
			p.words.times)
	}
	if w.tails, err = p.extra(c, w.batch); err != nil {
		return err
	}
	if w.temperature, err = number(c, warmth, "temperature", 1); err == nil && !(w.temperature > 0) {
		err = graph.Errorf(graph.ErrShape, "temperature is %v", w.temperature)
	}
	return err
}

// extra reads the tokens that must follow the prompt of each text, or nil. A list ends at its first
// negative token.
func (p *pair) extra(c *op.Run, batch int) (texts, error) {
	t := c.Given(extraIDs)
	if t == nil {
		return nil, nil
	}
	if s := t.Shape(); t.DType() != tensor.I32 || len(s) != 2 || s[0] != batch {
		return nil, graph.Errorf(graph.ErrShape, "extra_decoding_ids %v are not int32 of [%d,tokens]", t, batch)
	}
	list := make(texts, batch)
	for b, n := 0, t.Shape()[1]; b < batch; b++ {
		list[b] = tensor.View[int32](t)[b*n:][:n]
		if end := slices.IndexFunc(list[b], func(id int32) bool { return id < 0 }); end >= 0 {
			list[b] = list[b][:end]
		}
	}
	return list, nil
}

// silence sets output 4, the probability that each text is silence, from the log probabilities of
// the first step.
func (p *pair) silence(c *op.Run, scores []float32, n, batch int) error {
	if !c.Wants(4) {
		return nil
	}
	if p.words.noSpeech < 0 || p.words.noSpeech >= n {
		return graph.Errorf(graph.ErrFormat, "no_speech_token_id is %d, not in a vocabulary of %d", p.words.noSpeech, n)
	}
	out, err := output(c, 4, tensor.F32, batch)
	if err != nil {
		return err
	}
	for b, list := 0, tensor.View[float32](out); b < batch; b++ {
		list[b] = float32(math.Exp(float64(scores[len(scores)/batch*b+p.words.noSpeech])))
	}
	return nil
}

// latestStart bounds the first timestamp of a text, relative to the first timestamp token.
const latestStart = 50

// ruleTimes enforces the rules of timestamps: they come in pairs and do not decrease. If timestamps
// together are more likely than any word, it forbids words.
func (s *search) ruleTimes(row []float32, text []int32) error {
	w := &s.pair.words
	if w.times >= len(row) {
		return graph.Errorf(graph.ErrFormat, "beginning_timestamp_token_id is %d, not in a vocabulary of %d", w.times,
			len(row))
	}
	isTime := func(id int32) bool { return int(id) >= w.times }
	ban := func(from, to int) { banRange(row, from, to) }
	begun := slices.IndexFunc(text, isTime) + 1
	if begun == 0 {
		begun = len(text)
	}
	ban(w.noTimes, w.noTimes+1)
	ban(w.startOfLM, w.startOfLM+1)
	if len(text) > begun {
		for _, id := range []int{s.pair.first, w.translate, w.transcribe} {
			ban(id, id+1)
		}
	}
	last := isTime(text[len(text)-1])
	open := last && len(text) > begun && !isTime(text[len(text)-2])
	switch {
	case open:
		ban(0, int(s.eos))
	case last:
		ban(w.times, len(row))
	}
	for _, id := range slices.Backward(text) {
		if isTime(id) {
			ban(w.times, int(id)+kit.Btoi(!open))
			break
		}
	}
	if len(text) == begun {
		ban(w.times+latestStart+1, len(row))
	}
	if together(row[w.times:]) > slices.Max(row[:w.times]) {
		ban(0, w.times)
	}
	return nil
}

// banRange forbids the tokens in [from,to).
func banRange(row []float32, from, to int) {
	for i := max(from, 0); i < min(to, len(row)); i++ {
		row[i] = lowest
	}
}

// together returns the log of the sum of probabilities, from their logs.
func together(logs []float32) float32 {
	most, sum := slices.Max(logs), 0.0
	for _, v := range logs {
		if v > lowest {
			sum += math.Exp(float64(v - most))
		}
	}
	if sum == 0 {
		return lowest
	}
	return float32(math.Log(sum)) + most
}

var speechRows = []op.Row{
	{Domain: kit.Microsoft, Name: "WhisperBeamSearch", Since: []int{1}, In: [2]int{5, 15}, Optional: kit.Inputs(2), Out: [2]int{1, 5}, Types: op.Types{tensor.F32, tensor.F16}, DynamicOutputs: true, New: newSpeechSearch},
}

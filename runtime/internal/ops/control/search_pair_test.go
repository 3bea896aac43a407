package control

import (
	"errors"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func values(names string) []*graph.Value {
	var list []*graph.Value
	for _, name := range strings.Fields(names) {
		list = append(list, &graph.Value{Name: name,
			Type: graph.TensorOf(tensor.I32, graph.Dims{graph.Unknown(), graph.Known(1)})})
	}
	return list
}

const (
	textSource   = "encoder_input_ids encoder_attention_mask decoder_input_ids"
	sourceAlone  = "encoder_input_ids encoder_attention_mask"
	madeOfSource = "present_key_cross_0 present_value_cross_0"
	madeByAll    = "logits encoder_hidden_states present_key_self_0 present_value_self_0 present_key_cross_0 present_value_cross_0"
	pastsOfOne   = " past_key_self_0 past_value_self_0 past_key_cross_0 past_value_cross_0"
)

// TestPairs reads graphs of an encoder and a decoder, most of them invalid.
func TestPairs(t *testing.T) {
	for name, c := range map[string]struct {
		speech               bool
		source, made         string
		takes, gives, expect string
	}{
		"text":           {false, textSource, madeByAll, "input_ids encoder_attention_mask" + pastsOfOne, "logits k v", ""},
		"hidden states":  {false, textSource, madeByAll, "input_ids encoder_attention_mask encoder_hidden_states" + pastsOfOne, "logits k v", ""},
		"speech":         {true, "encoder_input_ids decoder_input_ids", madeByAll, "input_ids" + pastsOfOne, "logits k v", ""},
		"no prompts":     {false, sourceAlone, madeOfSource, "input_ids encoder_attention_mask" + pastsOfOne, "logits k v", ""},
		"not its caches": {false, sourceAlone, madeByAll, "input_ids encoder_attention_mask" + pastsOfOne, "logits k v", `should be "present_key_cross_0"`},
		"half a layer":   {false, sourceAlone, madeOfSource + " k", "input_ids encoder_attention_mask" + pastsOfOne, "logits k v", "has 3 outputs, not 0 and 2"},
		"not hidden":     {false, sourceAlone, madeOfSource, "input_ids encoder_attention_mask encoder_hidden_states" + pastsOfOne, "logits k v", "does not give them"},
		"no source":      {false, "encoder_input_ids", madeByAll, "input_ids encoder_attention_mask" + pastsOfOne, "logits k v", "has 1 inputs and needs 3"},
		"speech alone":   {true, "encoder_input_ids", madeOfSource, "input_ids" + pastsOfOne, "logits k v", "has 1 inputs and needs 2"},
		"other name":     {false, "ids encoder_attention_mask decoder_input_ids", madeByAll, "input_ids encoder_attention_mask" + pastsOfOne, "logits k v", `should be "encoder_input_ids"`},
		"no outputs":     {false, textSource, "", "input_ids encoder_attention_mask" + pastsOfOne, "logits k v", "has 0 outputs"},
		"odd caches":     {false, textSource, madeByAll + " more", "input_ids encoder_attention_mask" + pastsOfOne, "logits k v", "has 7 outputs"},
		"no decoder":     {false, textSource, madeByAll, "", "", `graph "decoder" has 0 inputs and needs 6`},
		"no mask":        {false, textSource, madeByAll, "input_ids" + pastsOfOne, "logits k v", "has 5 inputs and needs 6"},
		"fewer presents": {false, textSource, madeByAll, "input_ids encoder_attention_mask" + pastsOfOne, "logits k", "has 2 outputs and needs 3"},
	} {
		p := &pair{masked: !c.speech}
		err := p.check(&graph.Graph{Inputs: values(c.source), Outputs: values(c.made)},
			&graph.Graph{Inputs: values(c.takes), Outputs: values(c.gives)})
		if c.expect == "" && (err != nil || p.layers != 1 || p.whole || p.hidden != strings.Contains(c.takes, "hidden")) {
			t.Errorf("%s: got %+v, %v", name, p, err)
		}
		if c.expect != "" && (!errors.Is(err, graph.ErrFormat) || !strings.Contains(err.Error(), c.expect)) {
			t.Errorf("%s: got %v, want %q", name, err, c.expect)
		}
	}
}

// TestPairInputs gives a pair invalid inputs. The search ends before the encoder runs.
func TestPairInputs(t *testing.T) {
	number := func(v int32) *tensor.Tensor {
		x := tensor.New(tensor.I32, 1)
		tensor.View[int32](x)[0] = v
		return x
	}
	text := &search{eos: -1, vocabulary: -1, pair: &pair{masked: true, layers: 1}}
	speech := &search{eos: -1, vocabulary: -1, pair: &pair{layers: 1}}
	ids, sound := tensor.New(tensor.I32, 2, 3), tensor.New(tensor.F32, 2, 3, 4)
	long, most, one := number(maxText), number(8), number(1)
	zero, cold := number(0), tensor.New(tensor.F32, 1)
	with := func(source, most, beams *tensor.Tensor, more map[int]*tensor.Tensor) []*tensor.Tensor {
		in := make([]*tensor.Tensor, 15)
		in[0], in[1], in[3], in[4] = source, most, beams, one
		for i, x := range more {
			in[i] = x
		}
		return in
	}
	for name, c := range map[string]struct {
		s    *search
		in   []*tensor.Tensor
		want error
	}{
		"many beams":       {text, with(ids, long, number(4096), nil), graph.ErrMemory},
		"no beams":         {text, with(ids, most, zero, nil), graph.ErrShape},
		"negative beams":   {speech, with(sound, most, number(-3), nil), graph.ErrShape},
		"negative length":  {speech, with(sound, number(-1), one, nil), graph.ErrShape},
		"length of prompt": {text, with(ids, one, one, nil), graph.ErrShape},
		"sound as text":    {text, with(sound, most, one, nil), graph.ErrShape},
		"text as sound":    {speech, with(ids, most, one, nil), graph.ErrShape},
		"short mask":       {text, with(ids, most, one, map[int]*tensor.Tensor{9: one}), graph.ErrShape},
		"prompts of fewer": {speech, with(sound, most, one, map[int]*tensor.Tensor{10: tensor.New(tensor.I32, 1, 2)}), graph.ErrShape},
		"empty prompts":    {speech, with(sound, most, one, map[int]*tensor.Tensor{10: tensor.New(tensor.I32, 2, 0)}), graph.ErrShape},
		"floats as prompt": {speech, with(sound, most, one, map[int]*tensor.Tensor{10: tensor.New(tensor.F32, 2, 2)}), graph.ErrShape},
		"other processor":  {speech, with(sound, most, one, map[int]*tensor.Tensor{11: number(2)}), graph.ErrUnsupported},
		"no timestamps":    {speech, with(sound, most, one, map[int]*tensor.Tensor{11: one}), graph.ErrFormat},
		"no temperature":   {speech, with(sound, most, one, map[int]*tensor.Tensor{14: cold}), graph.ErrShape},
	} {
		err := (&beamSearch{search: c.s}).Run(&op.Run{In: c.in, Mem: &purse{left: 1 << 20}, Node: &graph.Node{}})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

// TestSilence asks for the probability that a text is silence.
func TestSilence(t *testing.T) {
	p := &pair{words: speechWords{noSpeech: 1}}
	scores := []float32{-1, 0, -2, -3, -4, -50, -6, -7} // two texts of two rows each
	c := &op.Run{Mem: &purse{left: 1 << 10}, Made: make([]tensor.Value, 5),
		Node: &graph.Node{Outputs: []string{"", "", "", "", "silence"}}}
	if err := p.silence(c, scores, 2, 2); err != nil {
		t.Fatal(err)
	}
	got := tensor.View[float32](c.Made[4].(*tensor.Tensor))
	if got[0] != 1 || got[1] > 1e-20 {
		t.Errorf("got %v", got)
	}
	p.words.noSpeech = 2
	if err := p.silence(c, scores, 2, 2); !errors.Is(err, graph.ErrFormat) {
		t.Errorf("a token beyond the vocabulary: got %v", err)
	}
}

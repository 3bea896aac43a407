package bodies

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const (
	heads = 2
	width = 8 // of a word
	texts = 2
	most  = 3000 // tokens of a text
)

// decoder is a decoder of one layer of attention.
func decoder(b *graph.Builder, words int) *graph.Graph {
	weight := func(shape ...int) string { return b.Constant(filled(shape...)) }
	size := fmt.Sprint(width / heads)
	ids, places := b.Input("input_ids", declared(tensor.I32, "b", "s")),
		b.Input("position_ids", declared(tensor.I32, "b", "s"))
	mask := b.Input("attention_mask", declared(tensor.I32, "b", "t"))
	past := b.Input("past_0", declared(tensor.F32, "2", "b", fmt.Sprint(heads), "p", size))
	x := b.Op("Add", []string{b.Op("Gather", []string{weight(words, width), ids}),
		b.Op("Gather", []string{weight(most, width), places})})
	out := b.Node(kit.Microsoft, "Attention", []string{x, weight(width, 3*width), weight(3 * width), mask, past}, 2,
		graph.IntAttr("num_heads", heads), graph.IntAttr("unidirectional", 1))
	b.Output(b.Op("MatMul", []string{b.Op("Add", []string{x, out[0]}), weight(width, words)}), "logits",
		declared(tensor.F32, "b", "s", fmt.Sprint(words)))
	b.Output(out[1], "present_0", declared(tensor.F32, "2", "b", fmt.Sprint(heads), "n", size))
	return b.Graph()
}

// What grows with the size of a search.
const (
	longer = iota // texts
	words         // the vocabulary, of which a text gets one word
	beams         // continuations
)

// search returns the maker of a search.
func search(name string, grows int) func(size int) (*graph.Model, *graph.Node, []tensor.Value) {
	return func(size int) (*graph.Model, *graph.Node, []tensor.Value) {
		length, vocabulary, followed := 4, 11, int32(3)
		switch grows {
		case longer:
			length = min(8+4*size, most)
		case words:
			vocabulary = 64 * size
		case beams:
			length, vocabulary, followed = 5, 1000, int32(size)
		}
		b := begin()
		ids, err := tensor.From([]int32{1, 2, 3, 4, 5, 6}, texts, 3)
		if err != nil {
			panic(err)
		}
		in := []string{b.Input("ids", graph.TensorOf(tensor.I32, graph.DimsOf(ids.Shape()))),
			b.Constant(number(int32(length), 1)), ""}
		attrs := []*graph.Attr{
			graph.IntAttr("eos_token_id", -1), graph.IntAttr("pad_token_id", 0), graph.IntAttr("no_repeat_ngram_size", 3),
			graph.GraphAttr("decoder", decoder(b.Body("decoder"), vocabulary)),
		}
		outputs := 1
		switch name {
		case "BeamSearch":
			in = append(in, b.Constant(number(followed, 1)), b.Constant(number(int32(1), 1)), "",
				b.Constant(number(float32(1.5), 1)))
		case "GreedySearch":
			in = append(in, b.Constant(number(float32(1.5), 1)))
		case "Sampling":
			in = append(in, b.Constant(number(float32(1.5), 1)), "", "", "", "", b.Constant(number(int32(5), 1)))
			in = in[:9]
			attrs = append(attrs, graph.FloatAttr("top_p", 0.9))
			outputs = 2
		}
		m, n := finish(b, b.Node(kit.Microsoft, name, in, outputs, attrs...))
		return m, n, []tensor.Value{ids}
	}
}

const (
	speechWords = 9
	speechWidth = 4
)

// speaker is an encoder or a decoder whose logits are of the mean of the words so far and of the
// source.
func speaker(b *graph.Builder, encoder bool) *graph.Graph {
	cache := declared(tensor.F32, "b", "1", "n", fmt.Sprint(speechWidth))
	var ids, past, source string
	if encoder {
		source = b.Op("Unsqueeze", []string{b.Input("encoder_input_ids",
			declared(tensor.F32, "b", "f", fmt.Sprint(speechWidth))), b.Ints(1)})
		ids = b.Input("decoder_input_ids", declared(tensor.I32, "b", "s"))
	} else {
		ids = b.Input("input_ids", declared(tensor.I32, "b", "1"))
		past = b.Input("past_key_self_0", cache)
		b.Input("past_value_self_0", cache)
		source = b.Input("past_key_cross_0", cache)
		b.Input("past_value_cross_0", cache)
	}
	key := b.Op("Unsqueeze", []string{b.Op("Gather", []string{b.Constant(filled(speechWords, speechWidth)), ids}),
		b.Ints(1)})
	seen := key
	if !encoder {
		seen = b.Op("Concat", []string{past, key}, graph.IntAttr("axis", 2))
	}
	mean := func(x string) string { return b.Op("ReduceMean", []string{x, b.Ints(2)}) }
	x := b.Op("Squeeze", []string{b.Op("Add", []string{mean(seen), mean(source)}), b.Ints(1)})
	b.Output(b.Op("MatMul", []string{x, b.Constant(filled(speechWidth, speechWords))}), "logits",
		declared(tensor.F32, "b", "s", fmt.Sprint(speechWords)))
	if encoder {
		b.Output(source, "encoder_hidden_states", graph.Type{})
	}
	b.Output(seen, "present_key_self_0", cache)
	b.Output(b.Op("Neg", []string{seen}), "present_value_self_0", cache)
	if encoder {
		b.Output(b.Op("Identity", []string{source}), "present_key_cross_0", cache)
		b.Output(b.Op("Neg", []string{source}), "present_value_cross_0", cache)
	}
	return b.Graph()
}

func speech(size int) (*graph.Model, *graph.Node, []tensor.Value) {
	b := begin()
	sound := filled(texts, 3, speechWidth)
	prompts, err := tensor.From([]int32{1, 2, 6, 5}, texts, 2)
	if err != nil {
		panic(err)
	}
	count := func(v int32) string { return b.Constant(number(v, 1)) }
	in := []string{taking(b, "sound", sound), count(int32(8 + 4*size)), count(0), count(3), count(2), b.Constant(number(float32(1), 1)),
		"", "", "", "", b.Constant(prompts)}
	out := b.Node(kit.Microsoft, "WhisperBeamSearch", in, 2, graph.IntAttr("eos_token_id", 8), graph.IntAttr("pad_token_id", 0), graph.IntAttr("model_type", 2),
		graph.GraphAttr("encoder", speaker(b.Body("encoder"), true)), graph.GraphAttr("decoder", speaker(b.Body("decoder"), false)))
	m, n := finish(b, out)
	return m, n, []tensor.Value{sound}
}

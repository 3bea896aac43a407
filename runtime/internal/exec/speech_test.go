package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/exec"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/optest"
	"github.com/nacre-ml/nacre/runtime/internal/plan"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const (
	speechWords = 9
	speechSize  = 4
)

// speechBody builds an encoder or a decoder. Its logits depend on the mean of the words so far and
// on the source.
func speechBody(b *graph.Builder, encoder bool) *graph.Graph {
	weight := noise(b, rand.New(rand.NewPCG(8, 9)), 1)
	cache := declared(tensor.F32, "b", "1", "n", fmt.Sprint(speechSize))
	words, head := weight(speechWords, speechSize), weight(speechSize, speechWords)
	var ids, pastKey, pastValue, crossKey, crossValue string
	if encoder {
		crossKey = b.Input("encoder_input_ids", declared(tensor.F32, "b", "f", "4"))
		ids = b.Input("decoder_input_ids", declared(tensor.I32, "b", "s"))
		crossKey = b.Op("Unsqueeze", []string{crossKey, b.Ints(1)})
		crossValue = b.Op("Neg", []string{crossKey})
	} else {
		ids = b.Input("input_ids", declared(tensor.I32, "b", "1"))
		pastKey, pastValue = b.Input("past_key_self_0", cache), b.Input("past_value_self_0", cache)
		crossKey, crossValue = b.Input("past_key_cross_0", cache), b.Input("past_value_cross_0", cache)
	}
	key := b.Op("Unsqueeze", []string{b.Op("Gather", []string{words, ids}), b.Ints(1)})
	value := b.Op("Neg", []string{key})
	if !encoder {
		key = b.Op("Concat", []string{pastKey, key}, graph.IntAttr("axis", 2))
		value = b.Op("Concat", []string{pastValue, value}, graph.IntAttr("axis", 2))
	}
	mean := func(x string) string { return b.Op("ReduceMean", []string{x, b.Ints(2)}) }
	x := b.Op("Sub", []string{mean(b.Op("Transpose", []string{key}, graph.IntsAttr("perm", 0, 1, 2, 3))),
		mean(crossValue)})
	x = b.Op("Squeeze", []string{x, b.Ints(1)})
	b.Output(b.Op("MatMul", []string{x, head}), "logits", declared(tensor.F32, "b", "s", "9"))
	if encoder {
		b.Output(crossKey, "encoder_hidden_states", graph.Type{})
	}
	b.Output(key, "present_key_self_0", cache)
	b.Output(value, "present_value_self_0", cache)
	if encoder {
		b.Output(b.Op("Identity", []string{crossKey}), "present_key_cross_0", cache)
		b.Output(crossValue, "present_value_cross_0", cache)
	}
	return b.Graph()
}

// speechModel builds a search for texts that continue prompts followed by the tokens of tails,
// which may be nil. It returns the model and its input.
func speechModel(t *testing.T, prompts, tails []int32) (*graph.Model, *tensor.Tensor) {
	t.Helper()
	const texts = 2
	b := graph.NewBuilder("g")
	b.Opset("", 17+1)
	ints := func(rows int, v ...int32) string {
		x, err := tensor.From(v, len(v))
		if rows > 0 {
			x, err = tensor.From(v, rows, len(v)/rows)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.Constant(x)
	}
	one, err := tensor.From([]float32{1}, 1)
	if err != nil {
		t.Fatal(err)
	}
	sound := tensor.New(tensor.F32, texts, 3, speechSize)
	for i := range tensor.View[float32](sound) {
		tensor.View[float32](sound)[i] = float32(i%7) - 2.5
	}
	in := []string{b.Input("sound", graph.TensorOf(tensor.F32, graph.DimsOf(sound.Shape()))), ints(0, 14), ints(0, 0), ints(0, 3), ints(0, 2),
		b.Constant(one), "", "", "", "", ints(texts, prompts...), "", "", ""}
	if tails != nil {
		in[13] = ints(texts, tails...)
	}
	out := b.Node(kit.Microsoft, "WhisperBeamSearch", in, 2, graph.IntAttr("eos_token_id", 8), graph.IntAttr("pad_token_id", 0), graph.IntAttr("model_type", 2),
		graph.GraphAttr("encoder", speechBody(b.Body("encoder"), true)), graph.GraphAttr("decoder", speechBody(b.Body("decoder"), false)))
	b.Output(out[0], "texts", graph.Type{})
	b.Output(out[1], "scores", graph.Type{})
	m := b.Model(&graph.Model{File: "test"})
	if err := graph.Validate(m); err != nil {
		t.Fatal(err)
	}
	return m, sound
}

// spoken runs speechModel.
func spoken(t *testing.T, prompts, tails []int32) ([]int32, []float32, error) {
	t.Helper()
	m, sound := speechModel(t, prompts, tails)
	d := optest.Device(t)
	p, err := plan.Compile(m, standard.Registry(), d)
	if err != nil {
		t.Fatal(err)
	}
	e := exec.New(d, exec.Limits{})
	defer e.Close()
	result, err := e.Run(context.Background(), planFor(t, p, []*tensor.Tensor{sound}), []tensor.Value{sound}, nil)
	if err != nil {
		return nil, nil, err
	}
	return tensor.View[int32](result[0].(*tensor.Tensor)), tensor.View[float32](result[1].(*tensor.Tensor)), nil
}

// TestExtraDecodingIDs compares texts of prompts with separate tails with texts of whole prompts.
func TestExtraDecodingIDs(t *testing.T) {
	want, sums, err := spoken(t, []int32{1, 2, 6, 5, 3, 7}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, others, err := spoken(t, []int32{1, 5}, []int32{2, 6, 3, 7})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
	for i := range sums {
		if d := sums[i] - others[i]; d > 1e-5 || d < -1e-5 {
			t.Errorf("score %d is %v, want %v", i, others[i], sums[i])
		}
	}
	free, _, err := spoken(t, []int32{1, 5}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(free, want) {
		t.Error("texts do not depend on the tail")
	}
	short, _, err := spoken(t, []int32{1, 5}, []int32{-1, 6, 3, -1})
	if err != nil {
		t.Fatal(err)
	}
	if half := len(short) / 2; !slices.Equal(short[:half], free[:half]) || short[half+1] != 3 {
		t.Errorf("tails of no token and of one: got %d, without them %d", short, free)
	}
	for name, tails := range map[string][]int32{"end": {8, 1}, "beyond": {1, 9}} {
		if _, _, err := spoken(t, []int32{1, 5}, tails); !errors.Is(err, graph.ErrShape) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestRefusedForms checks the errors of searches in unsupported forms. ONNX Runtime's CPU provider
// refuses these too, or has no answers for them.
func TestRefusedForms(t *testing.T) {
	speech := func() *graph.Model {
		m, _ := speechModel(t, []int32{1, 5}, nil)
		return m
	}
	search := func(m *graph.Model) *graph.Node {
		i := slices.IndexFunc(m.Graph.Nodes, func(n *graph.Node) bool { return n.Domain == kit.Microsoft })
		return m.Graph.Nodes[i]
	}
	for name, c := range map[string]struct {
		model  *graph.Model
		change func(n *graph.Node)
		want   string
	}{
		"cross_qk":          {speech(), func(n *graph.Node) { n.Attrs = append(n.Attrs, graph.IntAttr("decoder_output_cross_qk", 1)) }, "decoder_output_cross_qk"},
		"heads of cross_qk": {speech(), func(n *graph.Node) { n.Inputs[12] = n.Inputs[10] }, "cross_qk_layer_head"},
		"output cross_qk":   {speech(), func(n *graph.Node) { n.Outputs = append(n.Outputs, "", "qk") }, "cross_qk"},
		"one buffer of a pair": {speech(), func(n *graph.Node) {
			g := n.Attr("decoder").Graph
			g.Inputs = append(g.Inputs, &graph.Value{Name: "past_sequence_length",
				Type: graph.TensorOf(tensor.I32, graph.Dims{graph.Known(1)})})
		}, "past_present_share_buffer"},
		"one buffer": {loopSearch(t, "GreedySearch", appends, 9), func(n *graph.Node) {
			g := n.Attr("decoder").Graph
			g.Inputs = append(g.Inputs, &graph.Value{Name: "past_sequence_length",
				Type: graph.TensorOf(tensor.I32, graph.Dims{graph.Known(1)})})
		}, "past_present_share_buffer"},
	} {
		c.change(search(c.model))
		_, err := plan.Compile(c.model, standard.Registry(), optest.Device(t))
		if !errors.Is(err, graph.ErrUnsupported) || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "ONNX Runtime") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

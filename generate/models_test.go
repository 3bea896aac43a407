package generate_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// words is the vocabulary of the networks of these tests: a token for every byte.
const words = 256

// llama returns a small decoder with a cache.
func llama() *graph.Model {
	return topologies.Llama(topologies.LlamaSize{Layers: 2, Width: 32, Heads: 4, KVHeads: 2, Hidden: 48, Words: words})
}

// sums returns a decoder without states. Logits follow the sum of the tokens' rows.
func sums() *graph.Model {
	b := graph.NewBuilder("sums")
	open := graph.Dims{graph.Symbol("batch"), graph.Symbol("sequence")}
	ids := b.Input("input_ids", graph.TensorOf(tensor.I64, open))
	b.Input("attention_mask", graph.TensorOf(tensor.I64, open))
	b.Input("position_ids", graph.TensorOf(tensor.I64, open))
	table := tensor.New(tensor.F32, words, words)
	for i := range tensor.View[float32](table) {
		tensor.View[float32](table)[i] = float32((i*i*7+i*31)%1009) / 1009
	}
	weight := b.Weight(&graph.Initializer{Name: "table", Tensor: table})
	x := b.Op("Gather", []string{weight, ids})
	seen := b.Op("Cast", []string{b.Op("Unsqueeze", []string{"attention_mask", b.Ints(2)})}, graph.IntAttr("to", 1))
	place := b.Op("Cast", []string{b.Op("Unsqueeze", []string{"position_ids", b.Ints(2)})}, graph.IntAttr("to", 1))
	x = b.Op("Mul", []string{x, b.Op("Add", []string{seen, b.Op("Sin", []string{place})})})
	x = b.Op("MatMul", []string{b.Op("CumSum", []string{x, b.Int(1)}), weight})
	b.Output(x, "scores", graph.TensorOf(tensor.F32, append(slices.Clone(open), graph.Known(words))))
	return b.Model(&graph.Model{Producer: "test", IR: 10})
}

// session opens a network from memory.
func session(t testing.TB, m *graph.Model, o nacre.Options, files ...nacre.Files) *nacre.Session {
	t.Helper()
	testenv.Need(t, bindings.Available())
	var file bytes.Buffer
	if err := onnx.Write(&file, m); err != nil {
		t.Fatal(err)
	}
	model, err := nacre.Decode("tiny.onnx", file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	s, err := model.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		model.Close()
	})
	return s
}

func generator(t testing.TB, s *nacre.Session, o generate.Options) *generate.Generator {
	t.Helper()
	g, err := generate.New(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// bytewise is a tokenizer with bytes as tokens.
type bytewise struct{}

func (bytewise) Encode(text string, _ bool) []int32 {
	var ids []int32
	for _, b := range []byte(text) {
		ids = append(ids, int32(b))
	}
	return ids
}

func (bytewise) Decoding() generate.Stream {
	return &generate.ByteStream{Bytes: func(id int32) string { return string([]byte{byte(id)}) }}
}

package loom_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/formats/loom"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestBundleIsNetwork computes a transformer bundle with heads that fit GroupQueryAttention, and
// the same decoder as a network of layers.
func TestBundleIsNetwork(t *testing.T) {
	const hidden, vocab, size = 16, 11, 8
	r := rand.New(rand.NewPCG(1, 2))
	norm := func() *loom.Layer {
		return weighted(t, r, &loom.Layer{Type: loom.RMSNorm, InputHeight: hidden, OutputHeight: hidden})
	}
	attention := weighted(t, r, &loom.Layer{Type: loom.MultiHeadAttention, DModel: hidden, NumHeads: 2, NumKVHeads: 1, HeadDim: size, QueryDim: hidden, SeqLength: 1})
	mlp := weighted(t, r, &loom.Layer{Type: loom.SwiGLU, InputHeight: hidden, OutputHeight: 20})
	table := loom.NewStore(loom.Float32, numbersOf(r, vocab*hidden))
	blocks := []*loom.Layer{norm(), attention, norm(), mlp}
	bundle := gridOf(blocks...)
	bundle.Transformer = &loom.Transformer{Architecture: "llama_style_decoder", HiddenSize: hidden, VocabSize: vocab, LMHeadTied: true}
	embeddings := *table
	embeddings.Name, embeddings.Native, embeddings.Shape = "embeddings", false, tensor.Shape{vocab, hidden}
	bundle.Globals = []*loom.Blob{&embeddings}
	tokens := []int64{3, 1, 4, 1, 5, 9, 2}
	ids, err := nacre.NewTensor(tokens, 1, len(tokens))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ran(opened(t, bundle), nacre.Options{}, map[string]*nacre.Tensor{"input_ids": ids})
	if err != nil {
		t.Fatal(err)
	}

	around := func(l ...*loom.Layer) *loom.Layer {
		inner := &loom.Layer{Type: loom.Sequential, Steps: l}
		return &loom.Layer{Type: loom.Sequential, Steps: []*loom.Layer{inner, {Type: loom.Residual}}}
	}
	plain := gridOf(
		&loom.Layer{Type: loom.Embedding, DType: loom.Float32, Activation: loom.Linear, VocabSize: vocab, EmbeddingDim: hidden, Weights: table},
		around(blocks[0], blocks[1]), around(blocks[2], blocks[3]),
		&loom.Layer{Type: loom.Dense, DType: loom.Float32, Activation: loom.Linear, InputHeight: hidden, OutputHeight: vocab, Weights: loom.NewStore(loom.Float32, must(table.Float32()))})
	numbers := make([]float32, len(tokens))
	for i, id := range tokens {
		numbers[i] = float32(id)
	}
	in, err := nacre.NewTensor(numbers, 1, len(tokens))
	if err != nil {
		t.Fatal(err)
	}
	want, err := ran(opened(t, plain), nacre.Options{}, map[string]*nacre.Tensor{"input": in})
	if err != nil {
		t.Fatal(err)
	}
	data, err := nacre.Data[float32](want["output"])
	if err != nil {
		t.Fatal(err)
	}
	if err := (within{1e-4, 1e-4}).compare(got["logits"], &array{[]int{1, len(tokens), vocab}, data}); err != nil {
		t.Error(err)
	}
}

// TestPackedBundle computes a Q4_0 bundle with packed matrices, and the same bundle dequantised.
func TestPackedBundle(t *testing.T) {
	const hidden, inner, vocab = 32, 64, 9
	r := rand.New(rand.NewPCG(7, 8))
	packed := func(l *loom.Layer) *loom.Layer {
		for _, p := range must(l.Parts()) {
			if p.Q4 == 0 {
				continue
			}
			l.Extra = append(l.Extra, &loom.Blob{Name: fmt.Sprintf("q4_0.%d", p.Q4), Kind: loom.Q4_0, DType: loom.Float32, Native: true,
				Data: loom.PackQ4_0(numbersOf(r, p.Shape.Len())), Shape: p.Shape})
		}
		return l
	}
	norm := func() *loom.Layer {
		return weighted(t, r, &loom.Layer{Type: loom.RMSNorm, InputHeight: hidden, OutputHeight: hidden})
	}
	n := gridOf(norm(), packed(&loom.Layer{Type: loom.MultiHeadAttention, DModel: hidden, NumHeads: 4, NumKVHeads: 2, HeadDim: 8, QueryDim: hidden, SeqLength: 1}),
		norm(), packed(&loom.Layer{Type: loom.SwiGLU, InputHeight: hidden, OutputHeight: inner}))
	biases := loom.NewStore(loom.Float32, numbersOf(r, 2*inner+hidden))
	biases.Name, biases.Native = "biases", false
	n.Layers[3].Extra = append(n.Layers[3].Extra, biases)
	n.Transformer = &loom.Transformer{HiddenSize: hidden, VocabSize: vocab, LMHeadTied: true, WeightDType: "int4"}
	embeddings := loom.NewStore(loom.Float32, numbersOf(r, vocab*hidden))
	embeddings.Name, embeddings.Native, embeddings.Shape = "embeddings", false, tensor.Shape{vocab, hidden}
	n.Globals = []*loom.Blob{embeddings}
	m := opened(t, n)
	network, err := m.Network()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, node := range network.Graph.Nodes {
		if node.Op == "MatMulNBits" {
			count++
		}
	}
	if count != 7 {
		t.Errorf("%d matrices are packed, not 7", count)
	}
	path := filepath.Join(t.TempDir(), "plain.onnx")
	if err := formats.Save(path, m.Source(), formats.Options{Dequantize: true, DropMeta: true}); err != nil {
		t.Fatal(err)
	}
	plain, err := nacre.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	ids, err := nacre.NewTensor([]int64{3, 1, 4, 1, 5, 2}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ran(plain, nacre.Options{}, map[string]*nacre.Tensor{"input_ids": ids})
	if err != nil {
		t.Fatal(err)
	}
	got, err := ran(m, nacre.Options{}, map[string]*nacre.Tensor{"input_ids": ids})
	if err != nil {
		t.Fatal(err)
	}
	if err := (within{1e-4, 1e-4}).compare(got["logits"], &array{[]int{2, 3, vocab}, must(nacre.Data[float32](want["logits"]))}); err != nil {
		t.Error(err)
	}
}

package generate_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats/onnx"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// A decoder continues a text, piece by piece.
func Example() {
	model, err := nacre.Decode("alphabet.onnx", alphabet())
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	check(err)
	defer session.Close()
	generator, err := generate.New(context.Background(), session, generate.Options{Tokenizer: bytewise{}})
	check(err)
	sampling := generate.Sampling{MaxTokens: 20, Stop: []string{"mno"}}
	for piece, err := range generator.Text(context.Background(), "abc", sampling) {
		check(err)
		fmt.Print(piece.Text)
	}
	fmt.Println()
	// Output: defghijkl
}

// Several continuations of one prompt. The prompt is computed once.
func ExampleGenerator_Continuations() {
	model, err := nacre.Decode("alphabet.onnx", alphabet())
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	check(err)
	defer session.Close()
	generator, err := generate.New(context.Background(), session, generate.Options{})
	check(err)
	// Near 0 the likeliest token is as good as certain.
	sampling := generate.Sampling{MaxTokens: 3, Temperature: 0.01, Seed: 1}
	for token, err := range generator.Continuations(context.Background(), []int32{'x'}, 2, sampling) {
		check(err)
		fmt.Printf("%d:%c ", token.Index, token.ID)
	}
	fmt.Println()
	// Output: 0:y 1:y 0:z 1:z 0:{ 1:{
}

// alphabet returns a file with a decoder. Its likeliest token is the one after the last.
func alphabet() []byte {
	b := graph.NewBuilder("alphabet")
	open := graph.Dims{graph.Symbol("batch"), graph.Symbol("sequence")}
	ids := b.Input("input_ids", graph.TensorOf(tensor.I64, open))
	table := tensor.New(tensor.F32, words, words)
	for i := range words {
		tensor.View[float32](table)[i*words+(i+1)%words] = 1
	}
	x := b.Op("Gather", []string{b.Weight(&graph.Initializer{Name: "next", Tensor: table}), ids})
	b.Output(x, "logits", graph.TensorOf(tensor.F32, append(open, graph.Known(words))))
	var file bytes.Buffer
	check(onnx.Write(&file, b.Model(&graph.Model{Producer: "example", IR: 10})))
	return file.Bytes()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

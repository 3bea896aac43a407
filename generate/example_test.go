package generate_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math"
	"slices"
	"strings"

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

// A chat goes on with the next message. Only its tokens are computed.
func ExampleSequence_Append() {
	model, err := nacre.Decode("alphabet.onnx", alphabet())
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	check(err)
	defer session.Close()
	ctx := context.Background()
	generator, err := generate.New(ctx, session, generate.Options{Tokenizer: bytewise{}})
	check(err)
	chat, err := generator.Start(ctx, []int32("abc"), generate.Sampling{MaxTokens: 7, Stop: []string{"h"}})
	check(err)
	defer chat.Close()
	for _, message := range []string{"", "uvw"} {
		check(chat.Append(ctx, []int32(message)))
		for piece, err := range chat.Text(ctx) {
			check(err)
			if fmt.Print(piece.Text); piece.Reason != generate.NotEnded {
				fmt.Printf(" (%v)\n", piece.Reason)
			}
		}
	}
	// Output:
	// defg (stop text)
	// xyz{|}~ (max tokens)
}

// A function constrains texts to the numbers of a list, digit by digit.
func ExampleSampling_adjust() {
	model, err := nacre.Decode("alphabet.onnx", alphabet())
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	check(err)
	defer session.Close()
	const end = 0 // of a text
	numbers := []string{"17", "305", "42"}
	adjust := func(_, generated []int32, logits []float32) error {
		for id := range logits {
			text := string(append(generated[:len(generated):len(generated)], int32(id)))
			allowed := func(number string) bool { return strings.HasPrefix(number+string(rune(end)), text) }
			if !slices.ContainsFunc(numbers, allowed) {
				logits[id] = float32(math.Inf(-1))
			}
		}
		return nil
	}
	generator, err := generate.New(context.Background(), session,
		generate.Options{Tokenizer: bytewise{}, StopIDs: []int32{end}})
	check(err)
	sampling := generate.Sampling{MaxTokens: 4, Adjust: adjust}
	for piece, err := range generator.Text(context.Background(), "23", sampling) {
		check(err)
		fmt.Print(piece.Text)
	}
	fmt.Println()
	// Output: 42
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

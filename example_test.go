package nacre_test

import (
	"context"
	"fmt"
	"log"

	"github.com/nacre-ml/nacre"
)

// A model file becomes answers: here the digit in a picture of 8x8 counts of ink.
func Example() {
	model, err := nacre.Open("cmd/nacre/demo/digits.onnx")
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	check(err)
	defer session.Close()
	image, err := nacre.NewTensor(seven, 1, 1, 8, 8)
	check(err)
	outputs, err := session.Run(context.Background(), map[string]*nacre.Tensor{"image": image})
	check(err)
	p, err := nacre.Data[float32](outputs["probabilities"])
	check(err)
	fmt.Printf("a seven, with probability %.2f\n", p[7])
	// Output: a seven, with probability 0.99
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

var seven = []float32{
	0, 0, 6, 12, 12, 12, 9, 0,
	0, 1, 14, 14, 12, 15, 16, 0,
	0, 0, 1, 0, 0, 10, 11, 0,
	0, 0, 0, 0, 4, 16, 4, 0,
	0, 0, 0, 0, 12, 11, 0, 0,
	0, 0, 0, 4, 16, 3, 0, 0,
	0, 0, 0, 11, 11, 0, 0, 0,
	0, 0, 6, 15, 2, 0, 0, 0,
}

// Command static is one file with a model inside: a program for a container that holds nothing else,
// or for another system.
//
//	CGO_ENABLED=1 go build -tags netgo,osusergo -ldflags '-linkmode external -extldflags "-static"' ./examples/static
//	GOOS=windows GOARCH=arm64 CGO_ENABLED=0 go build ./examples/static
//	CGO_ENABLED=1 GOARCH=arm64 CC='zig cc -target aarch64-linux-musl' go build ./examples/static
//
// The second line builds for any system that Go builds for, without a C compiler: kernels are then a
// module of WebAssembly, which the import of bindings/wazero runs. It is the slow way. The third
// compiles the kernels for another processor, by zig.
//
//	static < picture.png
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/nacre-ml/nacre"
	_ "github.com/nacre-ml/nacre/bindings/wazero" // kernels of programs without cgo
	"github.com/nacre-ml/nacre/cmd/nacre/demo"    // a network within the program, by go:embed
)

func main() {
	log.SetFlags(0)
	digit, probability, err := read(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d, with probability %.2f\n", digit, probability)
}

// read returns the digit in a picture, a PNG or JPEG file.
func read(r io.Reader) (digit int, probability float32, err error) {
	picture, err := demo.Decode("standard input", io.LimitReader(r, 16<<20))
	if err != nil {
		return 0, 0, err
	}
	model, err := nacre.Decode("digits.onnx", demo.Model)
	if err != nil {
		return 0, 0, err
	}
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	if err != nil {
		return 0, 0, err
	}
	defer session.Close()
	counts, err := demo.Counts(picture.Grey)
	if err != nil {
		return 0, 0, err
	}
	x, err := nacre.NewTensor(counts, 1, 1, demo.Side, demo.Side)
	if err != nil {
		return 0, 0, err
	}
	outputs, err := session.Run(context.Background(), map[string]*nacre.Tensor{"image": x})
	if err != nil {
		return 0, 0, err
	}
	scores, err := nacre.Data[float32](outputs["probabilities"])
	if err != nil {
		return 0, 0, err
	}
	for i, p := range scores {
		if p > probability {
			digit, probability = i, p
		}
	}
	return digit, probability, nil
}

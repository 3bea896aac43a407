// Command hello runs a model on zeros, with open extents of 1, and prints the beginning of each result. It
// prints these extents, too: a model of sound may need more, such as 512 samples.
//
//	hello model.onnx
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/nacre-ml/nacre"
)

func main() {
	model, err := nacre.Open(os.Args[1])
	check(err)
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	check(err)
	defer session.Close()
	sizes := map[string]int{}
	for _, in := range session.Inputs() {
		fmt.Println("input ", in)
		for i, d := range in.Shape {
			if d.Symbol != "" {
				sizes[d.Symbol] = 1 // models of sound may need more
			} else if d.Open() {
				sizes[fmt.Sprintf("%s[%d]", in.Name, i)] = 1
			}
		}
	}
	inputs, err := session.ZeroInputs(sizes)
	check(err)
	fmt.Println("zeros with extents", sizes)
	outputs, err := session.Run(context.Background(), inputs)
	check(err)
	for name, t := range outputs {
		fmt.Println("output", name, t)
		if t.Len() > 0 {
			fmt.Println("begins with", t.Text(0))
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

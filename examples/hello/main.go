// Command hello runs a model on inputs of zeros and prints the first ten numbers of each
// result.
//
//	hello model.onnx [NAME=N...]
//
// NAME=N gives an extent that the model leaves open, such as batch=1.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 {
		log.Fatal("usage: hello model.onnx [NAME=N...]")
	}
	if err := run(os.Stdout, os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer, file string, extents []string) error {
	sizes := map[string]int{}
	for _, extent := range extents {
		name, number, _ := strings.Cut(extent, "=")
		n, err := strconv.Atoi(number)
		if err != nil {
			return fmt.Errorf("%s: not of the form NAME=N", extent)
		}
		sizes[name] = n
	}
	model, err := nacre.Open(file)
	if err != nil {
		return err
	}
	defer model.Close()
	session, err := model.NewSession(nacre.Options{})
	if err != nil {
		return err
	}
	defer session.Close()
	inputs, err := session.ZeroInputs(sizes)
	if err != nil {
		return err
	}
	outputs, err := session.Run(context.Background(), inputs)
	if err != nil {
		return err
	}
	for _, out := range session.Outputs() {
		t := outputs[out.Name]
		fmt.Fprint(w, out.Name, " ", t, ":")
		for i := range min(t.Len(), 10) {
			fmt.Fprint(w, " ", t.Text(i))
		}
		fmt.Fprintln(w)
	}
	return nil
}

// Command search prints the lines of a file that mean most nearly what a query means.
//
//	search all-MiniLM-L6-v2/ notes.txt "how do I reset it?"
//
// The folder has an encoder as sentence-transformers publishes it: the network as ONNX or as
// safetensors, with its tokenizer.
package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"slices"

	"github.com/nacre-ml/nacre/text"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: search MODEL FILE QUERY")
	}
	lines, err := readLines(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	if err := search(context.Background(), os.Stdout, os.Args[1], lines, os.Args[3]); err != nil {
		log.Fatal(err)
	}
}

// nearest is the number of lines that are printed.
const nearest = 5

func readLines(path string) (lines []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if s.Text() != "" {
			lines = append(lines, s.Text())
		}
	}
	return lines, s.Err()
}

type hit struct {
	line string
	near float64 // cosine of the angle between the vectors
}

func search(ctx context.Context, w io.Writer, folder string, lines []string, query string) error {
	e, err := text.OpenEmbedder(folder, text.Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	vectors, err := e.Embed(ctx, append([]string{query}, lines...)...)
	if err != nil {
		return err
	}
	hits := make([]hit, len(lines))
	for i, line := range lines {
		hits[i] = hit{line, cosine(vectors[0], vectors[i+1])}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.near, a.near) })
	for _, h := range hits[:min(nearest, len(hits))] {
		fmt.Fprintf(w, "%.3f  %s\n", h.near, h.line)
	}
	return nil
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / max(math.Sqrt(aa*bb), math.SmallestNonzeroFloat64)
}

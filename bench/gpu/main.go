// Gpu measures memory, multiply-adds and products of a Vulkan device, and the tokens of a decoder
// with weights of 4 bits on it, each beside its ceiling.
//
//	go run ./bench/gpu                        # the first GPU
//	go run ./bench/gpu -device H200 -out bench/results
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/bench/side"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/generate"
	"github.com/nacre-ml/nacre/internal/topologies"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// decoders have about a billion weights, or few for a device in software.
var decoders = map[bool]topologies.LlamaSize{
	false: {Layers: 22, Width: 2048, Heads: 32, KVHeads: 4, Hidden: 5632, Words: 32000, FourBits: true},
	true:  {Layers: 2, Width: 256, Heads: 4, KVHeads: 2, Hidden: 512, Words: 1024, FourBits: true},
}

// row is a rate beside its ceiling.
type row struct {
	what          string
	rate, ceiling float64 // in units; no ceiling if it is 0
	unit          string
	of            string
	goal          float64 // the part of the ceiling to reach; 0 for none
}

func main() {
	which := flag.String("device", "", "`number` or part of the name; empty for the first GPU")
	out := flag.String("out", "", "`folder` for the table; none if empty")
	flag.Parse()
	if err := run(*which, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}

func run(which, out string) error {
	d, err := vulkan.Open(which, vulkan.Options{})
	if err != nil {
		return err
	}
	defer d.Close()
	rows, err := measure(d)
	if err != nil {
		return err
	}
	date, commit := time.Now().Format(time.DateOnly), report.Commit()
	title := fmt.Sprintf("%s, commit %s, %s, driver %s", date, commit, d.Info().Name, d.Info().Driver)
	text := table(title, rows)
	if _, err := os.Stdout.WriteString(text); err != nil || out == "" {
		return err
	}
	return report.WriteFile(filepath.Join(out, fmt.Sprintf("%s-%s-vulkan.txt", date, commit)), []byte(text))
}

// measure probes the device and then runs a decoder on it.
func measure(d *vulkan.Device) ([]row, error) {
	const giga = 1e9
	p, err := d.Probe()
	if err != nil {
		return nil, err
	}
	memory := p.CopyBytes / giga
	list := []row{
		{what: "copy", rate: memory, unit: "GB/s"},
		{what: "multiply-adds of float32", rate: 2 * p.Multiplies / giga, unit: "GFLOP/s"},
		{fmt.Sprintf("gemv of float32, %d", p.GEMVSide), p.GEMVBytes / giga, memory, "GB/s", "copy", 0.7},
		{fmt.Sprintf("gemm of float32, %d", p.GEMMSide), 2 * p.GEMM / giga, 2 * p.Multiplies / giga, "GFLOP/s", "multiply-adds", 0.6},
	}
	for _, m := range p.Matrices {
		list = append(list, row{what: "matrices of " + m.Matrix, rate: 2 * m.Multiplies / giga, unit: "GFLOP/s"},
			row{fmt.Sprintf("gemm by %s, %d", m.Shader, p.GEMMSide), 2 * m.GEMM / giga, 2 * m.Multiplies / giga, "GFLOP/s", "these matrices", 0.4})
	}
	seconds, bytes, err := decode(d)
	if err != nil {
		return nil, err
	}
	return append(list,
		row{what: "tokens of 4-bit weights", rate: 1 / seconds, unit: "1/s"},
		row{"weights read for these", float64(bytes) / seconds / giga, memory, "GB/s", "copy", 0.6}), nil
}

// decode returns the median seconds of a token after a few others, and the bytes of the weights
// that it reads.
func decode(d *vulkan.Device) (seconds float64, bytes int, err error) {
	size := decoders[d.Info().Type == "cpu"]
	built := topologies.Llama(size)
	for _, w := range built.Graph.Initializers {
		bytes += len(w.Tensor.Bytes())
	}
	bytes -= 4 * size.Words * size.Width // of the table of words: a token reads one row of it
	folder, err := os.MkdirTemp("", "nacre-gpu")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "decoder.onnx")
	if err := formats.Save(path, built, formats.Options{}); err != nil {
		return 0, 0, err
	}
	m, err := nacre.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer m.Close()
	s, err := m.NewSession(nacre.Options{Device: d})
	if err != nil {
		return 0, 0, err
	}
	defer s.Close()
	times, err := tokens(s)
	if err != nil {
		return 0, 0, err
	}
	return times[len(times)/2].Seconds(), bytes, nil
}

// tokens returns the time of each token after a prompt and a few others, in ascending order.
func tokens(s *nacre.Session) ([]time.Duration, error) {
	const prompt, before, timed = 16, 8, 32
	g, err := generate.New(context.Background(), s, generate.Options{})
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	q, err := g.Start(ctx, side.Ascending(prompt), generate.Sampling{MaxTokens: before + timed})
	if err != nil {
		return nil, err
	}
	defer q.Close()
	var times []time.Duration
	for i := range before + timed {
		start := time.Now()
		if _, ok, err := q.Next(ctx); err != nil || !ok {
			return nil, errors.Join(fmt.Errorf("token %d is missing: %v", i, q.Reason()), err)
		}
		if i >= before {
			times = append(times, time.Since(start))
		}
	}
	slices.Sort(times)
	return times, nil
}

// table returns the rows below a title.
func table(title string, rows []row) string {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "%s\n\nwhat\trate\t\tof the ceiling\tgoal\n", title)
	for _, r := range rows {
		share, goal := "", ""
		if r.ceiling > 0 {
			share = fmt.Sprintf("%.0f%% of %s", 100*r.rate/r.ceiling, r.of)
			if goal = fmt.Sprintf("%.0f%%", 100*r.goal); r.rate < r.goal*r.ceiling {
				goal = "below " + goal
			}
		}
		fmt.Fprintf(tw, "%s\t%.4g\t%s\t%s\t%s\n", r.what, r.rate, r.unit, share, goal)
	}
	tw.Flush()
	return b.String()
}

// Gpu measures a Vulkan device: its ceilings, kernels and products beside them, networks, and the
// tokens of a decoder with weights of 4 bits, with the host's time for each. It keeps the device at
// work before measurements, and says its clock. It prints lines as it measures; what fails has the
// error in place of a rate, and the exit status is 1.
//
//	go run ./bench/gpu                        # the first GPU
//	go run ./bench/gpu -device H200 -out bench/results
//	go run ./bench/gpu -device 0 -quick       # small sizes, as for a device in software
//
// With -gguf it measures a GGUF model, too, with -llama beside llama.cpp's Vulkan back end: the
// folder that scripts/llama.sh makes. It needs python3, and no network.
//
//	go run ./bench/gpu -gguf model.gguf -llama "$(scripts/llama.sh vulkan)"
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/runtime/vulkan"
)

// row is a rate beside its ceiling.
type row struct {
	what          string
	rate, ceiling float64 // in units; no ceiling if it is 0
	unit          string
	of            string
	goal          float64 // the part of the ceiling to reach; 0 for none
	err           error   // in place of a rate
}

func main() {
	which := flag.String("device", "", "`number` or part of the name; empty for the first GPU")
	out := flag.String("out", "", "`folder` for the table; none if empty")
	var o options
	flag.BoolVar(&o.quick, "quick", false, "small sizes and few runs")
	flag.StringVar(&o.gguf, "gguf", "", "GGUF `file` to measure, too")
	flag.StringVar(&o.llama, "llama", "", "`folder` with the libraries of llama.cpp to measure beside it")
	flag.Parse()
	if err := run(*which, *out, o); err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}

// options choose what is measured.
type options struct {
	quick       bool
	gguf, llama string
}

func run(which, out string, o options) error {
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return err
		}
	}
	b, err := open(which, o)
	if err != nil {
		return err
	}
	defer b.close()
	rows := b.measure(func(r row) { fmt.Fprintln(os.Stderr, r.line()) })
	date, commit := time.Now().Format(time.DateOnly), report.Commit()
	title := fmt.Sprintf("%s, commit %s, %s, driver %s", date, commit, b.device.Info().Name, b.device.Info().Driver)
	text := table(title, rows)
	if _, err := os.Stdout.WriteString(text); err != nil {
		return err
	}
	if out != "" {
		path := filepath.Join(out, fmt.Sprintf("%s-%s-vulkan.txt", date, commit))
		if err := report.WriteFile(path, []byte(text)); err != nil {
			return err
		}
	}
	var failed []error
	for _, r := range rows {
		if r.err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", r.what, r.err))
		}
	}
	return errors.Join(failed...)
}

// bench is an open device with its ceilings.
type bench struct {
	device *vulkan.Device // as sessions open it
	whole  *vulkan.Device // the same; it computes every node that it can
	options
	warm   time.Duration // of work before measurements
	runs   int
	memory float64 // bytes per second
	sums   float64 // multiply-adds of float32 per second
}

// open opens a device. A device in software gets the quick measurements.
func open(which string, o options) (*bench, error) {
	b := &bench{options: o, warm: time.Second, runs: 20}
	var err error
	if b.device, err = vulkan.Open(which, vulkan.Options{Statistics: true}); err != nil {
		return nil, err
	}
	if b.whole, err = vulkan.Open(which, vulkan.Options{Everything: true}); err != nil {
		b.device.Close()
		return nil, err
	}
	if o.quick || b.device.Info().Type == "cpu" {
		b.quick, b.warm, b.runs = true, 10*time.Millisecond, 2
	}
	return b, nil
}

func (b *bench) close() {
	b.whole.Close()
	b.device.Close()
}

// measurement returns some rows.
type measurement struct {
	what string
	rows func() ([]row, error)
}

// measure returns the rows of all measurements, and calls each for them one after another.
func (b *bench) measure(each func(r row)) (list []row) {
	all := []measurement{{"ceilings", b.probe}}
	all = append(all, b.kernels()...)
	all = append(all, b.networks()...)
	all = append(all, measurement{"tokens of 4-bit weights", b.decoder})
	if b.gguf != "" {
		all = append(all, measurement{filepath.Base(b.gguf), b.ggufModel})
	}
	for _, m := range all {
		rows, err := m.rows()
		if err != nil {
			rows = append(rows, row{what: m.what, err: err})
		}
		for _, r := range rows {
			each(r)
		}
		list = append(list, rows...)
	}
	return list
}

// probe returns the ceilings, products beside them, and the clock.
func (b *bench) probe() ([]row, error) {
	const giga, mega = 1e9, 1e6
	if err := b.device.Warm(b.warm); err != nil {
		return nil, err
	}
	p, err := b.device.Probe()
	if err != nil {
		return nil, err
	}
	b.memory, b.sums = p.CopyBytes, p.Multiplies
	memory := p.CopyBytes / giga
	list := []row{
		{what: "copy", rate: memory, unit: "GB/s"},
		{what: "multiply-adds of float32", rate: 2 * p.Multiplies / giga, unit: "GFLOP/s"},
		{fmt.Sprintf("gemv of float32, %d", p.GEMVSide), p.GEMVBytes / giga, memory, "GB/s", "copy", 0.8, nil},
		{fmt.Sprintf("gemm of float32, %d", p.GEMMSide), 2 * p.GEMM / giga, 2 * p.Multiplies / giga, "GFLOP/s",
			"multiply-adds", 0.67, nil},
	}
	if p.Clock > 0 {
		list = append([]row{{what: "clock of shaders", rate: p.Clock / mega, unit: "MHz"}}, list...)
	}
	for _, m := range p.Matrices {
		goal := 0.5
		if strings.HasPrefix(m.Matrix, "i8") {
			goal = 0.4
		}
		list = append(list, row{what: "matrices of " + m.Matrix, rate: 2 * m.Multiplies / giga, unit: "GFLOP/s"},
			row{fmt.Sprintf("gemm by %s, %d", m.Shader, p.GEMMSide), 2 * m.GEMM / giga, 2 * m.Multiplies / giga, "GFLOP/s",
				"these matrices", goal, nil})
	}
	for _, s := range p.Shaders {
		if s.LocalBytes > 0 {
			list = append(list, row{what: "local memory of " + s.Shader, rate: float64(s.LocalBytes), unit: "bytes"})
		}
	}
	return list, nil
}

// cells returns the columns of a row.
func (r *row) cells() (rate, unit, share, goal string) {
	if r.err != nil {
		return r.err.Error(), "", "", ""
	}
	if r.ceiling > 0 {
		share = fmt.Sprintf("%.0f%% of %s", 100*r.rate/r.ceiling, r.of)
	}
	if r.ceiling > 0 && r.goal > 0 {
		if goal = fmt.Sprintf("%.0f%%", 100*r.goal); r.rate < r.goal*r.ceiling {
			goal = "below " + goal
		}
	}
	return fmt.Sprintf("%.4g", r.rate), r.unit, share, goal
}

// line returns the row as one line.
func (r *row) line() string {
	rate, unit, share, goal := r.cells()
	all := []string{r.what + ":", rate, unit, share, goal}
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}

// table returns the rows below a title.
func table(title string, rows []row) string {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "%s\n\nwhat\trate\t\tof the ceiling\tgoal\n", title)
	for _, r := range rows {
		rate, unit, share, goal := r.cells()
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\n", r.what, rate, unit, share, goal)
	}
	tw.Flush()
	return b.String()
}

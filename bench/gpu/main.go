// Gpu measures a Vulkan device: its ceilings, kernels and products beside them, networks, and the
// tokens of a decoder with weights of 4 bits, with the host's time for each. It keeps the device at
// work before measurements, and says its clock.
//
//	go run ./bench/gpu                        # the first GPU
//	go run ./bench/gpu -device H200 -out bench/results
//	go run ./bench/gpu -device 0 -quick       # small sizes, as for a device in software
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
}

func main() {
	which := flag.String("device", "", "`number` or part of the name; empty for the first GPU")
	out := flag.String("out", "", "`folder` for the table; none if empty")
	quick := flag.Bool("quick", false, "small sizes and few runs")
	flag.Parse()
	if err := run(*which, *out, *quick); err != nil {
		fmt.Fprintln(os.Stderr, "gpu:", err)
		os.Exit(1)
	}
}

func run(which, out string, quick bool) error {
	b, err := open(which, quick)
	if err != nil {
		return err
	}
	defer b.close()
	rows, err := b.measure()
	if err != nil {
		return err
	}
	date, commit := time.Now().Format(time.DateOnly), report.Commit()
	title := fmt.Sprintf("%s, commit %s, %s, driver %s", date, commit, b.device.Info().Name, b.device.Info().Driver)
	text := table(title, rows)
	if _, err := os.Stdout.WriteString(text); err != nil || out == "" {
		return err
	}
	return report.WriteFile(filepath.Join(out, fmt.Sprintf("%s-%s-vulkan.txt", date, commit)), []byte(text))
}

// bench is an open device with its ceilings.
type bench struct {
	device *vulkan.Device // as sessions open it
	whole  *vulkan.Device // the same; it computes every node that it can
	quick  bool
	warm   time.Duration // of work before measurements
	runs   int
	memory float64 // bytes per second
	sums   float64 // multiply-adds of float32 per second
}

// open opens a device. A device in software gets the quick measurements.
func open(which string, quick bool) (*bench, error) {
	b := &bench{quick: quick, warm: time.Second, runs: 20}
	var err error
	if b.device, err = vulkan.Open(which, vulkan.Options{Statistics: true}); err != nil {
		return nil, err
	}
	if b.whole, err = vulkan.Open(which, vulkan.Options{Everything: true}); err != nil {
		b.device.Close()
		return nil, err
	}
	if quick || b.device.Info().Type == "cpu" {
		b.quick, b.warm, b.runs = true, 10*time.Millisecond, 2
	}
	return b, nil
}

func (b *bench) close() {
	b.whole.Close()
	b.device.Close()
}

// measure returns the rows of all measurements.
func (b *bench) measure() ([]row, error) {
	list, err := b.probe()
	if err != nil {
		return nil, err
	}
	for _, part := range []func() ([]row, error){b.kernels, b.networks, b.decoder} {
		rows, err := part()
		if err != nil {
			return nil, err
		}
		list = append(list, rows...)
	}
	return list, nil
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
		{fmt.Sprintf("gemv of float32, %d", p.GEMVSide), p.GEMVBytes / giga, memory, "GB/s", "copy", 0.8},
		{fmt.Sprintf("gemm of float32, %d", p.GEMMSide), 2 * p.GEMM / giga, 2 * p.Multiplies / giga, "GFLOP/s",
			"multiply-adds", 0.67},
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
				"these matrices", goal})
	}
	for _, s := range p.Shaders {
		if s.LocalBytes > 0 {
			list = append(list, row{what: "local memory of " + s.Shader, rate: float64(s.LocalBytes), unit: "bytes"})
		}
	}
	return list, nil
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
		}
		if r.ceiling > 0 && r.goal > 0 {
			if goal = fmt.Sprintf("%.0f%%", 100*r.goal); r.rate < r.goal*r.ceiling {
				goal = "below " + goal
			}
		}
		fmt.Fprintf(tw, "%s\t%.4g\t%s\t%s\t%s\n", r.what, r.rate, r.unit, share, goal)
	}
	tw.Flush()
	return b.String()
}

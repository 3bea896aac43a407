package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/nacre-ml/nacre/bench/report"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// comparison is a run of the program.
type comparison struct {
	options
	folder   string // of models
	sides    []peer // Nacre first
	ceilings *ceilings
	results  report.Results
}

func newComparison(o options) (*comparison, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &comparison{options: o}
	c.results = report.Results{
		Date: time.Now().Format(time.DateOnly), CPU: cpuName(), Cores: runtime.NumCPU(), Commit: report.Commit(),
		Rounds: o.Rounds,
	}
	c.results.Load[0] = load()
	if o.node != "" {
		c.sides, c.results.Peers, err = nodePeers(o.node)
	} else {
		c.sides, c.results.Peers, c.results.Missing = peers(o)
		c.sides = append([]peer{nacrePeer(program)}, c.sides...)
	}
	if err != nil {
		return nil, err
	}
	for _, m := range c.results.Missing {
		fmt.Fprintln(os.Stderr, "left out:", m)
	}
	if c.ceilings, err = newCeilings(o.threads); err != nil {
		return nil, err
	}
	if c.folder, err = os.MkdirTemp("", "nacre-versus-"); err != nil {
		c.ceilings.free()
	}
	return c, err
}

func (c *comparison) close() {
	c.ceilings.free()
	os.RemoveAll(c.folder)
}

// finished returns the results.
func (c *comparison) finished() *report.Results {
	c.results.Ceilings = c.ceilings.list
	c.results.Load[1] = load()
	return &c.results
}

// compare times the rows until the context ends and returns how many of them failed.
func (c *comparison) compare(ctx context.Context, rows []row) (failed int) {
	for i := range rows {
		if ctx.Err() != nil {
			fmt.Fprintf(os.Stderr, "stopped after %d of %d rows\n", i, len(rows))
			break
		}
		r := &rows[i]
		for _, found := range c.model(r) {
			if found.Error != "" {
				failed++
			}
			fmt.Fprintf(os.Stderr, "%d/%d %s, %d threads: %s\n", i+1, len(rows), r.name, found.Threads, progress(&found))
			c.results.Rows = append(c.results.Rows, found)
		}
	}
	return failed
}

// progress describes the result of a row.
func progress(r *report.Row) string {
	if r.Error != "" {
		return r.Error
	}
	text := fmt.Sprintf("%.4g ms", 1e3*r.Sides[0].Best)
	if r.Best() > 0 {
		text += fmt.Sprintf(", ratio %.2f best, %.2f median", r.Best(), r.Median())
	}
	if r.Missed() {
		text += fmt.Sprintf(", below %.2f", r.Goal)
	}
	return text
}

// model makes the model of a row and times it with every number of threads.
func (c *comparison) model(r *row) []report.Row {
	path := filepath.Join(c.folder, "model.onnx")
	defer os.Remove(path)
	shared := report.Row{Group: r.group, Name: r.name}
	if r.product != nil {
		shared.Wide, shared.Int8 = r.product.left == tensor.F64, r.product.left == tensor.U8
	}
	m := r.build()
	err := formats.Save(path, m, formats.Options{})
	if err == nil {
		shared.Operations, shared.Bytes, err = work(m, path, r.extents())
	}
	if err == nil {
		err = c.ceilings.probe()
	}
	var list []report.Row
	for _, threads := range c.threads {
		found := shared
		found.Threads, found.Goal = threads, c.goal(r, threads)
		if threads > 1 {
			found.ScaleGoal = r.scale
		}
		err := err
		if err == nil {
			err = c.time(r, path, &found)
		}
		if err != nil {
			found.Error, found.Sides = strings.TrimSpace(err.Error()), nil
		}
		list = append(list, found)
	}
	return list
}

// goal returns the ratio to reach with a number of threads; 0 for none.
func (c *comparison) goal(r *row, threads int) float64 {
	if c.node != "" {
		return nodeGoal(r)
	}
	return r.goals[min(threads, len(r.goals))-1]
}

// extents returns the sizes of open extents.
func (r *row) extents() map[string]int {
	list := map[string]int{}
	for _, s := range r.sizes {
		name, text, _ := strings.Cut(s, "=")
		list[name], _ = strconv.Atoi(text)
	}
	return list
}

// time fills in a row of the results.
func (c *comparison) time(r *row, path string, found *report.Row) error {
	var sides []*started
	for _, p := range c.sides {
		if !p.takes(r) {
			continue
		}
		s, err := p.start(r, path, found.Threads)
		if err != nil {
			return err
		}
		defer s.Close()
		sides = append(sides, s)
	}
	var err error
	if found.Sides, err = measure(sides, c.Bounds); err != nil {
		return err
	}
	if r.product == nil {
		if err := memory(sides, found.Sides); err != nil {
			return err
		}
	}
	if found.Missed() {
		found.Costly, err = costly(sides[0])
	}
	return err
}

// cpuName returns the name of the CPU, or of its architecture.
func cpuName() string {
	data, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// load returns how many processes wanted to run in the last minute; 0 if the system does not tell.
func load() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(data), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return v
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/invent"
	"github.com/nacre-ml/nacre/internal/printable"
)

// benchFlags are the flags of nacre bench.
type benchFlags struct {
	session sessionFlags
	input   inputFlags
	dims    dimFlags
	count   int
	warmup  int
	json    bool
	kernels bool
	node    string
}

func benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench MODEL",
		Short: "Measure how long a model takes",
		Long: `Measure how long a model takes: it is run a few times to warm up and then
measured. Inputs that no --input names are random: floats from a normal
distribution, integers and booleans 0 or 1. Axes that the model leaves open have
extent 1 unless --dim says otherwise.

With --kernels it is not run. Of every step that a device computes, all ways in which
it can be computed are timed in turns, --count times each, on random inputs.`,
		Example: `nacre bench model.onnx --dim batch=8 --count 100
nacre bench model.onnx --kernels --node conv1`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.dims.add(flags)
	flags.IntVar(&f.count, "count", 20, "runs that are measured")
	flags.IntVar(&f.warmup, "warmup", 3, "runs before the measured ones")
	flags.BoolVar(&f.kernels, "kernels", false, "time all kernels that fit every step, and mark the chosen ones (*)")
	flags.StringVar(&f.node, "node", "", "`NAME` of the node to time kernels for")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	f.input.add(flags)
	f.session.add(flags)
	f.input.image.memory = &f.session.memory
	return cmd
}

// timing is the result of a benchmark.
type timing struct {
	Model    string     `json:"model"`
	Threads  int        `json:"threads"`
	Count    int        `json:"count"`
	MinMS    float64    `json:"min_ms"`
	MedianMS float64    `json:"median_ms"`
	P90MS    float64    `json:"p90_ms"`
	GFLOP    float64    `json:"gflop"` // in convolutions, products and recurrent layers of one run
	GFLOPS   float64    `json:"gflops"`
	Inputs   []string   `json:"inputs"`
	Ops      []opTiming `json:"operators"`
}

type opTiming struct {
	Op    string  `json:"op"`
	Steps int     `json:"steps"`
	MS    float64 `json:"ms"`
	Share float64 `json:"share"`
}

func (f *benchFlags) run(ctx context.Context, path string, stdout io.Writer) (err error) {
	if f.node != "" && !f.kernels {
		return usagef("--node is for --kernels")
	}
	if f.count < 1 || f.warmup < 0 {
		return usagef("--count must be 1 or more and --warmup not negative")
	}
	o, err := f.session.options()
	if err != nil {
		return err
	}
	m, s, err := session(ctx, path, o)
	if err != nil {
		return err
	}
	defer func() { err = join(err, s, m) }()
	e, err := f.dims.extents(s.Inputs())
	if err != nil {
		return err
	}
	inputs, err := f.inputs(ctx, s, e)
	if err != nil {
		return err
	}
	if f.kernels {
		return f.kernelTimes(ctx, m, o, inputs, stdout)
	}
	t, err := f.measure(ctx, s, inputs)
	if err != nil {
		return err
	}
	t.Model = path
	for _, v := range s.Inputs() {
		t.Inputs = append(t.Inputs, fmt.Sprintf("%s %v", v.Name, inputs[v.Name]))
	}
	if f.json {
		return writeJSON(stdout, t)
	}
	t.text(stdout)
	return nil
}

// inputs returns the inputs of a run: tensors from files, random ones for the rest.
func (f *benchFlags) inputs(ctx context.Context, s *nacre.Session, e *invent.Extents) (map[string]*nacre.Tensor, error) {
	inputs, err := f.input.load(ctx, s)
	var missing missingError
	if err != nil && !errors.As(err, &missing) {
		return nil, err
	}
	for name, t := range inputs {
		if err := e.Take(find(accepted(s), name), t.Shape()); err != nil {
			return nil, err
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, v := range s.Inputs() {
		if inputs[v.Name] != nil {
			continue
		}
		t, err := invent.Random(ctx, r, v, e)
		if err != nil {
			return nil, fmt.Errorf("input %q: %w; give one with --input", v.Name, err)
		}
		inputs[v.Name] = t
	}
	return inputs, nil
}

// measure times count whole runs, then profiles one more for the time of every step.
func (f *benchFlags) measure(ctx context.Context, s *nacre.Session, inputs map[string]*nacre.Tensor) (*timing, error) {
	for range f.warmup {
		if _, err := s.Run(ctx, inputs); err != nil {
			return nil, err
		}
	}
	var times []float64
	for range f.count {
		start := time.Now()
		out, err := s.Run(ctx, inputs)
		if err != nil {
			return nil, err
		}
		times = append(times, milliseconds(time.Since(start)))
		for _, t := range out {
			t.Release()
		}
	}
	_, prof, err := s.Profile(ctx, asValues(inputs))
	if err != nil {
		return nil, err
	}
	pl, err := s.Plan(ctx, inputs)
	if err != nil {
		return nil, err
	}
	slices.Sort(times)
	t := &timing{
		Threads: f.session.count(), Count: f.count,
		MinMS: times[0], MedianMS: times[len(times)/2], P90MS: times[(len(times)-1)*9/10],
		GFLOP: work(pl) / 1e9,
	}
	t.GFLOPS = t.GFLOP / (t.MedianMS / 1e3)
	for _, o := range prof.Operators() {
		t.Ops = append(t.Ops, opTiming{o.Op, o.Steps, milliseconds(o.Time), o.Share})
	}
	return t, nil
}

// work returns the multiplications and additions of a plan's convolutions, products and recurrent
// layers. It leaves out steps with extents that are not known.
func work(pl *nacre.Plan) (total float64) {
	for _, s := range pl.Steps() {
		total += s.Work
	}
	return total
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (t *timing) text(w io.Writer) {
	printable.Fprintf(w, "%s, %s, %s\n", t.Model, plural(t.Threads, "thread"), strings.Join(t.Inputs, ", "))
	printable.Fprintf(w, "median %.3f ms  min %.3f ms  p90 %.3f ms  of %s\n", t.MedianMS, t.MinMS, t.P90MS,
		plural(t.Count, "run"))
	if t.GFLOP > 0 {
		printable.Fprintf(w, "%.4g GFLOP in convolutions, products and recurrent layers: %.4g GFLOPS\n", t.GFLOP, t.GFLOPS)
	}
	for _, o := range t.Ops {
		printable.Fprintf(w, "%8.3f ms %5.1f %%  %s (%s)\n", o.MS, 100*o.Share, o.Op, plural(o.Steps, "step"))
	}
}

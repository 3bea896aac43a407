package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
)

// benchFlags are the flags of nacre bench.
type benchFlags struct {
	session  sessionFlags
	input    inputFlags
	dims     dimFlags
	count    int
	duration time.Duration
	warmup   int
	callers  int
	cold     bool
	json     bool
	kernels  bool
	node     string
}

func benchCommand() *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench MODEL",
		Short: "Measure how long a model takes",
		Long: `Measure how long a model takes to open, to run first and to run later. The first run makes the plan and
packs weights; it and the runs of --warmup are left out of the others. Inputs that no --input names are
random: floats from a normal distribution, integers and booleans 0 or 1. Axes that the model leaves open
have extent 1 unless --dim says otherwise.

p50, p90 and p99 are nearest ranks, as PercentileNearestRank of github.com/montanaflynn/stats: the least
measured time that so many of 100 runs do not exceed.

With --callers several runs are under way at a time on one session, and a run's time has its wait for
others. With --cold each run is the first of a model that is opened anew; the system may have the file
in memory. SIGINT and SIGTERM end the measurement, and what is measured so far is printed.

With --kernels it is not run. Of every step that a device computes, all ways in which it can be computed
are timed in turns, --count times each, on random inputs.`,
		Example: `nacre bench model.onnx --dim batch=8 --count 100
nacre bench model.onnx --callers 4 --threads 1 --duration 10s
nacre bench model.onnx --cold --count 5
nacre bench model.onnx --kernels --node conv1`,
		Args: takes(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args[0], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.dims.add(flags)
	flags.IntVar(&f.count, "count", 20, "runs that are measured")
	flags.DurationVar(&f.duration, "duration", 0, "time in which measured runs begin, such as 10s, in place of --count")
	flags.IntVar(&f.warmup, "warmup", 3, "runs before the measured ones, after the first")
	flags.IntVar(&f.callers, "callers", 1, "runs that are under way at a time")
	flags.BoolVar(&f.cold, "cold", false, "open the model anew for each measured run")
	flags.BoolVar(&f.kernels, "kernels", false, "time all kernels that fit every step, and mark the chosen ones (*)")
	flags.StringVar(&f.node, "node", "", "`NAME` of the node to time kernels for")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	f.input.add(flags)
	f.session.add(flags)
	f.input.image.memory = &f.session.memory
	cmd.MarkFlagsMutuallyExclusive("count", "duration")
	cmd.MarkFlagsMutuallyExclusive("callers", "cold")
	for _, name := range []string{"duration", "warmup", "callers", "cold"} {
		cmd.MarkFlagsMutuallyExclusive("kernels", name)
	}
	return cmd
}

// check checks the flags.
func (f *benchFlags) check() error {
	switch {
	case f.node != "" && !f.kernels:
		return usagef("--node is for --kernels")
	case f.count < 1 || f.warmup < 0:
		return usagef("--count must be 1 or more and --warmup not negative")
	case f.duration < 0:
		return usagef("--duration %v: it is negative", f.duration)
	case f.callers < 1:
		return usagef("--callers %d: it takes 1 or more", f.callers)
	}
	return nil
}

func (f *benchFlags) run(ctx context.Context, path string, stdout, stderr io.Writer) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	o, err := f.session.options()
	if err != nil {
		return err
	}
	start := time.Now()
	m, s, err := session(ctx, path, o)
	if err != nil {
		return err
	}
	defer func() { err = join(err, s, m) }()
	t := &timing{Model: path, Threads: f.session.count(), Callers: f.callers, Cold: f.cold,
		OpenMS: milliseconds(time.Since(start))}
	e, err := f.dims.extents(s.Inputs())
	if err != nil {
		return err
	}
	inputs, err := f.input.orRandom(ctx, s, e, f.session.seed)
	if err != nil {
		return err
	}
	if f.kernels {
		return f.kernelTimes(ctx, m, o, inputs, stdout)
	}
	for _, v := range s.Inputs() {
		t.Inputs = append(t.Inputs, fmt.Sprintf("%s %v", v.Name, inputs[v.Name]))
	}
	ctx, release := untilSignal(ctx)
	defer release()
	err = f.measure(ctx, t, s, o, inputs, stderr)
	if t.Count == 0 {
		return err
	}
	t.MostBytes = mostMemory()
	if !f.json {
		t.text(stdout)
		return err
	}
	return errors.Join(writeJSON(stdout, t), err)
}

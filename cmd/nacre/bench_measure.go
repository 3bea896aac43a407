package main

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/montanaflynn/stats"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/sync/errgroup"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/printable"
)

// timing is the result of a benchmark. Times are in milliseconds.
type timing struct {
	Model   string   `json:"model"`
	Threads int      `json:"threads"`
	Callers int      `json:"callers"`
	Cold    bool     `json:"cold"`
	Inputs  []string `json:"inputs"`
	OpenMS  float64  `json:"open_ms"`  // from a path to a session; with --cold the median
	FirstMS float64  `json:"first_ms"` // the first run of a session
	Count   int      `json:"count"`    // measured runs
	Stopped bool     `json:"stopped"`  // before all runs were measured
	// The nearest ranks of measured times.
	MinMS    float64 `json:"min_ms"`
	MedianMS float64 `json:"median_ms"`
	P90MS    float64 `json:"p90_ms"`
	P99MS    float64 `json:"p99_ms"`
	// Rate is the measured runs per second of all callers, with the time to open models if they are cold.
	Rate   float64 `json:"runs_per_second"`
	GFLOP  float64 `json:"gflop"` // in convolutions, products and recurrent layers of one run
	GFLOPS float64 `json:"gflops"`
	// RunBytes is the planned memory of a run beside weights and inputs. MostBytes is the most memory that
	// the process has had, if the system says.
	RunBytes  int        `json:"run_bytes"`
	MostBytes int        `json:"most_bytes,omitempty"`
	Ops       []opTiming `json:"operators"` // of one more run
}

type opTiming struct {
	Op    string  `json:"op"`
	Steps int     `json:"steps"`
	MS    float64 `json:"ms"`
	Share float64 `json:"share"`
}

// measure runs s and sets the times of t. After an error, Count says how many measured runs t has.
func (f *benchFlags) measure(
	ctx context.Context, t *timing, s *nacre.Session, o nacre.Options, inputs map[string]*nacre.Tensor, stderr io.Writer,
) error {
	var err error
	if t.FirstMS, err = timed(ctx, s, inputs); err != nil {
		return endOf(ctx, err)
	}
	pl, err := s.Plan(ctx, inputs)
	if err != nil {
		return endOf(ctx, err)
	}
	t.RunBytes, t.GFLOP = pl.PeakBytes(), work(pl)/1e9
	one := func(ctx context.Context) (float64, error) { return timed(ctx, s, inputs) }
	var opened []float64
	if f.cold {
		one = func(ctx context.Context) (float64, error) {
			open, run, err := coldRun(ctx, t.Model, o, inputs)
			if err == nil {
				opened = append(opened, open)
			}
			return run, err
		}
	} else {
		for range f.warmup {
			if _, err := one(ctx); err != nil {
				return endOf(ctx, err)
			}
		}
	}
	start := time.Now()
	times, err := f.sample(ctx, one, stderr)
	t.Stopped = err != nil
	if err := t.set(times, opened, time.Since(start)); err != nil {
		return err
	}
	if err != nil || f.cold {
		return endOf(ctx, err)
	}
	_, prof, err := s.Profile(ctx, asValues(inputs))
	if err != nil {
		return endOf(ctx, err)
	}
	for _, o := range prof.Operators() {
		t.Ops = append(t.Ops, opTiming{o.Op, o.Steps, milliseconds(o.Time), o.Share})
	}
	return nil
}

// endOf returns why ctx ended, or err if it has not.
func endOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// timed runs s once and returns its time.
func timed(ctx context.Context, s *nacre.Session, inputs map[string]*nacre.Tensor) (float64, error) {
	start := time.Now()
	out, err := s.Run(ctx, inputs)
	took := time.Since(start)
	for _, t := range out {
		t.Release()
	}
	return milliseconds(took), err
}

// coldRun opens a model, runs it once and closes it. It returns the times to open and to run.
func coldRun(
	ctx context.Context, path string, o nacre.Options, inputs map[string]*nacre.Tensor,
) (open, run float64, err error) {
	start := time.Now()
	m, s, err := session(ctx, path, o)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = join(err, s, m) }()
	open = milliseconds(time.Since(start))
	run, err = timed(ctx, s, inputs)
	return open, run, err
}

// sample has the callers call one until --count or --duration is reached, and returns the times of calls
// that succeeded.
func (f *benchFlags) sample(
	ctx context.Context, one func(ctx context.Context) (float64, error), stderr io.Writer,
) ([]float64, error) {
	var mutex sync.Mutex
	var times []float64
	begun, start := 0, time.Now()
	begin := func() bool {
		mutex.Lock()
		defer mutex.Unlock()
		begun++
		if f.duration > 0 {
			return begun == 1 || time.Since(start) < f.duration
		}
		return begun <= f.count
	}
	bar := f.progress(stderr)
	calls, ctx := errgroup.WithContext(ctx)
	for range f.callers {
		calls.Go(func() error {
			for begin() {
				took, err := one(ctx)
				if err != nil {
					return err
				}
				mutex.Lock()
				times = append(times, took)
				done := int64(len(times))
				mutex.Unlock()
				if f.duration > 0 {
					done = time.Since(start).Milliseconds()
				}
				_ = bar.Set64(min(done, bar.GetMax64()))
			}
			return nil
		})
	}
	err := calls.Wait()
	_ = bar.Finish()
	return times, err
}

// progress returns a bar for the measured runs, or for the milliseconds of --duration, visible only on a
// terminal.
func (f *benchFlags) progress(w io.Writer) *progressbar.ProgressBar {
	if f.duration == 0 {
		return newProgress(w, f.count)
	}
	return progressbar.NewOptions64(max(f.duration.Milliseconds(), 1), progressbar.OptionSetWriter(asIs(w)),
		progressbar.OptionSetVisibility(terminal(w)), progressbar.OptionClearOnFinish(),
		progressbar.OptionThrottle(100*time.Millisecond))
}

// set sets the ranks of measured times, the median of opened, and the rate over the time that all took.
func (t *timing) set(times, opened []float64, took time.Duration) error {
	if t.Count = len(times); t.Count == 0 {
		return nil
	}
	for _, x := range []struct {
		to      *float64
		of      []float64
		percent float64
	}{
		{&t.MinMS, times, 0}, {&t.MedianMS, times, 50}, {&t.P90MS, times, 90}, {&t.P99MS, times, 99}, {&t.OpenMS, opened, 50},
	} {
		if len(x.of) == 0 {
			continue
		}
		var err error
		if *x.to, err = stats.PercentileNearestRank(x.of, x.percent); err != nil {
			return err
		}
	}
	t.Rate = float64(t.Count) / took.Seconds()
	t.GFLOPS = t.GFLOP / (t.MedianMS / 1e3)
	return nil
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
	printable.Fprintf(w, "open %.3f ms  first run %.3f ms\n", t.OpenMS, t.FirstMS)
	kind := "later run"
	if t.Cold {
		kind = "first run"
	}
	stopped := ""
	if t.Stopped {
		stopped = ", stopped"
	}
	printable.Fprintf(w, "p50 %.3f ms  p90 %.3f ms  p99 %.3f ms  min %.3f ms  of %s%s\n", t.MedianMS, t.P90MS, t.P99MS, t.MinMS,
		plural(t.Count, kind), stopped)
	printable.Fprintf(w, "%s runs/s by %s\n", humanize.CommafWithDigits(t.Rate, 2), plural(t.Callers, "caller"))
	printable.Fprintf(w, "memory of a run %s", humanize.IBytes(uint64(t.RunBytes)))
	if t.MostBytes > 0 {
		printable.Fprintf(w, "  most of the process %s", humanize.IBytes(uint64(t.MostBytes)))
	}
	printable.Fprintf(w, "\n")
	if t.GFLOP > 0 {
		printable.Fprintf(w, "%.4g GFLOP in convolutions, products and recurrent layers: %.4g GFLOPS\n", t.GFLOP, t.GFLOPS)
	}
	for _, o := range t.Ops {
		printable.Fprintf(w, "%8.3f ms %5.1f %%  %s (%s)\n", o.MS, 100*o.Share, o.Op, plural(o.Steps, "step"))
	}
}

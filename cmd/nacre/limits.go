package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	goruntime "runtime"
	"runtime/metrics"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// size is a flag with a number of bytes.
type size int

func (s *size) String() string {
	if *s == 0 {
		return ""
	}
	return humanize.IBytes(uint64(*s))
}

func (s *size) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt {
		return errors.New(`it is no size; have such as "512MiB" or "2GB"`)
	}
	*s = size(n)
	return nil
}

func (s *size) Type() string { return "size" }

// accuracy is a nacre.Accuracy as a flag.
type accuracy nacre.Accuracy

func (a *accuracy) String() string {
	switch nacre.Accuracy(*a) {
	case nacre.AccuracyExact:
		return "exact"
	case nacre.AccuracyFast:
		return "fast"
	}
	return ""
}

func (a *accuracy) Set(text string) error {
	switch text {
	case "exact":
		*a = accuracy(nacre.AccuracyExact)
	case "fast":
		*a = accuracy(nacre.AccuracyFast)
	default:
		return errors.New(`have "exact" and "fast"`)
	}
	return nil
}

func (a *accuracy) Type() string { return "accuracy" }

// bounded adds the flag --timeout to a command.
func bounded(cmd *cobra.Command) *cobra.Command {
	var limit time.Duration
	cmd.Flags().DurationVar(&limit, "timeout", 0, "time that the command may take, such as 30s; 0 for any")
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withTimeout(cmd, limit, func() error { return work(cmd, args) })
	}
	return cmd
}

// withTimeout does the work of a command and ends it after limit; 0 is no limit.
func withTimeout(cmd *cobra.Command, limit time.Duration, work func() error) error {
	switch {
	case limit == 0:
		return work()
	case limit < 0:
		return usagef("--timeout %v: it is negative", limit)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), limit)
	defer cancel()
	cmd.SetContext(ctx)
	err := untilDone(ctx, work)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the timeout of %v is over: %w", limit, err)
	}
	return err
}

// ending is how long work may take to end by itself after its context is done.
const ending = time.Second

// untilDone does work and returns its error. Work checks ctx wherever it can take long, but a call
// of the operating system does not, for example while it syncs a file to a slow disk or reads a
// page of a mapped file from another machine. If work has not ended soon after ctx, untilDone
// returns the error of ctx and leaves work running.
func untilDone(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- formats.Guard(work) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(ending):
		return ctx.Err()
	}
}

// within returns the standard output of a command. Writes fail once the command's context is done.
func within(cmd *cobra.Command) io.Writer { return pieces.Writer(cmd.Context(), cmd.OutOrStdout()) }

// heapBounded adds the flag --memory-limit to a command that loads files and runs nothing.
func heapBounded(cmd *cobra.Command) *cobra.Command {
	limit := size(runtime.DefaultMemoryLimit())
	cmd.Flags().Var(&limit, "memory-limit", `memory that the command may take beside mapped files, such as "512MiB"`)
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withinHeap(limit, func() error { return work(cmd, args) })
	}
	return cmd
}

// withinHeap does work and returns its error. If objects on Go's heap take more than limit bytes,
// it returns ErrMemory and leaves work running: the process is about to end. A limit of 0 is none.
func withinHeap(limit size, work func() error) error {
	if limit == 0 {
		return work()
	}
	done := make(chan error, 1)
	go func() { done <- formats.Guard(work) }()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-look.C:
		}
		if heap() <= uint64(limit) {
			continue
		}
		if goruntime.GC(); heap() > uint64(limit) {
			return graph.Errorf(graph.ErrMemory, "the command takes more than the memory limit of %v; --memory-limit sets it",
				&limit)
		}
	}
}

// budgetOf returns the budget of the files of a command: what its --memory-limit says, if it
// has that flag, until its --timeout is over.
func budgetOf(cmd *cobra.Command) *budget.Budget {
	var limits budget.Limits
	if f := cmd.Flags().Lookup("memory-limit"); f != nil {
		limits.Bytes = int64(*f.Value.(*size))
	}
	return budget.New(cmd.Context(), limits)
}

// heap returns the bytes of objects on Go's heap, including garbage.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

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

	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// size is a flag of a number of bytes.
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

// bounded gives a command the flag --timeout.
func bounded(cmd *cobra.Command) *cobra.Command {
	var limit time.Duration
	cmd.Flags().DurationVar(&limit, "timeout", 0, "time that the command may take, such as 30s; 0 for any")
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withTimeout(cmd, limit, func() error { return work(cmd, args) })
	}
	return cmd
}

// withTimeout does the work of a command within its --timeout, if it has one.
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

// ending is the time that work has to end by itself when its context is done.
const ending = time.Second

// untilDone returns the error of work, which looks at the context wherever it can take long.
// A call of the operating system looks at nothing: a file is synced to a slow disk, a page of a
// mapped file comes from another machine. Work that is in one when its time is over is left behind.
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

// within returns the standard output of a command, which ends with its context.
func within(cmd *cobra.Command) io.Writer { return output.Within(cmd.Context(), cmd.OutOrStdout()) }

// heapBounded gives a command that loads files and runs nothing the flag --memory-limit.
func heapBounded(cmd *cobra.Command) *cobra.Command {
	limit := size(runtime.DefaultMemoryLimit())
	cmd.Flags().Var(&limit, "memory-limit", `memory that the command may take beside mapped files, such as "512MiB"`)
	work := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withinHeap(limit, func() error { return work(cmd, args) })
	}
	return cmd
}

// withinHeap does work that takes at most so many bytes of Go's heap; 0 is no limit. Work
// that takes more is left behind: the process is about to end.
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
			return graph.Errorf(graph.ErrMemory, "the command takes more than the memory limit of %v; --memory-limit sets it", &limit)
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

// heap returns the bytes of objects in Go's heap, with those that are not needed any more.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/nacre-ml/nacre/internal/output"
)

// results is standard output. It keeps the first error, so that a command whose results
// got lost does not end as if all were well.
type results struct {
	w   io.Writer
	err error
}

func (r *results) Write(b []byte) (int, error) {
	n, err := r.w.Write(b)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("standard output: %w", err)
	}
	return n, err
}

// endOnSignals ends the process on SIGINT and SIGTERM, with the exit code of a shell for
// them, and without files that are half written.
func endOnSignals() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-c
		output.Abandon()
		os.Exit(exitCode(s))
	}()
}

// exitCode returns the exit code of a shell for a process that a signal ended.
func exitCode(s os.Signal) int {
	if s, ok := s.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exitFailed
}

// signalError is the cause of a context that a signal ended.
type signalError struct{ os.Signal }

func (e signalError) Error() string { return e.String() }

// untilSignal returns a context that SIGINT and SIGTERM end, with a signalError as its
// cause. They do not end the process, so that the command can end its results; a second
// one does. The function that is returned gives back what the context takes.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := make(chan os.Signal, 1)
	signal.Reset(os.Interrupt, syscall.SIGTERM) // endOnSignals waits no longer
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-c:
			cancel(signalError{s})
		case <-ctx.Done():
		}
		signal.Stop(c)
	}()
	return ctx, func() { cancel(nil) }
}

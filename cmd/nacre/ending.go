package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/internal/printable"
)

// Signals that package syscall does not name on every system, by the numbers that all give them.
const (
	hangup     = syscall.Signal(1)
	brokenPipe = syscall.Signal(13)
)

// results is standard output. It keeps the first error, so that a command whose results
// got lost does not end as if all were well.
type results struct {
	w   io.Writer
	err error
}

// Write writes b as it is. If the reader of a pipe is gone, the process ends as SIGPIPE ends others,
// but without files that are half written: nobody waits for more.
func (r *results) Write(b []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := 0, fs.ErrClosed
	if r.w != os.Stdout || !bindings.ClosedAtStart(1) {
		n, err = r.w.Write(b)
	}
	if err != nil {
		r.err = fmt.Errorf("standard output: %w", err)
		if r.w == os.Stdout && errors.Is(err, syscall.EPIPE) {
			end(brokenPipe)
		}
	}
	return n, r.err
}

// asIs returns the writer below one that escapes text of files.
func asIs(w io.Writer) io.Writer {
	if p, ok := w.(*printable.Writer); ok {
		return p.W
	}
	return w
}

// endOnSignals ends the process on the signals that a terminal, a user or a system ends processes by,
// with the exit code of a shell for them, and without files that are half written. A signal that
// was ignored when the process began stays so.
func endOnSignals() {
	c := make(chan os.Signal, 1)
	notify(c, os.Interrupt, syscall.SIGTERM, hangup, syscall.SIGQUIT)
	// Writes to pipes without a reader are errors, to standard output as to files.
	signal.Notify(make(chan os.Signal, 1), brokenPipe)
	go func() { end(<-c) }()
}

// notify has signals sent to c, but for those that are ignored.
func notify(c chan os.Signal, signals ...os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Reset(s) // no other channel has it
			signal.Notify(c, s)
		}
	}
}

// end ends the process as the signal does.
func end(s os.Signal) {
	output.Abandon()
	os.Exit(exitCode(s))
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
	notify(c, os.Interrupt, syscall.SIGTERM) // endOnSignals waits for them no longer
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

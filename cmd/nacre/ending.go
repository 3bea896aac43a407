package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/output"
	"github.com/nacre-ml/nacre/internal/printable"
)

// Signals that package syscall does not name on every system. The numbers are the same on all.
const (
	hangup     = syscall.Signal(1)
	brokenPipe = syscall.Signal(13)
)

// results is standard output. It keeps the first error, so that a command with lost results fails.
type results struct {
	w   io.Writer
	err error
}

// Write writes b unchanged. If the reader of a pipe is gone, the process ends with the exit code of
// SIGPIPE, and files being written are removed.
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

// asIs returns the writer below w if w is a printable.Writer, else w.
func asIs(w io.Writer) io.Writer {
	if p, ok := w.(*printable.Writer); ok {
		return p.W
	}
	return w
}

// endOnSignals makes the process end on SIGINT, SIGTERM, SIGHUP and SIGQUIT with a shell's exit
// code. Files being written are removed. A signal that was ignored when the process began stays
// ignored.
func endOnSignals() {
	if !hasSignals {
		return
	}
	c := make(chan os.Signal, 1)
	notify(c, os.Interrupt, syscall.SIGTERM, hangup, syscall.SIGQUIT)
	// Writes to pipes without a reader then return errors, for standard output as for files.
	signal.Notify(make(chan os.Signal, 1), brokenPipe)
	go func() { end(<-c) }()
}

// hasSignals reports whether the system sends signals to processes. Where it does not, package signal
// must not be asked.
const hasSignals = runtime.GOOS != "js"

// notify has signals sent to c, except ignored ones.
func notify(c chan os.Signal, signals ...os.Signal) {
	if !hasSignals {
		return
	}
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Reset(s) // so that no other channel gets it
			signal.Notify(c, s)
		}
	}
}

// end ends the process with the exit code of s. Files being written are removed.
func end(s os.Signal) {
	output.Abandon()
	os.Exit(exitCode(s))
}

// exitCode returns a shell's exit code for a process that s ended.
func exitCode(s os.Signal) int {
	if s, ok := s.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exitFailed
}

// signalError is the cause of a context that a signal ended.
type signalError struct{ os.Signal }

func (e signalError) Error() string { return e.String() }

// untilSignal returns a context that SIGINT and SIGTERM end, with a signalError as its cause. The
// first such signal does not end the process, so that the command can complete its results; a
// second one does. The returned function releases the context.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := make(chan os.Signal, 1)
	notify(c, os.Interrupt, syscall.SIGTERM) // takes them from endOnSignals
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

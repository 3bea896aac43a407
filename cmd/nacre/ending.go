package main

import (
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
		code := exitFailed
		if s, ok := s.(syscall.Signal); ok {
			code = 128 + int(s)
		}
		os.Exit(code)
	}()
}

package container

import (
	"errors"
	"iter"

	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// Guard returns the error of work. If work reads bytes that a mapped file has lost, or
// returns a *mapped.Lost, the error is of kind graph.ErrFormat and names that file.
// Work is left at once, as by a panic; what other goroutines or C read is not guarded.
func Guard(work func() error) error { return named(mapped.Guard(work)) }

// Intact returns an error as Guard does if a mapped file that one of the parts lies in has
// become shorter. Such a file may read as zeros without a fault.
func Intact(parts iter.Seq[[]byte]) error { return named(mapped.Check(parts)) }

// named reports a file that lost bytes as one that is damaged.
func named(err error) error {
	var lost *mapped.Lost
	if !errors.As(err, &lost) {
		return err
	}
	return &graph.Error{Stage: "load", File: lost.Name, Offset: -1, Kind: graph.ErrFormat, Err: lost}
}

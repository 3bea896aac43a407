// Package guard keeps panics inside the library. Every function of the library that reads a file or
// runs a model begins with
//
//	defer guard.At(file).End(&err)
//
// A defect triggered by a file is then an error and does not end the program. Other goroutines and
// C are not guarded.
package guard

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// ErrInternal is the kind of errors caused by defects.
var ErrInternal = errors.New("internal error")

// Defect is the error that a panic becomes. Its kind is ErrInternal.
type Defect struct {
	file  string
	cause any
	stack []byte
}

// Error returns the file and the cause, without the stack.
func (d *Defect) Error() string {
	text := fmt.Sprintf("%v, please report it with the model: %v", ErrInternal, d.cause)
	if d.file != "" {
		text = d.file + ": " + text
	}
	return text
}

// Unwrap returns the kind and, if it is an error, the cause.
func (d *Defect) Unwrap() []error {
	if err, ok := d.cause.(error); ok {
		return []error{ErrInternal, err}
	}
	return []error{ErrInternal}
}

// Stack returns the stack of the goroutine at the panic, as from debug.Stack.
func (d *Defect) Stack() []byte { return d.stack }

// Ended is the value of a panic that is not a defect: the guarded function returns Err.
type Ended struct{ Err error }

// Guard guards a function.
type Guard struct {
	file  string
	watch mapped.Watch
}

// At starts to guard the calling function. Its defects name the file; "" if the caller names it.
func At(file string) Guard { return Guard{file, mapped.Begin()} }

// End turns a panic of the deferring function into an error: of kind graph.ErrFormat if the
// function read bytes that a mapped file has lost, else a *Defect. Goexit is not a panic and
// continues.
func (g Guard) End(err *error) { *err = g.Caught(recover(), *err) }

// EndAll is End for functions that return all problems of a file.
func (g Guard) EndAll(problems *[]error) {
	if err := g.Caught(recover(), nil); err != nil {
		*problems = append(*problems, err)
	}
	for i, err := range *problems {
		(*problems)[i] = Named(err)
	}
}

// Caught is End for deferred functions that do more. p is the result of recover, err the result of
// the guarded function. An error with a *mapped.Lost becomes one of kind graph.ErrFormat.
func (g Guard) Caught(p any, err error) error {
	g.watch.End()
	if ended, ok := p.(Ended); ok {
		return ended.Err
	}
	if p != nil {
		if err = g.watch.Lost(p); err == nil {
			return &Defect{g.file, p, debug.Stack()}
		}
	}
	return Named(err)
}

// Named returns err, or, if it has a *mapped.Lost, an error of kind graph.ErrFormat that names the
// file.
func Named(err error) error {
	if err == nil {
		return nil
	}
	var lost *mapped.Lost
	if !errors.As(err, &lost) {
		return err
	}
	return &graph.Error{Stage: "load", File: lost.Name, Offset: -1, Kind: graph.ErrFormat, Err: lost}
}

// Call runs f guarded and returns its error.
func Call(f func() error) (err error) {
	defer At("").End(&err)
	return f()
}

// Package guard keeps panics inside the library. Every function of the library that reads a
// file or runs a model begins with
//
//	defer guard.At(file).End(&err)
//
// so that a defect which a file finds is an error and does not take down the program. What
// other goroutines do is not guarded, nor is C.
package guard

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// ErrInternal marks an error that a defect caused.
var ErrInternal = errors.New("internal error")

// Defect is the error that a panic becomes, of kind ErrInternal.
type Defect struct {
	file  string
	cause any
	stack []byte
}

// Error names the file and the cause, without the stack.
func (d *Defect) Error() string {
	text := fmt.Sprintf("%v, please report it with the model: %v", ErrInternal, d.cause)
	if d.file != "" {
		text = d.file + ": " + text
	}
	return text
}

// Unwrap gives the kind and, if it is an error, the cause.
func (d *Defect) Unwrap() []error {
	if err, ok := d.cause.(error); ok {
		return []error{ErrInternal, err}
	}
	return []error{ErrInternal}
}

// Stack is the stack of the goroutine when it panicked, as debug.Stack writes it.
func (d *Defect) Stack() []byte { return d.stack }

// Ended is a panic that is no defect: the guarded function ends with Err.
type Ended struct{ Err error }

// Guard is a function that is guarded.
type Guard struct {
	file  string
	watch mapped.Watch
}

// At begins to guard the calling function, whose defects name the file; "" for a function
// whose caller names it.
func At(file string) Guard { return Guard{file, mapped.Begin()} }

// End turns a panic of the function that defers it into an error: of kind graph.ErrFormat
// if bytes were read that a mapped file has lost, else a *Defect. Goexit is no panic and
// goes on.
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

// Caught is End for functions that do more when they are deferred: p is what recover
// returned, nil for no panic, and err what the guarded function returns. An error with a
// *mapped.Lost becomes one of kind graph.ErrFormat.
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

// Named returns an error of kind graph.ErrFormat that names the file, if err has a
// *mapped.Lost, else err.
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

// Call returns the error of a function that is guarded.
func Call(f func() error) (err error) {
	defer At("").End(&err)
	return f()
}

package op

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrInternal marks an error that a defect of an operator caused.
var ErrInternal = errors.New("internal error")

// guard turns a panic of an operator into an error: a model that finds a defect
// must not take down the program that runs it. It is to be deferred.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w, please report it with the model: %v\n%s", ErrInternal, r, debug.Stack())
	}
}

// Execute runs a prepared operator.
func Execute(o Op, c *Run) (err error) {
	defer guard(&err)
	return o.(Runner).Run(c)
}

// Ready prepares an operator.
func Ready(p Preparer, c *Prepare) (err error) {
	defer guard(&err)
	return p.Prepare(c)
}

// Guard calls f and turns a panic into an error.
func Guard(f func() error) (err error) {
	defer guard(&err)
	return f()
}

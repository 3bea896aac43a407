package op

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// ErrInternal marks an error that a defect of an operator caused.
var ErrInternal = errors.New("internal error")

// Defect is the error that a panic of an operator becomes, of kind ErrInternal.
type Defect struct {
	cause any
	stack []byte
}

// Error names the cause, without the stack.
func (d *Defect) Error() string {
	return fmt.Sprintf("%v, please report it with the model: %v", ErrInternal, d.cause)
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

// guard turns a panic of an operator into an error: a model that finds a defect
// must not take down the program that runs it. It is to be deferred.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = &Defect{cause: r, stack: debug.Stack()}
	}
}

// Guard calls f and turns a panic into an error.
func Guard(f func() error) (err error) {
	defer guard(&err)
	return f()
}

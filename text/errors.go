package text

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/nacre-ml/nacre"
)

// kindError is an error with a kind for errors.Is. Its message does not repeat the kind.
type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

func errorf(kind error, format string, args ...any) error {
	return &kindError{kind, fmt.Errorf(format, args...)}
}

// cause returns the reason of an error of a file system, whose file the caller names.
func cause(err error) error {
	var e *fs.PathError
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// errNotOpen reports a method of nil or of a zero value.
func errNotOpen() error { return errorf(nacre.ErrClosed, "the network was never opened") }

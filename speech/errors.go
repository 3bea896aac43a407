package speech

import (
	"errors"
	"fmt"
)

// The kinds of errors of this package beside those of package nacre.
var (
	// ErrText reports a text that a voice cannot speak: empty, too long, or without any character
	// that the voice knows.
	ErrText = errors.New("speech: unfit text")
	// ErrSound reports a file that is no sound, is damaged or is too long, and a reference that no
	// voice can be heard in.
	ErrSound = errors.New("speech: unfit sound")
)

// kindError is an error with a kind for errors.Is. Its message does not repeat the kind.
type kindError struct{ kind, err error }

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

func errorf(kind error, format string, args ...any) error {
	return &kindError{kind, fmt.Errorf(format, args...)}
}

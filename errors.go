package nacre

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// The kinds of failure. Every error of this package that is of a kind matches it
// with errors.Is, whatever else it wraps: an error of the file system is still an
// fs.ErrNotExist, and a run that its context ended still a context.Canceled or a
// context.DeadlineExceeded.
var (
	// ErrClosed is the use of a model or a session after its Close.
	ErrClosed = errors.New("nacre: closed")
	// ErrShape is a tensor whose element type or shape does not fit its elements, what
	// the caller asks for, what a model declares, or what an operator takes.
	ErrShape = errors.New("nacre: wrong type or shape")
	// ErrMissingInput is a run without a tensor for an input that it needs.
	ErrMissingInput = errors.New("nacre: missing input")
	// ErrUnknownInput is a run with a tensor for an input that the model does not have,
	// or whose value the model fixes.
	ErrUnknownInput = errors.New("nacre: unknown input")
	// ErrUnsupported is a file that is well formed and asks for something that this
	// package does not do: a format, a version, an operator.
	ErrUnsupported = errors.New("nacre: unsupported")
	// ErrFormat is a file that breaks the rules of its format.
	ErrFormat = errors.New("nacre: malformed file")
	// ErrMemory is a run that exceeds Options.MemoryLimit, or memory that the system
	// does not give.
	ErrMemory = errors.New("nacre: not enough memory")
	// ErrOption is an option or an argument with a value that it cannot have.
	ErrOption = errors.New("nacre: invalid option")
	// ErrDevice is a machine, or a build of the program, that cannot run models: this
	// package needs cgo to compute.
	ErrDevice = errors.New("nacre: device not available")
)

// kindError is an error with a kind that errors.Is finds and its message does not
// repeat.
type kindError struct {
	kind error
	err  error
}

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

// mark returns err with a kind.
func mark(kind, err error) error { return &kindError{kind, err} }

// markf returns a new error of a kind.
func markf(kind error, format string, args ...any) error {
	return mark(kind, fmt.Errorf(format, args...))
}

// kinds maps what packages below say to what this one does.
var kinds = []struct{ below, kind error }{
	{runtime.ErrClosed, ErrClosed},
	{graph.ErrShape, ErrShape},
	{graph.ErrUnsupported, ErrUnsupported},
	{graph.ErrFormat, ErrFormat},
	{graph.ErrDevice, ErrDevice},
}

// public gives an error of the packages below the kind it has here.
func public(err error) error {
	if err == nil {
		return nil
	}
	for _, k := range kinds {
		if errors.Is(err, k.below) && !errors.Is(err, k.kind) {
			err = mark(k.kind, err)
		}
	}
	if lacksMemory(err) {
		err = mark(ErrMemory, err)
	}
	return err
}

// lacksMemory reports whether the engine gave up for want of memory, for which it
// has no kind of its own.
func lacksMemory(err error) bool {
	var e *graph.Error
	if !errors.As(err, &e) || e.Stage == "load" {
		return false
	}
	text := e.Err.Error()
	return strings.Contains(text, "memory limit") || strings.Contains(text, "no memory for")
}

package nacre

import (
	"errors"
	"fmt"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// The kinds of errors. errors.Is tells whether an error of this package is of a kind;
// where the documentation says that the error is ErrShape, it wraps ErrShape and says
// in text what is wrong. Errors from below are wrapped as well: errors.Is also finds
// fs.ErrNotExist of a file, and context.Canceled or context.DeadlineExceeded of a run
// that its context ended.
var (
	// ErrClosed reports the use of a Model, a Session, a Stream or a Bound after its Close,
	// or after that of the session that it belongs to, or of one that is nil or was never made.
	ErrClosed = errors.New("nacre: closed")
	// ErrShape reports a tensor whose element type or shape does not fit: its own
	// elements, what the caller asks for, what the model declares, or what an operator
	// takes.
	ErrShape = errors.New("nacre: wrong type or shape")
	// ErrMissingInput reports a run without a tensor for an input that it needs.
	ErrMissingInput = errors.New("nacre: missing input")
	// ErrUnknownInput reports a run with a tensor for an input that the model does not
	// have, or whose value the model fixes.
	ErrUnknownInput = errors.New("nacre: unknown input")
	// ErrUnsupported reports something well formed that this package cannot do: a file
	// format, a version, an operator, a kind of value.
	ErrUnsupported = errors.New("nacre: unsupported")
	// ErrFormat reports a file that breaks the rules of its format.
	ErrFormat = errors.New("nacre: malformed file")
	// ErrMemory reports a run, or the making of a session, that exceeds Options.MemoryLimit or
	// what is left of Options.MemoryBudget, or a tensor larger than the memory of the machine.
	ErrMemory = errors.New("nacre: not enough memory")
	// ErrBusy reports a run that did not begin because Options.MaxWaiting runs wait already,
	// or because it waited for Options.MaxWait. The same run may succeed later.
	ErrBusy = errors.New("nacre: too many runs wait")
	// ErrState reports a stream whose states cannot do what is asked of them.
	ErrState = errors.New("nacre: state of a stream")
	// ErrInUse reports a call that a model refuses because of its sessions: Close while one
	// is open, ReplaceWeights after one was made.
	ErrInUse = errors.New("nacre: model in use")
	// ErrOption reports an option or an argument with a value that it cannot have.
	ErrOption = errors.New("nacre: invalid option")
	// ErrInternal reports a defect: a panic of this module, of the packages formats and generate
	// too, or of what the program brought and the function called: an operator, a file
	// system, a reader, a writer, a tokenizer. The message says in which file and node. A
	// panic in the body of a loop over an iterator of package generate stays a panic.
	ErrInternal = guard.ErrInternal
	// ErrDevice reports a machine, or a build of the program, that cannot run models.
	// Builds without cgo read models and cannot run them.
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
	{graph.ErrMissing, ErrMissingInput},
	{graph.ErrUnsupported, ErrUnsupported},
	{graph.ErrFormat, ErrFormat},
	{graph.ErrDevice, ErrDevice},
	{graph.ErrMemory, ErrMemory},
	{graph.ErrState, ErrState},
	{graph.ErrBusy, ErrBusy},
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
	return err
}

package nacre

import (
	"errors"
	"fmt"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// The kinds of errors. An error of this package wraps its kind, and errors.Is finds it.
// Errors of other packages are wrapped as well: errors.Is also finds fs.ErrNotExist of a
// missing file, and context.Canceled or context.DeadlineExceeded of a run that its context
// ended.
var (
	// ErrClosed reports the use of a Model, a Session, a Stream or a Bound that is closed,
	// nil or a zero value, or of a Stream or a Bound after its session is closed.
	ErrClosed = errors.New("nacre: closed")
	// ErrShape reports an element type or a shape that does not fit the elements of the
	// tensor, the call, the model's declaration, or an operator.
	ErrShape = errors.New("nacre: wrong type or shape")
	// ErrMissingInput reports a run without a tensor for an input that it needs.
	ErrMissingInput = errors.New("nacre: missing input")
	// ErrUnknownInput reports a run with a tensor for an input that the model lacks or
	// keeps constant.
	ErrUnknownInput = errors.New("nacre: unknown input")
	// ErrUnsupported reports something well formed that this package cannot do: a file
	// format, a version, an operator, a kind of value.
	ErrUnsupported = errors.New("nacre: unsupported")
	// ErrFormat reports a file that breaks the rules of its format.
	ErrFormat = errors.New("nacre: malformed file")
	// ErrMemory reports a run or a new session that exceeds Options.MemoryLimit or the rest
	// of Options.MemoryBudget, or a tensor larger than the memory of the machine.
	ErrMemory = errors.New("nacre: not enough memory")
	// ErrBusy reports a run that did not begin because Options.MaxWaiting runs wait already,
	// or because it waited for Options.MaxWait. The same run may succeed later.
	ErrBusy = errors.New("nacre: too many runs wait")
	// ErrState reports a call that the states of a stream do not allow.
	ErrState = errors.New("nacre: state of a stream")
	// ErrInUse reports a call that the sessions of a model rule out: Close while a session
	// is open, ReplaceWeights after a session was made.
	ErrInUse = errors.New("nacre: model in use")
	// ErrOption reports an option or an argument with an invalid value.
	ErrOption = errors.New("nacre: invalid option")
	// ErrInternal reports a defect: a panic in this module, or in an operator, a file system,
	// a reader, a writer or a tokenizer that the program supplies. The message names the file
	// and the node. A panic in the body of a loop over an iterator of package generate stays
	// a panic.
	ErrInternal = guard.ErrInternal
	// ErrDevice reports a machine, or a build of the program, that cannot run models.
	// Builds without cgo read models and cannot run them.
	ErrDevice = errors.New("nacre: device not available")
)

// kindError is an error with a kind. errors.Is finds the kind, and the message leaves it out.
type kindError struct {
	kind error
	err  error
}

// maxMessage is about the most bytes of a message. A file chooses names and shapes in it.
const maxMessage = 4 << 10

func (e *kindError) Error() string   { return printable.Cut(e.err.Error(), maxMessage) }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

// mark returns err with a kind.
func mark(kind, err error) error { return &kindError{kind, err} }

// markf returns a new error of a kind.
func markf(kind error, format string, args ...any) error {
	return mark(kind, fmt.Errorf(format, args...))
}

// kinds maps kinds of errors of the engine to kinds of this package.
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

// public marks an error of the engine with its kind in this package.
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

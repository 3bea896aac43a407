package nacre

import (
	"errors"

	"github.com/nacre-ml/nacre/internal/guard"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// The kinds of errors. An error of this module wraps its kind, and errors.Is finds it. The message
// says what is wrong and what to do, and leaves the kind out.
// Errors of other packages are wrapped as well: errors.Is also finds fs.ErrNotExist of a
// missing file, and context.Canceled or context.DeadlineExceeded of a run that its context
// ended.
var (
	// ErrClosed reports the use of a Model, a Session, a Stream or a Bound that is closed,
	// nil or a zero value, or of a Stream or a Bound after its session is closed.
	ErrClosed = graph.ErrClosed
	// ErrShape reports an element type or a shape that does not fit the elements of the
	// tensor, the call, the model's declaration, or an operator.
	ErrShape = graph.ErrShape
	// ErrMissingInput reports a run without a tensor for an input that it needs.
	ErrMissingInput = graph.ErrMissing
	// ErrUnknownInput reports a run with a tensor for an input that the model lacks or
	// keeps constant.
	ErrUnknownInput = errors.New("unknown input")
	// ErrUnsupported reports something well formed that this package cannot do: a file
	// format, a version, an operator, a kind of value.
	ErrUnsupported = graph.ErrUnsupported
	// ErrFormat reports a file that breaks the rules of its format.
	ErrFormat = graph.ErrFormat
	// ErrMemory reports a run or a new session that exceeds Options.MemoryLimit or the rest
	// of Options.MemoryBudget, or a tensor larger than the memory of the machine.
	ErrMemory = graph.ErrMemory
	// ErrBusy reports a run that did not begin because Options.MaxWaiting runs wait already,
	// or because it waited for Options.MaxWait. The same run may succeed later.
	ErrBusy = graph.ErrBusy
	// ErrState reports a call that the states of a stream do not allow.
	ErrState = graph.ErrState
	// ErrInUse reports a call that the sessions of a model rule out: Close while a session
	// is open, ReplaceWeights after a session was made.
	ErrInUse = errors.New("model in use")
	// ErrOption reports an option or an argument with an invalid value.
	ErrOption = graph.ErrOption
	// ErrInternal reports a defect: a panic in this module, or in an operator, a file system,
	// a reader, a writer or a tokenizer that the program supplies. The message names the file
	// and the node. A panic in the body of a loop over an iterator of package generate stays
	// a panic.
	ErrInternal = guard.ErrInternal
	// ErrDevice reports a machine, or a build of the program, that cannot run models.
	// Builds without cgo read models. They run them for GOOS=js, or if the program imports
	// bindings/wazero.
	ErrDevice = graph.ErrDevice
)

// markf returns a new error of a kind.
func markf(kind error, format string, args ...any) error {
	return graph.Errorf(kind, format, args...)
}

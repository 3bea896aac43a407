package graph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nacre-ml/nacre/internal/printable"
)

// The kinds of errors, for errors.Is.
var (
	ErrFormat      = errors.New("malformed file")
	ErrUnsupported = errors.New("unsupported")
	ErrShape       = errors.New("wrong types or shapes")
	ErrMissing     = errors.New("missing input")
	ErrDevice      = errors.New("device not available")
	ErrMemory      = errors.New("not enough memory")
	ErrState       = errors.New("state of a stream")
	ErrBusy        = errors.New("too many runs wait")
	ErrClosed      = errors.New("closed")
	ErrOption      = errors.New("invalid option")
)

// Error locates an error. Each field is set once, by the layer that knows it. Err says what is
// wrong and what to do.
type Error struct {
	Stage  string // load, validate, optimize, plan, run, save
	File   string
	Offset int64 // in File; negative for none
	Node   string
	Op     string // with domain and version, such as com.microsoft.Gelu-1
	Kind   error  // one of the kinds above, or nil if Err has one
	Err    error
}

// The most bytes of a message for a name and for a reason. A file chooses both.
const (
	maxName    = 256
	maxMessage = 3 << 10
)

// Error returns one line: stage, file and offset, node and op, and Err. Names are safe to print,
// and long texts lack their middle.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(printable.Cut(printable.Text(e.File), 2*maxName))
		if e.Offset >= 0 {
			fmt.Fprintf(&b, " at byte %d", e.Offset)
		}
		b.WriteString(": ")
	}
	if e.Stage != "" {
		b.WriteString(e.Stage + ": ")
	}
	if e.Op != "" || e.Node != "" {
		fmt.Fprintf(&b, "node %q", printable.Cut(e.Node, maxName))
		if e.Op != "" {
			printable.Fprintf(&b, " (%s)", printable.Cut(e.Op, maxName))
		}
		b.WriteString(": ")
	}
	b.WriteString(printable.Cut(e.Err.Error(), maxMessage))
	return b.String()
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

// Join is errors.Join of the problems of a file. If there are many, it joins the first, and their
// number takes the place of the others.
func Join(problems ...error) error {
	bytes := 0
	for i, err := range problems {
		if bytes += len(err.Error()) + 1; bytes > maxMessage && i > 0 {
			return errors.Join(append(slices.Clone(problems[:i]), fmt.Errorf("... %d in all", len(problems)))...)
		}
	}
	return errors.Join(problems...)
}

// Errorf formats an error of a kind. errors.Is finds the kind; the message does not repeat it.
func Errorf(kind error, format string, args ...any) error {
	return &marked{kind, fmt.Errorf(format, args...)}
}

type marked struct {
	kind error
	err  error
}

// Error cuts long texts above the bound of an Error within them.
func (m *marked) Error() string   { return printable.Cut(m.err.Error(), maxMessage+4*maxName) }
func (m *marked) Unwrap() []error { return []error{m.kind, m.err} }

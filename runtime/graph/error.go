package graph

import (
	"errors"
	"fmt"
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

// Error returns one line: stage, file and offset, node and op, and Err. Names are safe to print.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(printable.Text(e.File))
		if e.Offset >= 0 {
			fmt.Fprintf(&b, " at byte %d", e.Offset)
		}
		b.WriteString(": ")
	}
	if e.Stage != "" {
		b.WriteString(e.Stage + ": ")
	}
	if e.Op != "" || e.Node != "" {
		fmt.Fprintf(&b, "node %q", e.Node)
		if e.Op != "" {
			printable.Fprintf(&b, " (%s)", e.Op)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

// Errorf formats an error of a kind. errors.Is finds the kind; the message does not repeat it.
func Errorf(kind error, format string, args ...any) error {
	return &marked{kind, fmt.Errorf(format, args...)}
}

type marked struct {
	kind error
	err  error
}

func (m *marked) Error() string   { return m.err.Error() }
func (m *marked) Unwrap() []error { return []error{m.kind, m.err} }

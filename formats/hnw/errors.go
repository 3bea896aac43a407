package hnw

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of failure, for errors.Is. If a file exists and cannot be read, for example for lack of
// permission, the error is of none of these kinds.
var (
	ErrArchiveMissing  = errors.New("no weight archive")
	ErrMalformed       = errors.New("malformed archive")
	ErrVersion         = errors.New("unsupported archive version")
	ErrArchiveChecksum = errors.New("archive checksum mismatch")
	ErrTensorMissing   = errors.New("tensor missing")
	ErrTensorMetadata  = errors.New("tensor metadata mismatch")
	ErrTensorChecksum  = errors.New("tensor checksum mismatch")
)

// Error describes a fault of an archive or of one of its tensors.
type Error struct {
	Kind        error  // one of the kinds above
	Module      string // of the archive; empty if it is not known
	Initializer string // the tensor's name in the ONNX model; empty for the archive as a whole
	Err         error
}

// Error returns one line: kind, module, initialiser, fault. Long names are cut.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Kind.Error())
	if e.Module != "" {
		fmt.Fprintf(&b, " in %.100s", e.Module)
	}
	if e.Initializer != "" {
		fmt.Fprintf(&b, ", initialiser %.100q", e.Initializer)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

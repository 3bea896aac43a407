package hnw

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of failure, for errors.Is. Errors of reading a file that is there, such
// as missing permission, are of none of them.
var (
	ErrArchiveMissing  = errors.New("no weight archive")
	ErrMalformed       = errors.New("malformed archive")
	ErrVersion         = errors.New("unsupported archive version")
	ErrArchiveChecksum = errors.New("archive checksum mismatch")
	ErrTensorMissing   = errors.New("tensor missing")
	ErrTensorMetadata  = errors.New("tensor metadata mismatch")
	ErrTensorChecksum  = errors.New("tensor checksum mismatch")
)

// Error says what is wrong with an archive or a tensor of it.
type Error struct {
	Kind        error  // one of the kinds above
	Module      string // that the archive belongs to; empty where it is not known
	Initializer string // the tensor's name in the ONNX model; empty for the archive as a whole
	Err         error
}

// Error is one line: kind, module, initialiser, what is wrong. Long names are cut.
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

// Unwrap gives the kind and the cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Err} }

package gptrs

import "github.com/nacre-ml/nacre/runtime/graph"

// Kind is a kind of damage or misuse of a file. Every error of this package's readers carries one,
// for errors.As and errors.Is, and with it graph.ErrFormat or graph.ErrUnsupported.
type Kind string

// The kinds of failure.
const (
	BadMagic           Kind = "bad_magic"
	UnsupportedVersion Kind = "unsupported_version"
	Truncated          Kind = "truncated"
	BadConfig          Kind = "bad_config"
	BadIndex           Kind = "bad_index"
	BadName            Kind = "bad_name"
	DuplicateName      Kind = "duplicate_name"
	BaseIDMismatch     Kind = "base_id_mismatch"
	UnknownDType       Kind = "unknown_dtype"
	UnsupportedDType   Kind = "unsupported_dtype"
	BadShape           Kind = "bad_shape"
	BadByteLen         Kind = "bad_byte_len"
	OutOfFile          Kind = "out_of_file"
	Overlap            Kind = "overlap"
	MissingTensor      Kind = "missing_tensor"
	UnsupportedKind    Kind = "unsupported_kind"
)

// Error returns the kind's name.
func (k Kind) Error() string { return string(k) }

// Unwrap returns the matching error of package graph.
func (k Kind) Unwrap() error {
	switch k {
	case UnsupportedVersion, UnsupportedDType, UnsupportedKind:
		return graph.ErrUnsupported
	}
	return graph.ErrFormat
}

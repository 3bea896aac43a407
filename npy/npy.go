// Package npy reads and writes tensors in NumPy's formats: an array in a .npy file, versions 1 to 3,
// and named arrays in an .npz archive
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). The package is for
// programs that exchange inputs and results of models with Python.
//
// Arrays of Python objects, arrays with named fields and arrays of dates cannot be read. Holds
// reports which element types can be written.
//
// Files are not trusted: nothing is allocated for elements that a file does not have, and a
// formats.Budget bounds the memory and the time that reading takes. The kinds of errors are those of
// package nacre: ErrFormat for a damaged file, ErrUnsupported for an array that no tensor holds,
// ErrMemory for one beyond the budget.
package npy

import (
	"errors"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/formats"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// descrs lists the element types with NumPy's names.
var descrs = []struct {
	descr string
	dtype nacre.DType
}{
	{"<f4", nacre.Float32},
	{"<f8", nacre.Float64},
	{"<f2", nacre.Float16},
	{"|i1", nacre.Int8},
	{"<i2", nacre.Int16},
	{"<i4", nacre.Int32},
	{"<i8", nacre.Int64},
	{"|u1", nacre.Uint8},
	{"<u2", nacre.Uint16},
	{"<u4", nacre.Uint32},
	{"<u8", nacre.Uint64},
	{"|b1", nacre.Bool},
	{"<c8", nacre.Complex64},
	{"<c16", nacre.Complex128},
}

// dtypeOf returns the element type of a name without its first character, the order of bytes.
func dtypeOf(name string) (nacre.DType, bool) {
	for _, row := range descrs {
		if row.descr[1:] == name {
			return row.dtype, true
		}
	}
	return nacre.Invalid, false
}

func descrOf(d nacre.DType) string {
	for _, row := range descrs {
		if row.dtype == d {
			return row.descr
		}
	}
	return ""
}

// Holds reports whether Write takes tensors of the element type. It is true for strings, which
// NumPy stores as text of a fixed width.
func Holds(d nacre.DType) bool { return d == nacre.String || descrOf(d) != "" }

// array is the header of an array.
type array struct {
	name    string // of the element type, without the order of bytes
	dtype   nacre.DType
	text    bool // elements are strings of width characters
	width   int
	big     bool // the most significant byte comes first
	fortran bool // the first axis varies fastest
	shape   []int
	count   int // of elements
	bytes   int // of all elements
}

// errorf returns an error of a kind.
func errorf(kind error, format string, args ...any) error { return graph.Errorf(kind, format, args...) }

// take takes bytes from a budget.
func take(b *formats.Budget, n int) error {
	err := b.Bytes(int64(n))
	if errors.Is(err, budget.ErrBytes) {
		return errorf(nacre.ErrMemory, "an array: %w", err)
	}
	return err
}

// element returns the type of the elements by NumPy's name for it, such as <f4.
func (a *array) element(descr string) error {
	if len(descr) < 3 {
		return errorf(nacre.ErrFormat, "the element type %q is none", descr)
	}
	a.big = descr[0] == '>'
	if a.name = descr[1:]; a.name[0] == 'U' && (a.big || descr[0] == '<') {
		a.text, a.dtype = true, nacre.String
		return a.characters(a.name[1:])
	}
	d, ok := dtypeOf(a.name)
	if !ok || !strings.ContainsRune("<>|", rune(descr[0])) || descr[0] == '|' && d.Bits() > 8 {
		return errorf(nacre.ErrUnsupported, "element type %q has no counterpart", descr)
	}
	a.dtype = d
	return nil
}

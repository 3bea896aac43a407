package npy

import (
	"encoding/binary"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const magic = "\x93NUMPY"

const (
	// maxHeader is the most bytes of a header, and the most characters of a string; NumPy writes
	// headers of about 128 bytes.
	maxHeader = 1 << 16
	// maxAxes is the most axes of a tensor that Write writes.
	maxAxes = 64
)

var (
	descrField   = regexp.MustCompile(`'descr':\s*'([^']*)'`)
	fortranField = regexp.MustCompile(`'fortran_order':\s*(True|False)`)
	shapeField   = regexp.MustCompile(`'shape':\s*\(([^)]*)\)`)
)

// readHeader reads the header of an array.
func readHeader(r io.Reader) (*array, error) {
	text, err := headerText(r)
	if err != nil {
		return nil, err
	}
	descr, fortran := descrField.FindSubmatch(text), fortranField.FindSubmatch(text)
	extents := shapeField.FindSubmatch(text)
	if descr == nil || fortran == nil || extents == nil {
		return nil, errorf(nacre.ErrUnsupported,
			"the header lacks a plain descr, fortran_order or shape; arrays with named fields cannot be read")
	}
	shape, err := parseShape(string(extents[1]))
	if err != nil {
		return nil, errorf(nacre.ErrFormat, "%w", err)
	}
	a := &array{shape: shape, count: shape.Len(), fortran: string(fortran[1]) == "True" && len(shape) > 1}
	if err := a.element(string(descr[1])); err != nil {
		return nil, err
	}
	if a.bytes = tensor.DType(a.dtype).Bytes(a.count); a.text {
		if a.width > 0 && a.count > math.MaxInt/4/a.width {
			return nil, errorf(nacre.ErrFormat, "%d strings of %d characters are too many", a.count, a.width)
		}
		a.bytes = 4 * a.width * a.count
	}
	return a, nil
}

// headerText returns the text of the header that r begins with.
func headerText(r io.Reader) ([]byte, error) {
	begin := make([]byte, 10, 12)
	if _, err := io.ReadFull(r, begin); noMore(err) || err == nil && string(begin[:6]) != magic {
		return nil, errorf(nacre.ErrFormat, "not a .npy file: it does not begin as one")
	} else if err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint16(begin[8:]))
	switch version := begin[6]; version {
	case 1:
	case 2, 3:
		begin = begin[:12]
		if _, err := io.ReadFull(r, begin[10:]); err != nil {
			return nil, short(err, "in the header")
		}
		n = int(binary.LittleEndian.Uint32(begin[8:]))
	default:
		return nil, errorf(nacre.ErrUnsupported, "version %d of the .npy format is unknown", version)
	}
	if n > maxHeader {
		return nil, errorf(nacre.ErrFormat, "a header of %d bytes is too large", n)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, short(err, "in the header")
	}
	return text, nil
}

// noMore reports whether a reader ended before all bytes were read.
func noMore(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

// short returns the error of reading: ErrFormat if the file ends too early.
func short(err error, where string) error {
	if noMore(err) {
		return errorf(nacre.ErrFormat, "the file ends %s", where)
	}
	return err
}

func parseShape(text string) (tensor.Shape, error) {
	shape := tensor.Shape{}
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSuffix(strings.TrimSpace(part), "L") // Python 2 wrote 3L
		if part == "" {
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, errorf(nacre.ErrFormat, "extent %q of the shape is no number", part)
		}
		shape = append(shape, n)
	}
	return shape, shape.Check()
}

// characters sets the width of strings.
func (a *array) characters(width string) error {
	w, err := strconv.Atoi(width)
	if err != nil || w < 0 || w > maxHeader {
		return errorf(nacre.ErrUnsupported, "strings of width %q cannot be read", width)
	}
	a.width = w
	return nil
}

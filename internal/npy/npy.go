// Package npy reads and writes tensors in NumPy's .npy format, versions 1 to 3
// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). Elements are
// little-endian and in C order. Holds reports which element types the format has.
package npy

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const magic = "\x93NUMPY"

// maxAxes is the most axes of a tensor that Write writes.
const maxAxes = 64

// maxHeader is the most bytes of a header that Decode accepts; NumPy writes about 128.
const maxHeader = 1 << 16

// descrs lists the element types with NumPy's names.
var descrs = []struct {
	descr string
	dtype tensor.DType
}{
	{"<f4", tensor.F32},
	{"<f8", tensor.F64},
	{"<f2", tensor.F16},
	{"|i1", tensor.I8},
	{"<i2", tensor.I16},
	{"<i4", tensor.I32},
	{"<i8", tensor.I64},
	{"|u1", tensor.U8},
	{"<u2", tensor.U16},
	{"<u4", tensor.U32},
	{"<u8", tensor.U64},
	{"|b1", tensor.Bool},
	{"<c8", tensor.C64},
	{"<c16", tensor.C128},
}

func dtypeOf(descr string) (tensor.DType, error) {
	for _, row := range descrs {
		if row.descr == descr || row.descr[0] == '|' && len(descr) == 3 && row.descr[1:] == descr[1:] {
			return row.dtype, nil
		}
	}
	if strings.HasPrefix(descr, ">") {
		return tensor.Invalid, errors.New("the elements are big-endian; save a little-endian copy")
	}
	return tensor.Invalid, fmt.Errorf("element type %q has no counterpart", descr)
}

func descrOf(d tensor.DType) string {
	for _, row := range descrs {
		if row.dtype == d {
			return row.descr
		}
	}
	return ""
}

// Holds reports whether the format has the element type. It is true for strings, which are written
// as text of a fixed width.
func Holds(d tensor.DType) bool { return d == tensor.String || descrOf(d) != "" }

var (
	descrField   = regexp.MustCompile(`'descr':\s*'([^']*)'`)
	fortranField = regexp.MustCompile(`'fortran_order':\s*(True|False)`)
	shapeField   = regexp.MustCompile(`'shape':\s*\(([^)]*)\)`)
)

// Decode returns the tensor of a file, or the error of ctx if ctx ends. The tensor may share memory
// with data.
func Decode(ctx context.Context, data []byte) (*tensor.Tensor, error) {
	header, body, err := split(data)
	if err != nil {
		return nil, err
	}
	descr := descrField.FindSubmatch(header)
	fortran := fortranField.FindSubmatch(header)
	extents := shapeField.FindSubmatch(header)
	if descr == nil || fortran == nil || extents == nil {
		return nil, errors.New("the header lacks a plain descr, fortran_order or shape; structured types cannot be read")
	}
	shape, err := parseShape(string(extents[1]))
	if err != nil {
		return nil, err
	}
	if string(fortran[1]) == "True" && len(shape) > 1 {
		return nil, errors.New("the elements are in Fortran order; save numpy.ascontiguousarray of the array")
	}
	if width, ok := strings.CutPrefix(string(descr[1]), "<U"); ok {
		return decodeText(ctx, width, shape, body)
	}
	d, err := dtypeOf(string(descr[1]))
	if err != nil {
		return nil, err
	}
	if want := d.Bytes(shape.Len()); len(body) < want {
		return nil, fmt.Errorf("%v%v takes %d bytes of elements; the file has %d", d, shape, want, len(body))
	}
	t, err := tensor.FromBytes(d, shape, body[:d.Bytes(shape.Len())])
	if err != nil {
		return nil, err
	}
	return t.Aligned(), nil
}

// split returns the text of the header and the bytes of the elements.
func split(data []byte) (header, body []byte, err error) {
	if len(data) < 10 || string(data[:6]) != magic {
		return nil, nil, errors.New("not a .npy file: it does not begin as one")
	}
	var n, at int
	switch version := data[6]; {
	case version == 1:
		n, at = int(binary.LittleEndian.Uint16(data[8:])), 10
	case (version == 2 || version == 3) && len(data) >= 12:
		n, at = int(binary.LittleEndian.Uint32(data[8:])), 12
	default:
		return nil, nil, fmt.Errorf("version %d of the .npy format is unknown", version)
	}
	if n > maxHeader || at+n > len(data) {
		return nil, nil, fmt.Errorf("a header of %d bytes does not fit", n)
	}
	return data[at : at+n], data[at+n:], nil
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
			return nil, fmt.Errorf("extent %q of the shape is no number", part)
		}
		shape = append(shape, n)
	}
	return shape, shape.Check()
}

// decodeText reads strings of width UTF-32 characters each, padded with zeros.
func decodeText(ctx context.Context, width string, shape tensor.Shape, body []byte) (*tensor.Tensor, error) {
	w, err := strconv.Atoi(width)
	if err != nil || w < 0 || w > maxHeader {
		return nil, fmt.Errorf("strings of width %q cannot be read", width)
	}
	n := shape.Len()
	if w > 0 && n > len(body)/4/w {
		return nil, fmt.Errorf("%d strings of width %d need more than the file's %d bytes", n, w, len(body))
	}
	if w == 0 && n > len(body)+maxHeader {
		return nil, fmt.Errorf("%d empty strings are too many", n)
	}
	list := make([]string, n)
	err = pieces.Each(ctx, n, max(pieces.Elements/(w+1), 1), func(i, end int) {
		for ; i < end; i++ {
			list[i] = textOf(body[4*i*w:][:4*w])
		}
	})
	if err != nil {
		return nil, err
	}
	return tensor.FromStrings(list, shape...)
}

// textOf returns the UTF-32 characters of a string up to the first zero.
func textOf(chars []byte) string {
	var text []byte
	for ; len(chars) > 0; chars = chars[4:] {
		r := rune(binary.LittleEndian.Uint32(chars))
		if r == 0 {
			break
		}
		text = utf8.AppendRune(text, r)
	}
	return string(text)
}

// Write writes a tensor to w. If Holds is false for its element type, it returns an error.
func Write(w io.Writer, t *tensor.Tensor) error {
	descr, body := descrOf(t.DType()), t.Bytes()
	if t.DType() == tensor.String {
		descr, body = encodeText(t.Strings())
	}
	if descr == "" {
		return fmt.Errorf(".npy has no element type for %v", t.DType())
	}
	if n := len(t.Shape()); n > maxAxes {
		return fmt.Errorf(".npy has no place for %d axes; NumPy reads up to %d", n, maxAxes)
	}
	parts := make([]string, len(t.Shape()))
	for i, n := range t.Shape() {
		parts[i] = strconv.Itoa(n)
	}
	extents := strings.Join(parts, ",")
	if len(parts) == 1 {
		extents += ","
	}
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, extents)
	const prefix = len(magic) + 4
	fill := 63 - (prefix+len(dict))%64
	header := make([]byte, 0, prefix+len(dict)+fill+1)
	header = append(header, magic...)
	header = append(header, 1, 0)
	header = binary.LittleEndian.AppendUint16(header, uint16(len(dict)+fill+1))
	header = append(header, dict...)
	header = append(header, bytes.Repeat([]byte(" "), fill)...)
	header = append(header, '\n')
	if _, err := w.Write(header); err != nil {
		return err
	}
	_, err := w.Write(body)
	return err
}

func encodeText(list []string) (descr string, body []byte) {
	width := 1
	for _, s := range list {
		width = max(width, utf8.RuneCountInString(s))
	}
	for _, s := range list {
		n := 0
		for _, r := range s {
			body = binary.LittleEndian.AppendUint32(body, uint32(r))
			n++
		}
		body = append(body, make([]byte, 4*(width-n))...)
	}
	return "<U" + strconv.Itoa(width), body
}

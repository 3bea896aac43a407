package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/guard"
)

// Write writes a tensor as a .npy file of version 1, little-endian and row-major, with elements at
// a multiple of 64 bytes. The error is ErrUnsupported if Holds is false for the element type, or for
// more than 64 axes, and ErrShape for nil.
func Write(w io.Writer, t *nacre.Tensor) (err error) {
	defer guard.At("").End(&err)
	if t.DType() == nacre.Invalid {
		return errorf(nacre.ErrShape, "there is no tensor to write")
	}
	descr, body := descrOf(t.DType()), t.Bytes()
	if t.DType() == nacre.String {
		descr, body = encodeText(t.Strings())
	}
	if descr == "" {
		return errorf(nacre.ErrUnsupported, ".npy has no element type for %v", t.DType())
	}
	shape := t.Shape()
	if n := len(shape); n > maxAxes {
		return errorf(nacre.ErrUnsupported, ".npy has no place for %d axes; NumPy reads up to %d", n, maxAxes)
	}
	if _, err := w.Write(headerOf(descr, shape)); err != nil {
		return err
	}
	_, err = w.Write(body)
	return err
}

// headerOf returns the header of an array.
func headerOf(descr string, shape []int) []byte {
	parts := make([]string, len(shape))
	for i, n := range shape {
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
	return append(header, '\n')
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

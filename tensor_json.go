package nacre

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// MarshalJSON returns the tensor as an object with its element type, its shape and its elements in
// row-major order:
//
//	{"dtype":"float32","shape":[2,2],"data":[1,2.5,"NaN","-Infinity"]}
//
// A number is the shortest that parses to the same element. What JSON has no numbers for is the
// string "NaN", "Infinity" or "-Infinity"; all NaNs become one. A complex number is a list of its
// real and its imaginary part. In place of a list, elements of 8 bits or less that are floats, elements
// narrower than a byte and elements in blocks are one string: Tensor.Bytes in base64.
//
// The zero Tensor becomes null, as nil does. The error is ErrUnsupported for a string that is no valid
// UTF-8.
func (t *Tensor) MarshalJSON() (_ []byte, err error) {
	defer enter("").end(&err)
	d := tensor.DType(t.DType())
	if d == tensor.Invalid {
		return []byte("null"), nil
	}
	b := append([]byte(`{"dtype":`), strconv.Quote(d.String())...)
	b = append(b, `,"shape":[`...)
	for i, n := range t.t.Shape() {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	b = append(b, `],"data":`...)
	if b, err = appendElements(b, d, t); err != nil {
		return nil, err
	}
	return append(b, '}'), nil
}

// appendElements appends the elements of a tensor as JSON.
func appendElements(b []byte, d tensor.DType, t *Tensor) ([]byte, error) {
	switch d {
	case tensor.F32:
		return listed(b, tensor.View[float32](&t.t), appendFloat32), nil
	case tensor.F64:
		return listed(b, tensor.View[float64](&t.t), func(b []byte, v float64) []byte { return appendFloat(b, v, 64) }), nil
	case tensor.F16, tensor.BF16:
		list, err := Float32s(t)
		return listed(b, list, appendFloat32), err
	case tensor.Bool:
		return listed(b, tensor.View[bool](&t.t), strconv.AppendBool), nil
	case tensor.C64:
		return listed(b, tensor.View[complex64](&t.t), func(b []byte, v complex64) []byte {
			return appendParts(b, float64(real(v)), float64(imag(v)), 32)
		}), nil
	case tensor.C128:
		return listed(b, tensor.View[complex128](&t.t), func(b []byte, v complex128) []byte {
			return appendParts(b, real(v), imag(v), 64)
		}), nil
	case tensor.String:
		return appendStrings(b, t.t.Strings())
	}
	if !d.IsInteger() || d.Layout() != nil {
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), t.t.Bytes()), '"'), nil
	}
	b = append(b, '[')
	for i := range t.Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, t.t.Text(i)...)
	}
	return append(b, ']'), nil
}

// listed appends a list of elements.
func listed[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, v)
	}
	return append(b, ']')
}

// appendFloat appends a number of this many bits.
func appendFloat(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

func appendFloat32(b []byte, v float32) []byte { return appendFloat(b, float64(v), 32) }

func appendParts(b []byte, re, im float64, bits int) []byte {
	b = append(appendFloat(append(b, '['), re, bits), ',')
	return append(appendFloat(b, im, bits), ']')
}

func appendStrings(b []byte, list []string) ([]byte, error) {
	for i, s := range list {
		if !utf8.ValidString(s) {
			return nil, markf(ErrUnsupported, "element %d, %q, is no valid UTF-8, which JSON has no form for", i, s)
		}
	}
	if list == nil {
		list = []string{}
	}
	text, err := json.Marshal(list)
	return append(b, text...), err
}

// UnmarshalJSON sets t to a tensor in the form of MarshalJSON, with memory of its own. A null
// changes nothing. Numbers must be numbers of the element type: integers in its range, and floats,
// which are rounded. The error is ErrFormat for another form, ErrUnsupported for an unknown
// element type, and ErrShape if the shape does not fit the number of elements.
func (t *Tensor) UnmarshalJSON(text []byte) (err error) {
	defer enter("").end(&err)
	switch {
	case t == nil:
		return markf(ErrShape, "a tensor of JSON is to be stored in a nil tensor")
	case string(bytes.TrimSpace(text)) == "null":
		return nil
	}
	var of struct {
		DType *string         `json:"dtype"`
		Shape *[]int          `json:"shape"`
		Data  json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &of); err != nil {
		return markf(ErrFormat, "a tensor of JSON: %w", err)
	}
	var missing []string
	for _, field := range []struct {
		name string
		has  bool
	}{{"dtype", of.DType != nil}, {"shape", of.Shape != nil}, {"data", of.Data != nil}} {
		if !field.has {
			missing = append(missing, field.name)
		}
	}
	if missing != nil {
		return markf(ErrFormat, "a tensor of JSON is an object with dtype, shape and data; it has no %s", strings.Join(missing, " and no "))
	}
	d, err := ParseDType(*of.DType)
	if err != nil {
		return markf(ErrUnsupported, "dtype of a tensor of JSON: %w", err)
	}
	made, err := elementsOf(d, *of.Shape, bytes.TrimSpace(of.Data))
	if err != nil {
		return err
	}
	t.t = made.t
	return nil
}

// elementsOf returns the tensor of a valid JSON text of elements.
func elementsOf(d DType, shape []int, text []byte) (*Tensor, error) {
	if err := tensor.DType(d).Check(shape); err != nil {
		return nil, markf(ErrShape, "shape of a tensor of JSON: %w", err)
	}
	if text[0] == '"' {
		return encodedOf(d, shape, text)
	}
	if text[0] != '[' {
		return nil, markf(ErrFormat, "data of a tensor of JSON is neither a list nor a string")
	}
	if d == String {
		return stringsOf(shape, text)
	}
	n, s := tensor.Shape(shape).Len(), &scanner{rest: text[1 : len(text)-1]}
	if n > len(text) { // an element takes a byte or more
		return nil, markf(ErrShape, "a tensor of JSON: %v%v has %d elements, and data is %d bytes long", d, tensor.Shape(shape), n, len(text))
	}
	switch d {
	case Float32:
		return scanned(s, n, shape, func() float32 { return float32(s.float(32)) })
	case Float64:
		return scanned(s, n, shape, func() float64 { return s.float(64) })
	case Float16:
		return scanned(s, n, shape, func() packed.F16 { return narrow(s, packed.ToF16) })
	case BFloat16:
		return scanned(s, n, shape, func() packed.BF16 { return narrow(s, packed.ToBF16) })
	case Complex64:
		return scanned(s, n, shape, func() complex64 { return complex64(s.complex(32)) })
	case Complex128:
		return scanned(s, n, shape, func() complex128 { return s.complex(64) })
	case Bool:
		return scanned(s, n, shape, s.bool)
	case Int8:
		return scanned(s, n, shape, func() int8 { return int8(s.int(8)) })
	case Int16:
		return scanned(s, n, shape, func() int16 { return int16(s.int(16)) })
	case Int32:
		return scanned(s, n, shape, func() int32 { return int32(s.int(32)) })
	case Int64:
		return scanned(s, n, shape, func() int64 { return s.int(64) })
	case Uint8:
		return scanned(s, n, shape, func() uint8 { return uint8(s.uint(8)) })
	case Uint16:
		return scanned(s, n, shape, func() uint16 { return uint16(s.uint(16)) })
	case Uint32:
		return scanned(s, n, shape, func() uint32 { return uint32(s.uint(32)) })
	case Uint64:
		return scanned(s, n, shape, func() uint64 { return s.uint(64) })
	}
	return nil, markf(ErrFormat, "data of a tensor of JSON: %v is one string in base64, not a list", d)
}

// encodedOf returns the tensor of bytes in base64.
func encodedOf(d DType, shape []int, text []byte) (*Tensor, error) {
	if bits := d.Bits(); d == String || bits > 8 || bits == 8 && !d.IsFloat() {
		return nil, markf(ErrFormat, "data of a tensor of JSON: %v is a list, not a string", d)
	}
	var data []byte
	if err := json.Unmarshal(text, &data); err != nil {
		return nil, markf(ErrFormat, "data of a tensor of JSON: %w", err)
	}
	x, err := FromBytes(d, data, shape...)
	if err != nil {
		return nil, markf(ErrShape, "data of a tensor of JSON: %w", err)
	}
	return x, nil
}

func stringsOf(shape []int, text []byte) (*Tensor, error) {
	var list []*string
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, markf(ErrFormat, "data of a tensor of JSON: %w", err)
	}
	out := make([]string, len(list))
	for i, s := range list {
		if s == nil {
			return nil, markf(ErrFormat, "data of a tensor of JSON: element %d is null, no string", i)
		}
		out[i] = *s
	}
	x, err := Strings(out, shape...)
	if err != nil {
		return nil, markf(ErrShape, "data of a tensor of JSON: %w", err)
	}
	return x, nil
}

// scanned reads n elements and no more.
func scanned[T Element](s *scanner, n int, shape []int, one func() T) (*Tensor, error) {
	list := make([]T, n)
	for s.at = range list {
		if !s.next() {
			return nil, markf(ErrShape, "data of a tensor of JSON has %d elements, and the shape %v takes %d", s.at,
				tensor.Shape(shape), n)
		}
		if list[s.at] = one(); s.err != nil {
			return nil, s.err
		}
	}
	if s.next() {
		return nil, markf(ErrShape, "data of a tensor of JSON has more elements than the %d that the shape %v takes", n,
			tensor.Shape(shape))
	}
	return NewTensor(list, shape...)
}

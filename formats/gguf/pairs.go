package gguf

import (
	"encoding/binary"

	"github.com/nacre-ml/nacre/formats/internal/binio"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The numbers of the types of values that are no numbers.
const (
	stringValue = 8
	arrayValue  = 9
)

// values has the types of values by number. An array has elements of a type of its own.
var values = []struct {
	word  string
	dtype tensor.DType
}{
	{"u8", tensor.U8}, {"i8", tensor.I8}, {"u16", tensor.U16}, {"i16", tensor.I16}, {"u32", tensor.U32}, {"i32", tensor.I32},
	{"f32", tensor.F32}, {"bool", tensor.Bool}, {"string", tensor.String}, {"array", tensor.Invalid},
	{"u64", tensor.U64}, {"i64", tensor.I64}, {"f64", tensor.F64},
}

// The kinds of arrays.
const (
	arrayOf = "array of "
	nested  = arrayOf + "array"
)

// pairBytes is the memory that a pair takes, beside its key and value.
const pairBytes = 384

// pair reads a pair. It reports whether reading can go on.
func (s *scanner) pair(r *binio.Reader) bool {
	at := r.Offset()
	key := s.text(r, "a key")
	kind := s.valueType(r)
	if r.Failed() || !s.Take(at, pairBytes) {
		return false
	}
	if key == "" {
		s.Add(at, graph.ErrFormat, "a key is empty")
	}
	if _, twice := s.keys[key]; twice {
		s.Add(at, graph.ErrFormat, "the key %.80q is there more than once", key)
	}
	s.keys[key] = at
	p := graph.Pair{Key: key, Kind: values[kind].word}
	switch kind {
	case stringValue:
		p.Value = s.text(r, "a string")
	case arrayValue:
		p.Kind, p.Data = s.array(r)
	default:
		p.Data = s.numbers(r, values[kind].dtype, 1, tensor.Shape{})
	}
	if r.Failed() || !s.Goes() {
		return false
	}
	s.meta = append(s.meta, p)
	return true
}

// text reads a string.
func (s *scanner) text(r *binio.Reader, what string) string {
	at := r.Offset()
	b := r.Bytes(r.U64("the length of a string"), what)
	if r.Failed() || !s.Take(at, len(b)) {
		return ""
	}
	return string(b)
}

// valueType reads the number of a type of values.
func (s *scanner) valueType(r *binio.Reader) uint32 {
	at := r.Offset()
	n := r.U32("the type of a value")
	if n >= uint32(len(values)) {
		r.Fail(at, "a value is of type %d; the types are 0 to %d", n, len(values)-1)
	}
	if r.Failed() {
		return 0
	}
	return n
}

// numbers reads n numbers or booleans. After a failure it returns nil.
func (s *scanner) numbers(r *binio.Reader, d tensor.DType, n uint64, shape tensor.Shape) *tensor.Tensor {
	size := d.Bits() / 8
	if !r.Count(n, size, "values") || !s.Take(r.Offset(), tensor.Align+int(n)*size) {
		return nil
	}
	t := tensor.New(d, shape...)
	data := t.Bytes()
	copy(data, r.Bytes(n*uint64(size), "values"))
	if s.big {
		reverse(data, size)
	}
	if d == tensor.Bool {
		for i, b := range data {
			if b != 0 {
				data[i] = 1
			}
		}
	}
	return t
}

// stringBytes is the memory of a string, beside its bytes.
const stringBytes = 16

// strings reads n strings. They share one copy of the file's bytes. After a failure it returns nil.
func (s *scanner) strings(r *binio.Reader, n uint64) *tensor.Tensor {
	begin := r.Offset()
	if !r.Count(n, 8, "strings") || !s.Take(begin, stringBytes*int(n)) {
		return nil
	}
	const each = 1 << 12 // strings between two looks at the context
	for i := range n {
		r.Bytes(r.U64("the length of a string"), "a string")
		if r.Failed() || i%each == 0 && !s.Goes() {
			return nil
		}
	}
	if !s.Take(begin, r.Offset()-begin) {
		return nil
	}
	all := string(s.data[begin:r.Offset()])
	list := make([]string, n)
	for i, at := 0, 0; i < len(list); i++ {
		length := int(s.order.Uint64(s.data[begin+at:]))
		at += 8
		list[i] = all[at : at+length]
		at += length
	}
	t, err := tensor.FromStrings(list, len(list))
	if err != nil {
		r.Fail(begin, "%w", err)
		return nil
	}
	return t
}

// array reads an array, and returns its kind and its elements. After a failure these are empty.
func (s *scanner) array(r *binio.Reader) (kind string, t *tensor.Tensor) {
	at := r.Offset()
	of := s.valueType(r)
	n := r.U64("the length of an array")
	switch {
	case r.Failed():
	case of == stringValue:
		t = s.strings(r, n)
	case of == arrayValue:
		data := s.arrays(r, s.arrayHead(nil, of, n), n, 1)
		if !r.Failed() && s.Goes() {
			t = tensor.New(tensor.U8, len(data))
			copy(t.Bytes(), data)
		}
		return nested, t
	case int(n) < 0:
		r.Fail(at, "an array has %d elements", n)
	default:
		t = s.numbers(r, values[of].dtype, n, tensor.Shape{int(n)})
	}
	return arrayOf + values[of].word, t
}

// arrayHead appends the type and the number of an array's elements.
func (s *scanner) arrayHead(out []byte, of uint32, n uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(out, of), n)
}

// arrays appends n arrays, little-endian.
func (s *scanner) arrays(r *binio.Reader, out []byte, n uint64, depth int) []byte {
	if depth > maxDepth {
		r.Fail(r.Offset(), "arrays are nested more than %d deep", maxDepth)
	}
	if !r.Count(n, 12, "arrays") {
		return nil
	}
	for range n {
		out = s.within(r, out, depth)
		if r.Failed() || !s.Goes() {
			return nil
		}
	}
	return out
}

// within appends an array of an array.
func (s *scanner) within(r *binio.Reader, out []byte, depth int) []byte {
	at := r.Offset()
	of := s.valueType(r)
	n := r.U64("the length of an array")
	if r.Failed() {
		return nil
	}
	out = s.arrayHead(out, of, n)
	switch of {
	case arrayValue:
		return s.arrays(r, out, n, depth+1)
	case stringValue:
		if !r.Count(n, 8, "strings") {
			return nil
		}
		for range n {
			b := r.Bytes(r.U64("the length of a string"), "a string")
			if r.Failed() || !s.Take(at, 3*(8+len(b))) {
				return nil
			}
			out = append(binary.LittleEndian.AppendUint64(out, uint64(len(b))), b...)
		}
		return out
	}
	size := values[of].dtype.Bits() / 8
	if !r.Count(n, size, "values") || !s.Take(at, 3*(12+int(n)*size)) {
		return nil
	}
	from := len(out)
	out = append(out, r.Bytes(n*uint64(size), "values")...)
	if s.big {
		reverse(out[from:], size)
	}
	return out
}

// integer returns the integer of a pair. ok is false if there is another value.
func integer(p *graph.Pair) (v int64, ok bool) {
	if p.Data == nil || len(p.Data.Shape()) != 0 || !p.Data.DType().IsInteger() {
		return 0, false
	}
	switch d, b := p.Data.DType(), p.Data.Bytes(); d {
	case tensor.U8:
		return int64(b[0]), true
	case tensor.I8:
		return int64(int8(b[0])), true
	case tensor.U16:
		return int64(binary.LittleEndian.Uint16(b)), true
	case tensor.I16:
		return int64(int16(binary.LittleEndian.Uint16(b))), true
	case tensor.U32:
		return int64(binary.LittleEndian.Uint32(b)), true
	case tensor.I32:
		return int64(int32(binary.LittleEndian.Uint32(b))), true
	case tensor.I64, tensor.U64:
		v = int64(binary.LittleEndian.Uint64(b))
		return v, d == tensor.I64 || v >= 0
	}
	return 0, false
}

// find returns the pair with a key, nil if there is none.
func find(meta []graph.Pair, key string) *graph.Pair {
	for i := range meta {
		if meta[i].Key == key {
			return &meta[i]
		}
	}
	return nil
}

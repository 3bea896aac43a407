package onnx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacre-ml/nacre/formats/internal/container"
	"github.com/nacre-ml/nacre/internal/budget"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// decoder is the state that the messages of one file share. err is the first failure; it ends the
// walk of every message.
type decoder struct {
	file    string
	data    []byte
	limits  limits
	budget  *budget.Budget
	names   map[string]string
	words   map[string][]byte // of lists of strings
	depth   int
	fields  int
	objects int
	strings int
	ext     *external
	err     *graph.Error

	// collect makes keepProblem keep a failure and go on after the broken message.
	collect  bool
	problems []error
	warnings []error // for parts that the standard forbids and this package reads
}

func newDecoder(b *budget.Budget, file string, data []byte) *decoder {
	d := &decoder{file: file, data: data, limits: limits{}.withDefaults(), budget: container.Reading(b, len(data)), names: map[string]string{}}
	d.goes(0)
	return d
}

// fail records the first failure.
func (d *decoder) fail(at int, kind error, format string, args ...any) {
	if d.err == nil {
		d.err = &graph.Error{Stage: "load", File: d.file, Offset: int64(at), Kind: kind, Err: fmt.Errorf(format, args...)}
	}
}

func (d *decoder) bad(at int, format string, args ...any) {
	d.fail(at, graph.ErrFormat, format, args...)
}

// warn records a violation of the standard that does not end reading.
func (d *decoder) warn(at int, format string, args ...any) {
	if len(d.warnings) < maxProblems {
		d.warnings = append(d.warnings, &graph.Error{
			Stage: "load", File: d.file, Offset: int64(at), Kind: graph.ErrFormat, Err: fmt.Errorf(format, args...),
		})
	}
}

// keepProblem is called after each message that others do not depend on. If collect is set, it moves the
// failure of the message to problems.
func (d *decoder) keepProblem() {
	if d.collect && d.err != nil && len(d.problems) < maxProblems {
		d.problems = append(d.problems, d.err)
		d.err = nil
	}
}

const maxProblems = 100

// result returns err as an error, or nil if there is none.
func (d *decoder) result() error {
	if d.err == nil {
		return nil
	}
	return d.err
}

// The bytes that an object and a string take, beside their content.
const (
	objectBytes = 256
	stringBytes = 24
)

// take counts memory before it is allocated, and looks at the context now and then. If the budget
// is spent or its context has ended, take returns false and reading ends.
func (d *decoder) take(at, bytes int) bool { return d.spends(at, container.Take(d.budget, bytes)) }

// goes looks at the context. If it has ended, goes returns false and reading ends.
func (d *decoder) goes(at int) bool { return d.spends(at, d.budget.Err()) }

// spends records an error of the budget, if err is one, and ends reading. It reports whether err is
// nil.
func (d *decoder) spends(at int, err error) bool {
	if err == nil {
		return true
	}
	d.fail(at, container.KindOf(err), "%w", err)
	d.collect = false
	return false
}

// lookEvery is the number of fields or entries between two looks at the context.
const lookEvery = 1 << 14

// object counts one object against the limits.
func (d *decoder) object(at int) {
	d.take(at, objectBytes)
	if d.objects++; d.objects > d.limits.objects {
		d.bad(at, "more than %d nodes, attributes, tensors and values", d.limits.objects)
	}
}

// enter counts one level of nesting. leave ends the level, even if enter returned false.
func (d *decoder) enter(at int, what string) bool {
	if d.depth++; d.depth > d.limits.depth {
		d.bad(at, "%s nested more than %d deep", what, d.limits.depth)
	}
	return d.err == nil
}

func (d *decoder) leave() { d.depth-- }

func (d *decoder) root(what string) message { return message{d: d, what: what, end: len(d.data)} }

// message walks the fields of one message of the file.
type message struct {
	d        *decoder
	what     string
	start    int
	pos, end int // the rest of the message

	num  protowire.Number
	typ  protowire.Type
	at   int    // offset of the field's tag
	from int    // offset of the payload, for fields with a length
	val  uint64 // of any other field
	body []byte // payload of a field with a length
}

// next moves to the next field. At the end and after a failure it returns false.
func (m *message) next() bool {
	if m.d.err != nil || m.pos >= m.end {
		return false
	}
	m.at = m.pos
	if m.d.fields++; m.d.fields%lookEvery == 0 && !m.d.goes(m.at) {
		return false
	}
	b := m.d.data[m.pos:m.end]
	num, typ, tag := protowire.ConsumeTag(b)
	if tag < 0 {
		m.d.bad(m.at, "%s: no field tag: %w", m.what, protowire.ParseError(tag))
		return false
	}
	m.num, m.typ = num, typ
	n := m.value(b[tag:])
	if n < 0 {
		m.d.bad(m.at, "%s: field %d: %w", m.what, num, m.broken(b[tag:], n))
		return false
	}
	m.from = m.at + tag + n - len(m.body)
	m.pos = m.at + tag + n
	return true
}

func (m *message) value(b []byte) (n int) {
	m.val, m.body = 0, nil
	switch m.typ {
	case protowire.VarintType:
		m.val, n = protowire.ConsumeVarint(b)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		m.val = uint64(v)
	case protowire.Fixed64Type:
		m.val, n = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		m.body, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(m.num, m.typ, b)
	}
	return n
}

// broken returns the reason why the payload of the field cannot be read. code is the error code of
// protowire.
func (m *message) broken(b []byte, code int) error {
	err := protowire.ParseError(code)
	if m.typ != protowire.BytesType {
		return err
	}
	size, n := protowire.ConsumeVarint(b)
	if n < 0 || size <= uint64(len(b)-n) {
		return err
	}
	return fmt.Errorf("it takes %d bytes and %d are left, so that the file is cut off or damaged: %w", size, len(b)-n, err)
}

func (m *message) is(t protowire.Type) bool {
	if m.typ != t {
		m.d.bad(m.at, "%s: field %d has wire type %d where %d belongs", m.what, m.num, m.typ, t)
	}
	return m.typ == t
}

func (m *message) int() int64 {
	m.is(protowire.VarintType)
	return int64(m.val)
}

func (m *message) float() float32 {
	m.is(protowire.Fixed32Type)
	return math.Float32frombits(uint32(m.val))
}

func (m *message) bytes() []byte {
	m.is(protowire.BytesType)
	m.d.take(m.at, stringBytes+len(m.body))
	if m.d.strings++; m.d.strings > m.d.limits.strings {
		m.d.bad(m.at, "more than %d strings", m.d.limits.strings)
	}
	return m.body
}

// text returns a string that rarely occurs twice.
func (m *message) text() string { return string(m.bytes()) }

// name returns a string that may occur often. Equal strings share memory.
func (m *message) name() string {
	b := m.bytes()
	s, ok := m.d.names[string(b)]
	if !ok {
		s = string(b)
		m.d.names[s] = s
	}
	return s
}

// word returns the bytes of a string in a list. Equal short strings share memory.
func (m *message) word() []byte {
	b := m.bytes()
	if len(b) > mostWord {
		return bytes.Clone(b)
	}
	w, ok := m.d.words[string(b)]
	if !ok {
		if w = bytes.Clone(b); m.d.words == nil {
			m.d.words = map[string][]byte{}
		}
		m.d.words[string(w)] = w
	}
	return w
}

// mostWord is the length in bytes up to which strings of lists share memory.
const mostWord = 32

// sub returns the message in the field, and counts it as an object.
func (m *message) sub(what string) message {
	m.d.object(m.at)
	if !m.is(protowire.BytesType) {
		return message{d: m.d, what: what, start: m.at}
	}
	return message{d: m.d, what: what, start: m.from, pos: m.from, end: m.pos}
}

// ints appends the entries of a repeated varint field, packed or not.
func (m *message) ints(list []int64) []int64 {
	if m.typ != protowire.BytesType {
		if list == nil {
			n := m.alike()
			if !m.d.take(m.at, 8*n) {
				return nil
			}
			list = make([]int64, 0, n)
		}
		list = append(list, m.int())
		for b := m.repeated(); len(b) > 0; b = m.repeated() {
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return list // next reports the failure
			}
			list = append(list, int64(v))
			if m.skip(n); len(list)%lookEvery == 0 && !m.d.goes(m.at) {
				return list
			}
		}
		return list
	}
	n := varints(m.body)
	if !m.d.take(m.at, 8*n) {
		return nil
	}
	if list == nil {
		list = make([]int64, 0, n)
	}
	for b := m.body; len(b) > 0; {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			m.d.bad(m.pos-len(b), "%s: field %d: %w", m.what, m.num, protowire.ParseError(n))
			return list
		}
		list = append(list, int64(v))
		if b = b[n:]; len(list)%lookEvery == 0 && !m.d.goes(m.at) {
			return list
		}
	}
	return list
}

// floats appends the entries of a repeated float field, packed or not.
func (m *message) floats(list []float32) []float32 {
	if m.typ != protowire.BytesType {
		if list == nil {
			n := m.alike()
			if !m.d.take(m.at, 4*n) {
				return nil
			}
			list = make([]float32, 0, n)
		}
		list = append(list, m.float())
		for b := m.repeated(); len(b) > 0; b = m.repeated() {
			v, n := protowire.ConsumeFixed32(b)
			if n < 0 {
				return list // next reports the failure
			}
			list = append(list, math.Float32frombits(v))
			if m.skip(n); len(list)%lookEvery == 0 && !m.d.goes(m.at) {
				return list
			}
		}
		return list
	}
	if len(m.body)%4 != 0 {
		m.d.bad(m.at, "%s: field %d: %d bytes of floats", m.what, m.num, len(m.body))
		return list
	}
	if !m.d.take(m.at, len(m.body)) {
		return nil
	}
	if list == nil {
		list = make([]float32, 0, len(m.body)/4)
	}
	for b := m.body; len(b) > 0; b = b[4:] {
		if len(list)%lookEvery == 0 && !m.d.goes(m.at) {
			return list
		}
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	return list
}

// repeated returns the bytes after the tag of the next field, if that is the tag of this field and
// takes one byte. If not, it returns nil.
func (m *message) repeated() []byte {
	tag := m.d.data[m.at]
	if m.d.err != nil || tag >= 0x80 || m.pos >= m.end || m.d.data[m.pos] != tag {
		return nil
	}
	return m.d.data[m.pos+1 : m.end]
}

// skip moves to the next field, with a payload of n bytes.
func (m *message) skip(n int) {
	m.at = m.pos
	m.pos += 1 + n
}

// alike returns the number of consecutive fields with the tag of this field, which is one of them.
// If the tag takes more than one byte, the result is 1.
func (m *message) alike() int {
	count, tag := 1, m.d.data[m.at]
	for b := m.repeated(); len(b) > 0; b = b[1:] {
		n := m.payload(b)
		if n < 0 {
			break
		}
		count++
		if b = b[n:]; len(b) == 0 || b[0] != tag {
			break
		}
	}
	return count
}

// payload returns the length of a field like this one after its tag. It is negative if the field is
// cut off.
func (m *message) payload(b []byte) int {
	if m.typ != protowire.VarintType {
		return protowire.ConsumeFieldValue(m.num, m.typ, b)
	}
	for i, c := range b {
		if c < 0x80 {
			return i + 1
		}
	}
	return -1
}

// varints returns the number of varints that end within b.
func varints(b []byte) int {
	n := 0
	for _, c := range b {
		if c < 0x80 {
			n++
		}
	}
	return n
}

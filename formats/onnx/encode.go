package onnx

import (
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/runtime/graph"
)

// encoder builds one message. The message is the parts, then buf. Long payloads are parts that are
// not copied.
type encoder struct {
	parts [][]byte
	size  int // of all parts
	buf   []byte
}

// minShared is the length in bytes from which payloads are not copied.
const minShared = 4096

func (e *encoder) len() int { return e.size + len(e.buf) }

func (e *encoder) tag(num protowire.Number, t protowire.Type) {
	e.buf = protowire.AppendTag(e.buf, num, t)
}

func (e *encoder) int(num protowire.Number, v int64) {
	e.tag(num, protowire.VarintType)
	e.buf = protowire.AppendVarint(e.buf, uint64(v))
}

func (e *encoder) ints(num protowire.Number, list []int64) {
	for _, v := range list {
		e.int(num, v)
	}
}

func (e *encoder) float(num protowire.Number, v float32) {
	e.tag(num, protowire.Fixed32Type)
	e.buf = protowire.AppendFixed32(e.buf, math.Float32bits(v))
}

// text writes a string field. If s is empty, it writes nothing.
func (e *encoder) text(num protowire.Number, s string) {
	if s != "" {
		e.entry(num, s)
	}
}

// entry writes a string field, even if s is empty.
func (e *encoder) entry(num protowire.Number, s string) {
	e.tag(num, protowire.BytesType)
	e.buf = protowire.AppendString(e.buf, s)
}

func (e *encoder) entries(num protowire.Number, list []string) {
	for _, s := range list {
		e.entry(num, s)
	}
}

func (e *encoder) bytes(num protowire.Number, b []byte) {
	e.tag(num, protowire.BytesType)
	e.buf = protowire.AppendVarint(e.buf, uint64(len(b)))
	if len(b) < minShared {
		e.buf = append(e.buf, b...)
		return
	}
	e.flush()
	e.parts = append(e.parts, b)
	e.size += len(b)
}

func (e *encoder) flush() {
	if len(e.buf) > 0 {
		e.parts = append(e.parts, e.buf)
		e.size += len(e.buf)
		e.buf = nil
	}
}

// message writes a field with the message that fill builds.
func (e *encoder) message(num protowire.Number, fill func(*encoder)) {
	var s encoder
	fill(&s)
	e.tag(num, protowire.BytesType)
	e.buf = protowire.AppendVarint(e.buf, uint64(s.len()))
	if len(s.parts) == 0 {
		e.buf = append(e.buf, s.buf...)
		return
	}
	e.flush()
	e.parts = append(e.parts, s.parts...)
	e.size += s.size
	e.buf = s.buf
}

func (e *encoder) pairs(num protowire.Number, list []graph.Pair) {
	for _, p := range list {
		e.message(num, func(e *encoder) {
			e.entry(1, p.Key)
			e.entry(2, p.Value)
		})
	}
}

// appendTo appends the message to b.
func (e *encoder) appendTo(b []byte) []byte {
	for _, p := range e.parts {
		b = append(b, p...)
	}
	return append(b, e.buf...)
}

// WriteTo writes the message to w. Pages of mapped files are released once they are written.
func (e *encoder) WriteTo(w io.Writer) (int64, error) {
	e.flush()
	total := int64(0)
	for _, p := range e.parts {
		n, err := w.Write(p)
		total += int64(n)
		if err != nil {
			return total, err
		}
		mapped.Release(p)
	}
	return total, nil
}

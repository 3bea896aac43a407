package binio

import (
	"encoding/binary"
	"io"
)

// Writer writes little-endian numbers and byte strings one after another. It keeps the first error,
// and writes nothing after it.
type Writer struct {
	w   io.Writer
	n   int64
	err error
}

// NewWriter returns a writer to w with offset 0.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Offset returns the number of bytes written.
func (w *Writer) Offset() int64 { return w.n }

// Err returns the first error.
func (w *Writer) Err() error { return w.err }

// Write appends bytes.
func (w *Writer) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.w.Write(b)
	w.n += int64(n)
	w.err = err
	return n, err
}

// Append appends all bytes of a source. An error of the source counts as an error of the writer.
func (w *Writer) Append(src io.WriterTo) {
	if w.err != nil {
		return
	}
	if _, err := src.WriteTo(w); w.err == nil {
		w.err = err
	}
}

// U8 appends a byte.
func (w *Writer) U8(v uint8) { w.Write([]byte{v}) }

// U32 appends four bytes.
func (w *Writer) U32(v uint32) { w.Write(binary.LittleEndian.AppendUint32(nil, v)) }

// U64 appends eight bytes.
func (w *Writer) U64(v uint64) { w.Write(binary.LittleEndian.AppendUint64(nil, v)) }

// Align appends zeros up to a multiple of n bytes from the start.
func (w *Writer) Align(n int64) { w.Zeros((n - w.n%n) % n) }

// Zeros appends n zeros.
func (w *Writer) Zeros(n int64) {
	var zeros [512]byte
	for ; n > 0 && w.err == nil; n -= int64(len(zeros)) {
		w.Write(zeros[:min(n, int64(len(zeros)))])
	}
}

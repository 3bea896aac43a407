package binio

import (
	"encoding/binary"
	"fmt"
)

// Reader reads numbers and byte strings one after another. Numbers are little-endian unless
// BigEndian was called. The first read past the end is reported with its offset. That read and all later ones return zeros.
type Reader struct {
	data   []byte
	off    int
	failed bool
	big    bool
	report func(off int, err error)
}

// NewReader returns a reader of data that begins at offset off. It calls report with the offset and
// the reason of the first failure.
func NewReader(data []byte, off int, report func(off int, err error)) *Reader {
	r := &Reader{data: data, off: off, report: report}
	if off < 0 || off > len(data) {
		r.off = len(data)
		r.fail(fmt.Errorf("offset %d is outside the %d bytes of data", off, len(data)))
	}
	return r
}

// BigEndian makes later reads take numbers as big-endian.
func (r *Reader) BigEndian() { r.big = true }

// Offset returns the offset of the next read.
func (r *Reader) Offset() int { return r.off }

// Remaining returns the number of bytes left. After a failure it is 0.
func (r *Reader) Remaining() int {
	if r.failed {
		return 0
	}
	return len(r.data) - r.off
}

// Failed reports whether a read failed.
func (r *Reader) Failed() bool { return r.failed }

// Fail ends reading with an error at offset off. After a failure it does nothing.
func (r *Reader) Fail(off int, format string, args ...any) {
	if !r.failed {
		r.failed = true
		r.report(off, fmt.Errorf(format, args...))
	}
}

func (r *Reader) fail(err error) { r.Fail(r.off, "%w", err) }

// Bytes returns a view of the next n bytes. The report calls them what.
func (r *Reader) Bytes(n uint64, what string) []byte {
	if r.failed {
		return nil
	}
	if n > uint64(len(r.data)-r.off) {
		r.fail(fmt.Errorf("%s takes %d bytes and %d are left", what, n, len(r.data)-r.off))
		return nil
	}
	b := r.data[r.off : r.off+int(n) : r.off+int(n)]
	r.off += int(n)
	return b
}

// Count reports whether n items of at least each bytes can follow. If not, reading fails.
func (r *Reader) Count(n uint64, each int, what string) bool {
	if !r.failed && n > uint64(r.Remaining()/each) {
		r.fail(fmt.Errorf("%d %s take at least %d bytes each and %d are left", n, what, each, r.Remaining()))
	}
	return !r.failed
}

// U8 reads a byte.
func (r *Reader) U8(what string) uint8 {
	if b := r.Bytes(1, what); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads two bytes.
func (r *Reader) U16(what string) uint16 {
	if b := r.Bytes(2, what); b != nil {
		if r.big {
			return binary.BigEndian.Uint16(b)
		}
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads four bytes.
func (r *Reader) U32(what string) uint32 {
	if b := r.Bytes(4, what); b != nil {
		if r.big {
			return binary.BigEndian.Uint32(b)
		}
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads eight bytes.
func (r *Reader) U64(what string) uint64 {
	if b := r.Bytes(8, what); b != nil {
		if r.big {
			return binary.BigEndian.Uint64(b)
		}
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

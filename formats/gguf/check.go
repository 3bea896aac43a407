package gguf

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// values reports tensors with numbers or scales that are not finite: of each the first.
func (s *scanner) values() {
	if s.First() != nil {
		return
	}
	for i := range s.tensors {
		e := &s.tensors[i]
		if e.kind.factor {
			s.ternaryProblem(e, s.bytesOf(e))
			continue
		}
		data, step := s.bytesOf(e), pieces.Bytes/e.kind.bytes*e.kind.bytes
		for at := 0; at < len(data); at += step {
			if !s.Goes() {
				return
			}
			piece := data[at:min(at+step, len(data))]
			if s.big {
				piece = append([]byte(nil), piece...)
				e.kind.swap(piece)
			}
			if k := e.kind.notFinite(piece); k >= 0 {
				what := "a number"
				if e.kind.elements > 1 {
					what = "a block with a scale"
				}
				s.Add(int(s.begin+e.offset)+at+k*e.kind.bytes, graph.ErrFormat,
					"tensor %.80q has %s that is not finite, at element %d",
					e.name, what, (at/e.kind.bytes+k)*e.kind.elements)
				break
			}
		}
	}
}

// notFinite returns the first block of data with a number or a scale that is not finite, -1 if there
// is none.
func (t *elementType) notFinite(data []byte) int {
	if b := t.dtype.Blocks(); b != nil {
		return b.NotFinite(data)
	}
	switch {
	case t.name == "Q8_1":
		return first(data, t.bytes, func(b []byte) bool { return b[1]&0x7c == 0x7c })
	case t.name == "Q8_K":
		return first(data, t.bytes, func(b []byte) bool { return b[3]&0x7f == 0x7f && b[2]&0x80 != 0 })
	case t.dtype.IsFloat():
		return full(data, t.bytes, exponents[t.dtype])
	}
	return -1
}

// exponents has the bits of the exponent of floats.
var exponents = map[tensor.DType]uint64{tensor.F16: 0x7c00, tensor.BF16: 0x7f80, tensor.F32: 0x7f800000,
	tensor.F64: 0x7ff0 << 48}

// full returns the index of the first number of size bytes with all bits of the exponent set, -1 if
// there is none. It looks at 8 bytes at a time: the lowest bit of the exponent, added to it, carries
// into the sign bit if and only if all its bits are set.
func full(data []byte, size int, exponent uint64) int {
	var mask, lowest, sign uint64
	for shift := 0; shift < 64; shift += 8 * size {
		mask |= exponent << shift
		lowest |= (exponent & -exponent) << shift
		sign |= 1 << (shift + 8*size - 1)
	}
	for at := 0; at < len(data); at += 8 {
		var x uint64
		if len(data)-at >= 8 {
			x = binary.LittleEndian.Uint64(data[at:])
		} else {
			var last [8]byte
			copy(last[:], data[at:])
			x = binary.LittleEndian.Uint64(last[:])
		}
		if hit := (x&mask + lowest) & sign; hit != 0 {
			return at/size + bits.TrailingZeros64(hit)/(8*size)
		}
	}
	return -1
}

// first returns the index of the first block of size bytes for which wanted returns true, -1 if
// there is none.
func first(data []byte, size int, wanted func(b []byte) bool) int {
	for i := 0; len(data) >= size; i, data = i+1, data[size:] {
		if wanted(data) {
			return i
		}
	}
	return -1
}

func float32At(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }

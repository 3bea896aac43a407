package gguf

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tailI2S is the bytes behind the codes of a tensor of I2_S, of which the first four are the factor.
const tailI2S = 32

// bytesNL is the bytes of 32 elements of IQ4_NL, whose interleaved rows have had the number of I2_S.
const bytesNL = 18

// factors refuses tensors of I2_S with a second factor in a tensor of its own, and others that have
// room for interleaved rows of IQ4_NL. Small tensors may have that room by their alignment.
func (s *scanner) factors() {
	given := map[string]bool{}
	for i := range s.tensors {
		given[s.tensors[i].name] = true
	}
	for i, e := range s.inOrder {
		if !e.kind.factor {
			continue
		}
		if given[e.factorName()] {
			s.Add(e.at, graph.ErrFormat, "tensor %.80q of I2_S has a factor, and tensor %.80q is another", e.name, e.factorName())
		}
		given[e.factorName()] = true
		end := uint64(len(s.data)) - s.begin
		if i+1 < len(s.inOrder) {
			end = s.inOrder[i+1].offset
		}
		n := roundUp(uint64(e.shape.Len())/32*bytesNL, s.alignment)
		if n > roundUp(e.bytes, s.alignment) && e.offset < end && end-e.offset >= n {
			s.Add(e.at, graph.ErrUnsupported, "tensor %.80q has the type of %s", e.name, stranger(e.kind.number))
		}
	}
}

// factorName returns the name of the tensor of the factor.
func (e *entry) factorName() string { return strings.TrimSuffix(e.name, ".weight") + ".scale" }

// ternaryProblem reports the first code that is none, or a factor that is not finite. It reports
// whether there is a problem.
func (s *scanner) ternaryProblem(e *entry, stored []byte) bool {
	codes, tail := stored[:len(stored)-tailI2S], stored[len(stored)-tailI2S:]
	for i, b := range codes {
		if b&(b>>1)&0x55 != 0 {
			s.Add(int(s.begin+e.offset)+i, graph.ErrFormat, "tensor %.80q has the code 3; the codes of I2_S are 0, 1 and 2", e.name)
			return true
		}
	}
	if f := float64(factorOf(tail)); math.IsNaN(f) || math.IsInf(f, 0) {
		s.Add(int(s.begin+e.offset)+len(codes), graph.ErrFormat, "tensor %.80q has the factor %v", e.name, f)
		return true
	}
	return false
}

func factorOf(tail []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(tail)) }

// ternary returns the codes of a tensor of I2_S, -1, 0 and +1, and their factor. They are nil after a
// problem.
func (s *scanner) ternary(e *entry, stored []byte) (codes, factor *tensor.Tensor) {
	if s.ternaryProblem(e, stored) || !s.Take(e.at, len(stored)) {
		return nil, nil
	}
	codes, factor = tensor.New(tensor.I2, e.shape...), tensor.New(tensor.F32, 1)
	tensor.View[float32](factor)[0] = factorOf(stored[len(stored)-tailI2S:])
	var block [packed.I2SBlock]int8
	for dst := codes.Bytes(); len(dst) > 0; dst, stored = dst[len(block)/4:], stored[len(block)/4:] {
		packed.UnpackI2S(block[:], stored)
		packed.Int2.Pack(dst[:len(block)/4], block[:])
	}
	return codes, factor
}

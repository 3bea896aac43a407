package vulkan

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op/array"
)

// drawIndex is the index of a Const operand that is a key of Philox, which each run draws
// anew.
const drawIndex = -2

// keyBytes is the size of a key.
const keyBytes = 8

// key is an operand for the key of a node's numbers: that of its seed, or one that each run
// draws.
func (b *binder) key(s array.RandomSource) device.Operand {
	if s.Seeded {
		return constant(uint32(s.Seed), uint32(s.Seed>>32))
	}
	return device.Operand{Place: device.Const, Index: drawIndex, Data: make([]byte, keyBytes)}
}

// drawn is a key among a segment's constants that each run draws.
type drawn struct {
	command int
	at      int // in the constants
}

// drawnAt returns where staging memory has key i.
func (s *segment) drawnAt(i int) int { return s.keysAt + keyBytes*i }

// draw makes the keys of a run in staging memory.
func (s *segment) draw() {
	for i := range s.keys {
		binary.LittleEndian.PutUint64(s.staging.Host()[s.drawnAt(i):], rand.Uint64())
	}
}

// copyKeys records that the keys of a chunk are copied from staging memory.
func (s *segment) copyKeys(c *chunk) {
	any := false
	for i, k := range s.keys {
		if c.has(k.command) {
			o := s.constants.operand(k.at, keyBytes)
			c.recorder.Copy(o.Buffer, o.Offset, s.staging, s.drawnAt(i), keyBytes)
			any = true
		}
	}
	if any {
		c.recorder.Barrier()
	}
}

package vulkan

import (
	"context"
	"encoding/binary"

	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/op"
)

// drawIndex is the index of a Const operand that holds a Philox key. Each run draws a new key.
const drawIndex = -2

// keyBytes is the size of a key.
const keyBytes = 8

// key returns an operand for the key of a node's random numbers: its seed, or a key that each run
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

// drawnAt returns the offset of key i in staging memory.
func (s *segment) drawnAt(i int) int { return s.keysAt + keyBytes*i }

// Draw writes new keys for a run to staging memory.
func (s *segment) Draw(ctx context.Context) {
	for i := range s.keys {
		binary.LittleEndian.PutUint64(s.staging.Host()[s.drawnAt(i):], op.Random(ctx))
	}
}

// copyKeys records the copies of a chunk's keys from staging memory.
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

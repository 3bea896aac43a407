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

// Draw writes new keys for a run to staging memory.
func (s *segment) Draw(ctx context.Context) {
	for _, at := range s.constants.keys {
		binary.LittleEndian.PutUint64(s.staging.Host()[s.constants.staged+at:], op.Random(ctx))
	}
}

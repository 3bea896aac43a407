package exec

import (
	"fmt"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// scratch hands out memory that lasts to the end of a step. Blocks are kept for
// the next step, and several become one, so that steps soon need no new ones.
type scratch struct {
	blocks [][]byte
	used   int // of the last block
	want   int // bytes that one step took in all, when that was more than a block
}

// take returns n bytes at a multiple of 64 that no other call of the step has.
func (s *scratch) take(n int) ([]byte, error) {
	size := roundUp(n)
	if !s.has(n) {
		b := bindings.Alloc(max(size, s.want))
		if b == nil {
			return nil, fmt.Errorf("%w for %d bytes of scratch", errMemory, n)
		}
		s.blocks, s.used, s.want = append(s.blocks, b), 0, 0
	}
	b := s.blocks[len(s.blocks)-1][s.used : s.used+n : s.used+n]
	s.used += size
	return b, nil
}

// has reports whether take(n) needs no new block.
func (s *scratch) has(n int) bool {
	return len(s.blocks) > 0 && roundUp(n) <= len(s.blocks[len(s.blocks)-1])-s.used
}

func roundUp(n int) int { return (n + tensor.Align - 1) / tensor.Align * tensor.Align }

// bytes is the memory that is held.
func (s *scratch) bytes() int {
	total := 0
	for _, b := range s.blocks {
		total += len(b)
	}
	return total
}

// rewind ends a step: everything taken may be handed out again.
func (s *scratch) rewind() {
	if len(s.blocks) > 1 {
		s.want = s.bytes()
		s.free()
	}
	s.used = 0
}

func (s *scratch) free() {
	for _, b := range s.blocks {
		bindings.Free(b)
	}
	s.blocks = nil
}

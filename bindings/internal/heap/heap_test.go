package heap

import (
	"math/rand/v2"
	"testing"
)

// memory is a memory that counts the bytes given to commit and release.
type memory struct {
	all                 []byte
	most                int // bytes that commit grants
	committed, released int
}

func newMemory(size int) *memory {
	b := make([]byte, size+Align)
	skip := int(-address(b) % Align)
	return &memory{all: b[skip : skip+size], most: size}
}

func (m *memory) heap() *Heap {
	return New(m.all, func(part []byte) bool {
		if m.committed+len(part) > m.most {
			return false
		}
		m.committed += len(part)
		return true
	}, func(part []byte) { m.released += len(part) })
}

// TestParts takes and frees parts at random. Parts must be aligned and must not overlap, and after
// all are freed, the whole memory is one part.
func TestParts(t *testing.T) {
	const size = 8 << 20
	m := newMemory(size)
	h := m.heap()
	r := rand.New(rand.NewPCG(1, 2))
	type part struct {
		b    []byte
		mark byte
	}
	var held []part
	drop := func(i int) {
		p := held[i]
		for _, v := range p.b {
			if v != p.mark {
				t.Fatalf("a part of %d bytes was written by another", len(p.b))
			}
		}
		h.Free(p.b)
		held[i] = held[len(held)-1]
		held = held[:len(held)-1]
	}
	for i := range 3000 {
		if n := r.IntN(1 << r.IntN(21)); r.IntN(2) == 0 || len(held) == 0 {
			b := h.Alloc(n)
			if b == nil {
				continue
			}
			if len(b) != n || address(b)%Align != 0 {
				t.Fatalf("%d bytes at %x for %d", len(b), address(b), n)
			}
			p := part{b, byte(i)}
			for k := range b {
				b[k] = p.mark
			}
			held = append(held, p)
		} else {
			drop(r.IntN(len(held)))
		}
	}
	for len(held) > 0 {
		drop(len(held) - 1)
	}
	b := h.Alloc(size)
	if b == nil || len(h.free) != 0 {
		t.Fatalf("free parts did not join: %v", h.free)
	}
	h.Free(b)
	if m.committed != size {
		t.Errorf("%d bytes were committed, not %d", m.committed, size)
	}
	if m.released < size {
		t.Errorf("%d bytes were released", m.released)
	}
}

func TestNoMemory(t *testing.T) {
	m := newMemory(4 << 20)
	m.most = 2 << 20
	h := m.heap()
	if b := h.Alloc(5 << 20); b != nil {
		t.Error("more bytes than there are were given")
	}
	if b := h.Alloc(3 << 20); b != nil {
		t.Error("bytes that were not committed were given")
	}
	if b := h.Alloc(1 << 20); b == nil {
		t.Error("bytes that could be committed were not given")
	}
	defer func() {
		if recover() == nil {
			t.Error("memory of others was freed")
		}
	}()
	h.Free(make([]byte, 64))
}

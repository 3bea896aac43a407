package vulkan

import (
	"fmt"
	"slices"
	"sync"

	vk "github.com/nacre-ml/nacre/bindings/vulkan"
)

// align is the alignment of memory. Vulkan lets no device ask for more of the offsets of storage
// buffers.
const align = 256

func alignUp(n int) int { return (n + align - 1) / align * align }

// blockBytes is the size of a block of a pool. Small heaps have smaller blocks.
const blockBytes = 64 << 20

// pool hands out device memory in pieces of few large blocks.
type pool struct {
	dev  *vk.Device
	most int // bytes of a buffer
	size int // bytes of a block

	mu      sync.Mutex
	blocks  []*block
	fresh   func(b *vk.Buffer) error // is called for a new block; nil but in tests
	staging *vk.Buffer               // for copies, while none is in progress; nil if there is none
}

// block is a buffer with pieces in use.
type block struct {
	buffer *vk.Buffer
	bytes  int
	gaps   []gap // in order, none touching the next
}

// gap is free bytes of a block.
type gap struct{ at, bytes int }

// Memory is a piece of a block.
type Memory struct {
	pool      *pool
	block     *block
	at, bytes int
}

func newPool(dev *vk.Device, c *vk.Caps) *pool {
	const share = 8
	return &pool{dev: dev, most: c.MaxAllocation, size: alignUp(min(blockBytes, c.HeapBytes/share))}
}

// alloc returns n bytes at a multiple of align. A piece larger than half a block gets a block of
// its own.
func (p *pool) alloc(n int) (*Memory, error) {
	n = alignUp(max(n, 1))
	if p.most > 0 && n > p.most {
		return nil, failure(fmt.Errorf("%w: %d bytes, and the device gives %d at a time", vk.ErrNoMemory, n, p.most))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n <= p.size/2 {
		for _, b := range p.blocks {
			if at := b.take(n); at >= 0 {
				return &Memory{p, b, at, n}, nil
			}
		}
	}
	size := n
	if n <= p.size/2 {
		size = p.size
	}
	buffer, err := p.dev.NewBuffer(size, vk.Local)
	if err != nil {
		return nil, failure(fmt.Errorf("%d bytes of device memory: %w", size, err))
	}
	if p.fresh != nil {
		if err := p.fresh(buffer); err != nil {
			buffer.Free()
			return nil, err
		}
	}
	b := &block{buffer: buffer, bytes: size, gaps: []gap{{0, size}}}
	p.blocks = append(p.blocks, b)
	return &Memory{p, b, b.take(n), n}, nil
}

// allocParts returns pieces that lie behind each other.
func (p *pool) allocParts(sizes []int) (list []*Memory, err error) {
	total := 0
	for _, n := range sizes {
		total += alignUp(max(n, 1))
	}
	m, err := p.alloc(total)
	if err != nil {
		return nil, err
	}
	at := m.at
	for _, n := range sizes {
		n = alignUp(max(n, 1))
		list = append(list, &Memory{p, m.block, at, n})
		at += n
	}
	return list, nil
}

// take returns the offset of n bytes in the smallest gap that holds them; -1 for none.
func (b *block) take(n int) int {
	best := -1
	for i, g := range b.gaps {
		if g.bytes >= n && (best < 0 || g.bytes < b.gaps[best].bytes) {
			best = i
		}
	}
	if best < 0 {
		return -1
	}
	g := &b.gaps[best]
	at := g.at
	if g.at, g.bytes = g.at+n, g.bytes-n; g.bytes == 0 {
		b.gaps = slices.Delete(b.gaps, best, best+1)
	}
	return at
}

// give makes bytes of a block free and joins them with the gaps beside them.
func (b *block) give(at, n int) {
	i, _ := slices.BinarySearchFunc(b.gaps, at, func(g gap, at int) int { return g.at - at })
	b.gaps = slices.Insert(b.gaps, i, gap{at, n})
	if i+1 < len(b.gaps) && at+n == b.gaps[i+1].at {
		b.gaps[i].bytes += b.gaps[i+1].bytes
		b.gaps = slices.Delete(b.gaps, i+1, i+2)
	}
	if i > 0 && b.gaps[i-1].at+b.gaps[i-1].bytes == at {
		b.gaps[i-1].bytes += b.gaps[i].bytes
		b.gaps = slices.Delete(b.gaps, i, i+1)
	}
}

// Bytes returns the size of the memory.
func (m *Memory) Bytes() int { return m.bytes }

// Free gives the memory back. The pool keeps one unused block.
func (m *Memory) Free() {
	p := m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	m.block.give(m.at, m.bytes)
	if !m.block.isFree() {
		return
	}
	if slices.ContainsFunc(p.blocks, func(b *block) bool { return b != m.block && b.isFree() }) || m.block.bytes > p.size {
		m.block.buffer.Free()
		p.blocks = slices.DeleteFunc(p.blocks, func(b *block) bool { return b == m.block })
	}
}

func (b *block) isFree() bool { return len(b.gaps) == 1 && b.gaps[0].bytes == b.bytes }

func (p *pool) free() {
	for _, b := range p.blocks {
		b.buffer.Free()
	}
	p.blocks = nil
	if p.staging != nil {
		p.staging.Free()
		p.staging = nil
	}
}

// operand returns n bytes of the memory, from offset at on, as an operand of a dispatch.
func (m *Memory) operand(at, n int) vk.Operand {
	return vk.Operand{Buffer: m.block.buffer, Offset: m.at + at, Bytes: n}
}

// stagingBytes is the most bytes that one copy to or from the device moves.
const stagingBytes = 16 << 20

// Write copies src to the memory at an offset.
func (m *Memory) Write(at int, src []byte) error {
	return m.pool.staged(len(src), func(r *vk.Recorder, staging *vk.Buffer, done, n int) func() {
		copy(staging.Host(), src[done:][:n])
		r.Copy(m.block.buffer, m.at+at+done, staging, 0, n)
		return func() {}
	})
}

// Read copies bytes of the memory at an offset to dst.
func (m *Memory) Read(at int, dst []byte) error {
	return m.pool.staged(len(dst), func(r *vk.Recorder, staging *vk.Buffer, done, n int) func() {
		r.Copy(staging, 0, m.block.buffer, m.at+at+done, n)
		return func() { copy(dst[done:][:n], staging.Host()) }
	})
}

// staged copies bytes through staging memory, in pieces. Record records the copy of one piece and
// returns a function that staged calls after the copy.
func (p *pool) staged(bytes int, record func(r *vk.Recorder, staging *vk.Buffer, done, n int) func()) error {
	staging, err := p.takeStaging(min(wholeWords(bytes), stagingBytes))
	if err != nil {
		return failure(err)
	}
	defer p.giveStaging(staging)
	for done := 0; done < bytes; done += stagingBytes {
		var then func()
		if err := once(p.dev,
			func(r *vk.Recorder) { then = record(r, staging, done, min(bytes-done, stagingBytes)) }); err != nil {
			return failure(err)
		}
		then()
	}
	return nil
}

// takeStaging returns staging memory of at least n bytes, the pool's if it is free and large enough.
func (p *pool) takeStaging(n int) (*vk.Buffer, error) {
	p.mu.Lock()
	b := p.staging
	if b != nil && b.Bytes() >= n {
		p.staging = nil
		p.mu.Unlock()
		return b, nil
	}
	p.mu.Unlock()
	return p.dev.NewBuffer(n, vk.Staging)
}

// giveStaging gives staging memory back. The pool keeps the larger of it and its own.
func (p *pool) giveStaging(b *vk.Buffer) {
	p.mu.Lock()
	if p.staging == nil || p.staging.Bytes() < b.Bytes() {
		b, p.staging = p.staging, b
	}
	p.mu.Unlock()
	if b != nil {
		b.Free()
	}
}

// once records commands and runs them.
func once(dev *vk.Device, record func(r *vk.Recorder)) error {
	r, err := dev.NewRecorder(0, 0, 0)
	if err != nil {
		return err
	}
	defer r.Free()
	record(r)
	if err := r.End(); err != nil {
		return err
	}
	return r.Run()
}

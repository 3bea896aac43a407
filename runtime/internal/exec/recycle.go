package exec

import (
	goruntime "runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// recycler makes memory for results and takes it back once nothing refers to it. A block is an
// object of Go's heap, so any slice of it keeps it from coming back. Blocks are not cleared.
type recycler struct {
	most   int     // limit of the bytes of tracked blocks
	shared *Memory // budget that free blocks take their bytes from

	mu         sync.Mutex
	free       []block
	known      int // bytes of blocks that are free or will come back
	unused     int // bytes of free
	room       int // current limit of known
	handed     int // bytes of reused blocks since the last collection or release
	collecting bool
	epoch      int // how often trim was called
}

type block struct {
	start   *byte
	bytes   int
	tracked bool // it is free or will come back
}

const (
	leastBlock  = 64 << 10 // results of fewer bytes get no block
	firstRoom   = 16 << 20
	mostRoom    = 32 << 20
	largeBlocks = 3        // blocks of any size that may come back
	smallHeap   = 64 << 20 // largest heap beside blocks that is collected to get blocks back
)

// newRecycler returns a recycler for runs with a memory limit in bytes; 0 for no limit.
func newRecycler(limit int, shared *Memory) *recycler {
	const share = 16
	c := &recycler{most: int(^uint(0) >> 1), shared: shared}
	if limit > 0 {
		c.most = limit / share
	}
	c.room = min(firstRoom, c.most)
	return c
}

// tensor returns a tensor with elements that are not set. The type must not be String.
func (c *recycler) tensor(d tensor.DType, shape tensor.Shape) *tensor.Tensor {
	n := d.Bytes(shape.Len())
	if n < leastBlock || raceDetector {
		return tensor.New(d, shape...)
	}
	b, epoch := c.take(n)
	t, err := tensor.Lend(d, shape, alignedPart(b, n), func() { c.release(b, epoch) })
	if err != nil { // the plan has checked the shape
		panic(err)
	}
	return t
}

// clone returns a copy of t with memory of its own.
func (c *recycler) clone(t *tensor.Tensor) *tensor.Tensor {
	if t.DType() == tensor.String {
		return t.Clone()
	}
	to := c.tensor(t.DType(), t.Shape())
	copy(to.Bytes(), t.Bytes())
	return to
}

// cloneValue returns a copy of v with memory of its own.
func (c *recycler) cloneValue(v tensor.Value) tensor.Value {
	if t, ok := v.(*tensor.Tensor); ok {
		return c.clone(t)
	}
	return tensor.Replace(v, tensor.Cloner(c.clone))
}

// take returns a block with space for n aligned bytes, and the epoch. n must be at least
// leastBlock.
func (c *recycler) take(n int) (block, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.free) - 1; i >= 0; i-- {
		b := c.free[i]
		if b.bytes < n || b.bytes > n+n/4 {
			continue
		}
		c.free = slices.Delete(c.free, i, i+1)
		c.unused -= b.bytes
		c.shared.give(b.bytes)
		c.handed += b.bytes
		c.track(b)
		c.collect(b.bytes)
		return b, c.epoch
	}
	b := newBlock(n)
	if c.collecting { // collecting takes longer than the blocks last
		c.room = min(c.room+b.bytes, mostRoom, c.most)
	}
	if c.known+b.bytes > c.allowed(b.bytes) {
		c.forget(c.known + b.bytes - c.allowed(b.bytes))
	}
	if c.known+b.bytes <= c.allowed(b.bytes) {
		b.tracked = true
		c.known += b.bytes
		c.track(b)
	}
	return b, c.epoch
}

// allowed returns the limit of known for a block of this size.
func (c *recycler) allowed(bytes int) int { return max(c.room, min(largeBlocks*bytes, c.most)) }

// forget forgets free blocks of n bytes or more in all, in the order in which they came back.
func (c *recycler) forget(n int) {
	gone, before := 0, c.unused
	for len(c.free) > gone && n > 0 {
		b := c.free[gone].bytes
		n, c.known, c.unused = n-b, c.known-b, c.unused-b
		gone++
	}
	c.free = slices.Delete(c.free, 0, gone)
	c.shared.give(before - c.unused)
}

// drop forgets all free blocks.
func (c *recycler) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(c.unused)
}

// idle returns the bytes of the free blocks.
func (c *recycler) idle() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unused
}

// add makes a tracked block free. If a run wants its bytes, it forgets the block.
func (c *recycler) add(b block) {
	if !c.shared.spare(b.bytes) {
		c.known -= b.bytes
		return
	}
	c.free = append(c.free, b)
	c.unused += b.bytes
}

// track sets a finalizer, so that the block comes back when nothing refers to it.
func (c *recycler) track(b block) {
	epoch, bytes := c.epoch, b.bytes
	goruntime.SetFinalizer(b.start, func(start *byte) { c.put(block{start, bytes, true}, epoch) })
}

func (c *recycler) put(b block, epoch int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch == c.epoch {
		c.add(b)
	}
}

// release is put for a block that its user gives back. A block that was not tracked stays if
// allowed permits it.
func (c *recycler) release(b block, epoch int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if epoch != c.epoch {
		return
	}
	if !b.tracked {
		if c.known+b.bytes > c.allowed(b.bytes) {
			return
		}
		b.tracked = true
		c.known += b.bytes
	}
	goruntime.SetFinalizer(b.start, nil)
	c.handed = 0
	c.add(b)
}

// trim forgets all blocks. Blocks in use do not come back.
func (c *recycler) trim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	c.shared.give(c.unused)
	c.free, c.known, c.unused, c.handed = nil, 0, 0, 0
}

// collect starts a collection of Go's heap beside the runs if few bytes are free and at least as
// many were reused since the last collection or release. Few is a quarter of the known bytes, but
// at least twice bytes. Blocks that users hold or release cause no collection. A heap with much
// more than the known blocks is not collected.
func (c *recycler) collect(bytes int) {
	few := max(c.known/4, 2*bytes)
	if c.collecting || c.unused >= few || c.handed < few {
		return
	}
	c.handed = 0
	if heapBytes() > c.known+smallHeap {
		return
	}
	c.collecting = true
	go func() {
		goruntime.GC()
		c.mu.Lock()
		c.collecting = false
		c.mu.Unlock()
	}()
}

// heapBytes returns the bytes of Go's heap that the last collection left.
func heapBytes() int {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int(live[0].Value.Uint64())
}

// newBlock returns a block with space for n aligned bytes. It uses a strings.Builder, because that
// does not clear the memory it grows by.
func newBlock(n int) block {
	var b strings.Builder
	b.Grow(n + tensor.Align - 1)
	bytes := b.Cap()
	b.WriteByte(0)
	return block{start: unsafe.StringData(b.String()), bytes: bytes}
}

// alignedPart returns n aligned bytes of the block.
func alignedPart(b block, n int) []byte {
	skip := int(-uintptr(unsafe.Pointer(b.start)) % tensor.Align)
	return unsafe.Slice(b.start, b.bytes)[skip : skip+n : skip+n]
}

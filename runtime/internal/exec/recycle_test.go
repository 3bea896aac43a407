package exec

import (
	"bytes"
	goruntime "runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

const blockLen = 1 << 20

// collected runs the collector until the recycler has that many free blocks.
func collected(t *testing.T, c *recycler, free int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		goruntime.GC()
		c.mu.Lock()
		n := len(c.free)
		c.mu.Unlock()
		if n == free {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d blocks came back, want %d", n, free)
		}
		time.Sleep(time.Millisecond)
	}
}

func start(t *tensor.Tensor) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(t.Bytes()))) }

func recycles(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector has results made anew")
	}
}

func TestResultsComeBack(t *testing.T) {
	recycles(t)
	c := newRecycler(0, nil)
	made := func() uintptr { return start(c.tensor(tensor.U8, tensor.Shape{blockLen})) }
	first := made()
	if first%tensor.Align != 0 {
		t.Errorf("a result lies at %#x, not a multiple of %d", first, tensor.Align)
	}
	collected(t, c, 1)
	if second := made(); second != first {
		t.Errorf("the memory of a dropped result was not used again")
	}
	collected(t, c, 1)
	if small := c.tensor(tensor.U8, tensor.Shape{blockLen / 2}); start(small) == first {
		t.Errorf("a result of half the size keeps a whole block")
	}
}

// TestKeptResultsStay keeps a slice of some results while others of the same size are made and
// dropped.
func TestKeptResultsStay(t *testing.T) {
	c := newRecycler(0, nil)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			var kept [][]byte
			for i := range 40 {
				r := c.tensor(tensor.U8, tensor.Shape{blockLen})
				mark := byte(worker*40 + i)
				for k := range r.Bytes() {
					r.Bytes()[k] = mark
				}
				if i%8 == 0 {
					kept = append(kept, r.Bytes()[blockLen/2:blockLen/2+100], []byte{mark})
				}
				if i%10 == 0 {
					goruntime.GC()
				}
			}
			for i := 0; i < len(kept); i += 2 {
				if !bytes.Equal(kept[i], bytes.Repeat(kept[i+1], 100)) {
					t.Errorf("a slice of a result was written after the tensor was dropped")
				}
			}
		})
	}
	all.Wait()
}

func TestRelease(t *testing.T) {
	recycles(t)
	c := newRecycler(0, nil)
	r := c.tensor(tensor.U8, tensor.Shape{blockLen})
	copied := *r
	at := start(r)
	r.Release()
	if !r.Shape().Equal(tensor.Shape{0}) || len(r.Bytes()) != 0 {
		t.Errorf("a released tensor is %v of %d bytes", r, len(r.Bytes()))
	}
	copied.Release() // the same memory: it comes back once
	r.Release()
	one, two := c.tensor(tensor.U8, tensor.Shape{blockLen}), c.tensor(tensor.U8, tensor.Shape{blockLen})
	if start(one) != at || start(two) == at {
		t.Errorf("results lie at %#x and %#x after %#x was released", start(one), start(two), at)
	}
	c.trim()
	one.Release()
	if len(c.free) != 0 || c.known != 0 {
		t.Errorf("a trimmed recycler holds %d blocks", len(c.free))
	}
	goruntime.KeepAlive(two)
}

func TestRecyclerIsBounded(t *testing.T) {
	recycles(t)
	const limit = 64 << 20
	c := newRecycler(limit, nil)
	var list []*tensor.Tensor
	for range 16 {
		list = append(list, c.tensor(tensor.U8, tensor.Shape{blockLen}))
	}
	for _, r := range list {
		r.Release()
	}
	if c.unused != c.known || c.unused > limit/16 || c.unused < limit/16-2*blockLen {
		t.Errorf("%d bytes stay of a limit of %d", c.unused, limit)
	}
	// A block of another size replaces the free ones.
	c.tensor(tensor.U8, tensor.Shape{3 * blockLen}).Release()
	if c.unused > limit/16 || len(c.free) == 0 || c.free[len(c.free)-1].bytes < 3*blockLen {
		t.Errorf("%d bytes in %d blocks stay", c.unused, len(c.free))
	}
}

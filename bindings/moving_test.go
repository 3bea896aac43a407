package bindings_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// TestMemoryGrows checks that a kernel finds its operands after memory has grown and the collector
// has run, as it did before.
func TestMemoryGrows(t *testing.T) {
	testenv.Need(t, bindings.Available())
	k, err := bindings.Select("f32_search", bindings.DetectISA())
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, searchSize*searchLanes)
	for i := range x {
		x[i] = r.Float32()
	}
	first := searched(k, x)
	var held [][]byte
	for range 4 {
		b := bindings.Alloc(40 << 20)
		if b == nil {
			t.Fatal("there is no memory")
		}
		held = append(held, b)
		runtime.GC()
		if got := deep(200, func() sums { return searched(k, x) }); got != first {
			t.Fatalf("got %v, before %v", got, first)
		}
	}
	for _, b := range held {
		bindings.Free(b)
	}
}

// The sums of a search.
type sums [3 * searchTries * searchLanes]float32

const searchLanes, searchTries, searchSize = 16, 2, 4

// searched calls a kernel with slices that could be on the stack.
func searched(k bindings.Kernel, x []float32) sums {
	var ones [searchSize * searchLanes]float32
	var inverse, shift [searchTries * searchLanes]float32
	var list sums
	for i := range ones {
		ones[i] = 1
	}
	for i := range inverse {
		inverse[i] = float32(i + 1)
	}
	k.Search(searchSize, searchTries, -8, 7, nil, x, ones[:], inverse[:], shift[:], list[:])
	return list
}

// deep calls f from a stack that has that many frames more.
func deep(frames int, f func() sums) sums {
	var room [512]byte
	if frames == 0 {
		return f()
	}
	room[frames%len(room)] = byte(frames)
	got := deep(frames-1, f)
	runtime.KeepAlive(&room)
	return got
}

// TestNoAddresses checks that Alloc returns nil, and does not end the program, where no addresses are left.
func TestNoAddresses(t *testing.T) {
	testenv.Need(t, bindings.Available())
	if !bindings.Module {
		return // addresses reach more than there is memory
	}
	if b := bindings.Alloc(math.MaxInt); b != nil {
		t.Errorf("%d bytes were given", len(b))
	}
}

//go:build !cgo && !js

package bindings

import (
	"bytes"
	"sync"
	"testing"
	"unsafe"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// at returns the memory of the module at a word of a command.
func at(word uint64, n int) []byte { return region.memory[word:][:n] }

// TestLoans checks copies of operands: operands that overlap share one, and what a run changes in it
// reaches the originals.
func TestLoans(t *testing.T) {
	testenv.Need(t, Available())
	own := make([]byte, 4096)
	for i := range own {
		own[i] = byte(i)
	}
	inside := Alloc(128)
	defer Free(inside)
	blocks := Blocks()
	c := Code{words: make([]uint64, 5)}
	for place, b := range [][]byte{own[1000:1200], own[1100:1300], own[1300:1400], inside, nil} {
		c.Point(place, SpanOf(b), 4)
	}
	w := c.words
	if !c.lending.take(w) {
		t.Fatal("there is no memory")
	}
	if w[1]-w[0] != 100 {
		t.Errorf("operands 100 bytes apart are %d apart", w[1]-w[0])
	}
	if w[2] >= w[0]-4 && w[2] < w[0]+300 {
		t.Error("operands that do not overlap share a copy")
	}
	if w[3] != address(unsafe.Pointer(&inside[4])) || w[4] != 0 {
		t.Errorf("memory of the module is at %d, nothing at %d", w[3], w[4])
	}
	for place, from := range []int{1000, 1100, 1300} {
		if (w[place]-4)%64 != uint64(uintptr(unsafe.Pointer(&own[from]))%64) {
			t.Errorf("place %d is aligned in another way than its original", place)
		}
		if !bytes.Equal(at(w[place], 96), own[from+4:][:96]) {
			t.Errorf("place %d has other bytes", place)
		}
	}
	at(w[1], 1)[0] = 0xff
	c.lending.give()
	for i := range own {
		want := byte(i)
		if i == 1104 {
			want = 0xff
		}
		if own[i] != want {
			t.Fatalf("byte %d is %d, not %d", i, own[i], want)
		}
	}
	for place := range 3 {
		c.Point(place, SpanOf(inside), place)
	}
	at(w[2], 1)[0] = 7
	if !c.lending.take(w) || w[2] != address(unsafe.Pointer(&inside[2])) {
		t.Errorf("the place is %d", w[2])
	}
	own[1304] = 9
	if c.lending.give(); own[1304] != 9 {
		t.Error("memory is written that is lent no longer")
	}
	c.lending.free()
	if Blocks() != blocks {
		t.Errorf("%d blocks are not given back", Blocks()-blocks)
	}
}

// TestNoRoom checks the failure of a run without memory for copies.
func TestNoRoom(t *testing.T) {
	testenv.Need(t, Available())
	c := NewCode(0, 0, 0)
	defer c.Free()
	c.words = make([]uint64, 1)
	c.Point(0, SpanOf(make([]byte, 100)), 0)
	defer func() { Fault = nil }()
	Fault = func(int) bool { return true }
	done, f, failed := c.Run(nil, 1, nil, false)
	if !failed || done != 0 || f.Kind() != "MEMORY" || f.Text() == "" {
		t.Errorf("%d commands, %q %s", done, f.Text(), f.Kind())
	}
	Fault = nil
	if _, f, failed := c.Run(nil, 1, nil, false); failed {
		t.Errorf("with memory, %s", f.Text())
	}
}

// TestResident checks that memory has one copy, however many goroutines ask for it.
func TestResident(t *testing.T) {
	testenv.Need(t, Available())
	list := []byte{1, 2, 3}
	var wait sync.WaitGroup
	var words [8]int64
	for i := range words {
		wait.Go(func() { words[i] = Resident(list) })
	}
	wait.Wait()
	for _, w := range words {
		if w != words[0] || !bytes.Equal(at(uint64(w), len(list)), list) {
			t.Errorf("the words are %v", words)
		}
	}
}

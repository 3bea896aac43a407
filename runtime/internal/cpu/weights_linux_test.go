package cpu

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/nacre-ml/nacre/internal/mapped"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// mappedTensors returns tensors of size bytes in a mapped file. Every second one begins at an odd
// address.
func mappedTensors(t *testing.T, n, size int) []*tensor.Tensor {
	t.Helper()
	data := make([]byte, n*(size+8))
	for i := range data {
		data[i] = byte(i*7 + i/256)
	}
	path := filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file, unmap, err := mapped.File(f, len(data))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unmap(); err != nil {
			t.Error(err)
		}
	})
	var list []*tensor.Tensor
	for i := range n {
		at := i*(size+4)&^3 + i%2
		x, err := tensor.FromBytes(tensor.F32, tensor.Shape{size / 4}, file[at:at+size:at+size])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, x)
	}
	return list
}

// TestWeights holds constants by turns from several goroutines. Each must be present while it is
// held, and the others stay within the budget.
func TestWeights(t *testing.T) {
	if !CanMove {
		return // kernels have memory of their own
	}
	const size, n = 64 << 10, 6
	list := mappedTensors(t, n, size)
	var log bytes.Buffer
	w := NewWeights(3*size, map[unsafe.Pointer]bool{list[0].Pointer(): true},
		slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	packs := NewMovingPacks(w)
	defer packs.Close()
	var held [][]byte
	for i, x := range list {
		a, err := packs.Aligned(x)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := packs.Aligned(x); err != nil || again.Pointer() != a.Pointer() {
			t.Errorf("constant %d has two places, %v", i, err)
		}
		if got := w.Takes(a.Bytes()); got != size || !a.IsAligned() {
			t.Errorf("constant %d takes %d bytes, want %d", i, got, size)
		}
		held = append(held, a.Bytes())
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for k := range 60 {
				one := [][]byte{held[(k*5+g)%n], held[(k*5+g+1)%n]}
				if err := w.Hold(one); err != nil {
					t.Error(err)
				}
				for j, data := range one {
					if !bytes.Equal(data, list[(k*5+g+j)%n].Bytes()) {
						t.Errorf("constant %d is not there", (k*5+g+j)%n)
					}
				}
				w.Drop(one)
			}
		})
	}
	all.Wait()
	if w.bytes > 3*size {
		t.Errorf("%d bytes stay, of a budget of %d", w.bytes, 3*size)
	}
	if !strings.Contains(log.String(), `msg="weights evicted" weights=`) {
		t.Errorf("the log is %q", log.String())
	}
	if first := w.of(held[0]); !first.there {
		t.Error("a pinned constant went")
	}
}

// TestWeightsThatStay checks that small constants, and ones outside files, do not move.
func TestWeightsThatStay(t *testing.T) {
	w := NewWeights(1, nil, nil)
	for _, x := range []*tensor.Tensor{mappedTensors(t, 1, leastMoved-4)[0], tensor.New(tensor.F32, leastMoved)} {
		if w.moves(x) || w.Takes(x.Bytes()) != 0 {
			t.Errorf("%v comes and goes", x)
		}
	}
}

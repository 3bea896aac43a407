package cpu

import (
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// resident returns the resident memory of the process in bytes.
func resident(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[0] == "VmRSS:" {
			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}

// TestPackingMemory packs operands of a mapped file; the second one is not aligned. The memory
// besides the packed bytes must be a few pieces at most.
func TestPackingMemory(t *testing.T) {
	testenv.Need(t, bindings.Available())
	if testing.Short() {
		t.Skip("short runs are those of sanitizers and emulators, which hold memory of their own")
	}
	const columns, rows = 20 * pieceColumns, 6000
	const spare = 16 << 20
	k := parts(t, "f32_gemm")[0]
	for i, w := range mappedTensors(t, 2, 4*columns*rows) {
		for _, transposed := range []bool{true, false} {
			g := largeGemm(tensor.F32, columns, rows, transposed)
			list := numbersOf(t, g.forPacking())
			n := k.Packed(list, 1)
			cut := g.pieces(k, list, n)
			debug.FreeOSMemory()
			before, most := resident(t), 0
			fill := cut.fill
			cut.fill = func(w *tensor.Tensor, from, rows int, all []byte) error {
				err := fill(w, from, rows, all)
				most = max(most, resident(t))
				return err
			}
			packs := NewPacks()
			if _, err := (&Device{packs: packs}).packPieces(w, packKey{}, n, cut); err != nil {
				t.Fatal(err)
			}
			packs.Close()
			if most == 0 || most-before > n+spare {
				t.Errorf("operand %d, transposed %v: packing %d bytes takes %d", i, transposed, n, most-before)
			}
		}
	}
}

// TestBlocksPanelsReads packs blocks of every type. They end where memory ends, so
// that reading behind them ends the test.
func TestBlocksPanelsReads(t *testing.T) {
	testenv.Need(t, bindings.Available())
	page := os.Getpagesize()
	data, err := syscall.Mmap(-1, 0, 2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(data)
	rand.NewChaCha8([32]byte{7}).Read(data[:page])
	if err := syscall.Mprotect(data[page:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	for _, of := range packed.BlockTypes {
		for _, kern := range runnable(t, "f32_block_panels") {
			v := &panelsWords{m: graph.Known(1), n: 5, k: of.Elements, of: of}
			list := numbersOf(t, v.words())
			at := page - 5*of.Bytes
			kern.Pack(list, panelsBlocks, data[at:page], make([]byte, kern.Packed(list, panelsBlocks)))
		}
	}
}

package cpu

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// largeGemm returns a product with a right operand of that many columns and rows. Its columns are
// contiguous if it is transposed, else its rows.
func largeGemm(d tensor.DType, columns, rows int, transposed bool) *gemm {
	one, n, k := graph.Known(1), graph.Known(columns), graph.Known(rows)
	p := &lower.Product{M: one, N: n, K: k, ARow: k, ACol: one, BRow: n, BCol: one}
	if transposed {
		p.BRow, p.BCol = one, k
	}
	return &gemm{Product: p, dtype: tensor.F32, bType: d, alpha: 1}
}

// TestPackedPieces packs right operands piece by piece, for every kernel, and compares them to the
// same packed in one piece.
func TestPackedPieces(t *testing.T) {
	testenv.Need(t, bindings.Available())
	for _, k := range parts(t, "f32_gemm") {
		for _, d := range []tensor.DType{tensor.F32, tensor.BF16} {
			checkPieces(t, k, largeGemm(d, 2*pieceColumns+7, 16<<10, true), d)
			checkPieces(t, k, largeGemm(d, 3*pieceColumns+1, 9001, false), d)
		}
	}
}

func checkPieces(t *testing.T, k bindings.Kernel, g *gemm, d tensor.DType) {
	t.Helper()
	list := numbersOf(t, g.forPacking())
	n := k.Packed(list, 1)
	cut := g.pieces(k, list, n)
	if cut.step >= cut.rows {
		t.Fatalf("%s %v: one piece of %d rows", k.Variant(), d, cut.rows)
	}
	columns, _ := g.N.Value()
	rows, _ := g.K.Value()
	data := make([]byte, columns*rows*d.Bits()/8+1)
	rand.NewChaCha8([32]byte{3}).Read(data)
	w, err := tensor.FromBytes(d, tensor.Shape{columns, rows}, data[1:])
	if err != nil {
		t.Fatal(err)
	}
	pack := func(cut pieces) []byte {
		packs := NewPacks()
		defer packs.Close()
		b, err := (&Device{packs: packs}).packPieces(w, packKey{}, n, cut)
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Clone(b[:n-n%(rows*d.Bits()/8)]) // without the padding, which is not written
	}
	if !bytes.Equal(pack(cut), pack(whole(k, list, 1))) {
		t.Errorf("%s %v: pieces are not the whole", k.Variant(), d)
	}
}

// TestEvenPieces checks how rows are divided among threads.
func TestEvenPieces(t *testing.T) {
	for _, c := range []struct{ rows, step, unit, threads, want int }{
		{5632, 896, 16, 2, 704}, {5632, 896, 16, 0, 816}, {2048, 896, 16, 2, 512}, {2048, 896, 16, 3, 688}, {17, 16, 16, 4, 16}, {100, 7, 1, 8, 7},
		{96, 96, 96, 3, 96},
	} {
		cut := pieces{rows: c.rows, step: c.step, unit: c.unit}.even(c.threads)
		if cut.step != c.want || cut.step > c.step || cut.step%c.unit != 0 {
			t.Errorf("%d rows, %d at most, %d threads: pieces of %d rows, not %d", c.rows, c.step, c.threads, cut.step, c.want)
		}
	}
}

// TestOnePiece checks the right operands that are packed in one piece.
func TestOnePiece(t *testing.T) {
	testenv.Need(t, bindings.Available())
	k := parts(t, "f32_gemm")[0]
	for name, change := range map[string]func(g *gemm){
		"several matrices": func(g *gemm) { g.Batch = []lower.BatchAxis{{N: graph.Known(2), A: g.K, B: g.N.Mul(g.K)}} },
		"columns apart":    func(g *gemm) { g.BCol = graph.Known(1 << 20) },
		"few columns":      func(g *gemm) { g.N = graph.Known(pieceColumns - 1) },
		"small":            func(g *gemm) { g.K, g.BCol = graph.Known(100), graph.Known(100) },
	} {
		g := largeGemm(tensor.F32, 500, 16<<10, true)
		change(g)
		list := numbersOf(t, g.forPacking())
		if cut := g.pieces(k, list, k.Packed(list, 1)); cut.rows != 1 || cut.step != 1 {
			t.Errorf("%s: %d pieces of %d", name, cut.rows, cut.step)
		}
	}
}

// TestPackForgets packs derived weights, which must release their memory afterwards. Tensors that
// share weights must be packed once.
func TestPackForgets(t *testing.T) {
	testenv.Need(t, bindings.Available())
	fills := 0
	w := tensor.Derive(tensor.F32, tensor.Shape{64, 1024}, func(data []byte) {
		fills++
		rand.NewChaCha8([32]byte{5}).Read(data)
	})
	same, err := w.Reshape(tensor.Shape{1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	packs := NewPacks()
	defer packs.Close()
	for _, x := range []*tensor.Tensor{w, same} {
		b, err := (&Device{packs: packs}).pack(x, packKey{}, x.Size(), func(x *tensor.Tensor, dst []byte) error {
			copy(dst, x.Bytes())
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		if fills != 1 || packs.Bytes() != w.Size() {
			t.Fatalf("filled %d times, %d bytes packed", fills, packs.Bytes())
		}
		if x == same && (!bytes.Equal(b, w.Bytes()) || fills != 2) {
			t.Errorf("other elements, or memory that was kept: filled %d times", fills)
		}
	}
}

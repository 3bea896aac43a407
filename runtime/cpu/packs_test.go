package cpu

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// transposedGemm is a product with a right operand of that many columns, one behind the
// other.
func transposedGemm(d tensor.DType, columns, rows int) *gemm {
	one, n, k := graph.Known(1), graph.Known(columns), graph.Known(rows)
	return &gemm{product: &product{m: one, n: n, k: k, aRow: k, aCol: one, bRow: one, bCol: k}, dtype: tensor.F32, bType: d, alpha: 1}
}

// TestPackedPieces packs right operands piece by piece, for every kernel, and compares them
// with those that are packed as one.
func TestPackedPieces(t *testing.T) {
	testenv.Need(t, bindings.Available())
	const rows, columns = 16 << 10, 2*pieceColumns + 7
	r := rand.NewChaCha8([32]byte{3})
	for _, k := range runnable(t, "f32_gemm") {
		for _, d := range []tensor.DType{tensor.F32, tensor.BF16} {
			g := transposedGemm(d, columns, rows)
			list := numbersOf(t, g.forPacking())
			n := k.Packed(list, 1)
			cut := g.pieces(k, list, n)
			if cut.step%pieceColumns != 0 || cut.step == 0 || cut.step >= columns {
				t.Fatalf("%s %v: %+v are no pieces", k.Variant(), d, cut)
			}
			data := make([]byte, columns*cut.size+1)
			r.Read(data)
			w, err := tensor.FromBytes(d, tensor.Shape{columns, rows}, data[1:])
			if err != nil {
				t.Fatal(err)
			}
			pack := func(cut pieces) []byte {
				packs := NewPacks()
				defer packs.Close()
				b, err := packs.getRows(w, packKey{}, n, cut, func(w *tensor.Tensor, columns int, dst []byte) error {
					words := slices.Clone(list)
					if cut.step > 0 {
						words[columnsWord] = int64(columns)
					}
					if !w.IsAligned() {
						t.Errorf("%s %v: a piece is not aligned", k.Variant(), d)
					}
					k.Pack(words, 1, w.Pointer(), dst)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				return bytes.Clone(b)
			}
			if !bytes.Equal(pack(cut), pack(pieces{})) {
				t.Errorf("%s %v: pieces are not the whole", k.Variant(), d)
			}
		}
	}
}

// TestOnePiece lists right operands that are packed as one.
func TestOnePiece(t *testing.T) {
	testenv.Need(t, bindings.Available())
	k := runnable(t, "f32_gemm")[0]
	for name, change := range map[string]func(g *gemm){
		"rows behind each other": func(g *gemm) { g.bRow, g.bCol = g.n, graph.Known(1) },
		"several matrices":       func(g *gemm) { g.batch = []batchAxis{{graph.Known(2), g.k, g.n.Mul(g.k)}} },
		"columns apart":          func(g *gemm) { g.bCol = graph.Known(1 << 20) },
		"few":                    func(g *gemm) { g.n = graph.Known(pieceColumns) },
	} {
		g := transposedGemm(tensor.F32, 500, 16<<10)
		change(g)
		list := numbersOf(t, g.forPacking())
		if cut := g.pieces(k, list, k.Packed(list, 1)); cut != (pieces{}) {
			t.Errorf("%s: %+v", name, cut)
		}
	}
}

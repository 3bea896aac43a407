package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestBlocksPanels packs blocks of every type that has panels for every kernel, and compares products
// to sums of products in float64. Weights are packed in one piece and in several. All kernels give
// the same bits for rounded rows.
func TestBlocksPanels(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(57, 58))
	count := 0
	for _, of := range packed.BlockTypes {
		if !hasPanels(of) {
			continue
		}
		count++
		for i, m := range []int{1, 3, 6, 12, 26, 131} {
			n, k := []int{1, 7, 33, 70, 17, 9}[i], []int{1, 3, 9, 11, 2, 5}[i]*of.Elements
			x := cases.NewSource(fmt.Sprint(of.Name, m)).Any(tensor.OfBlocks(of), n, k)
			a, bias := quarters(r, m*k), quarters(r, n)
			for _, op := range []string{"i8_block_panels", "f32_block_panels"} {
				checkPanels(t, op, of, x, m, a, bias, pool)
			}
		}
	}
	if count < 21 {
		t.Errorf("%d types of blocks have panels", count)
	}
}

// checkPanels compares the variants of an op.
func checkPanels(t *testing.T, op string, of *packed.Blocks, x *tensor.Tensor, m int, a, bias []float64, pool *bindings.Pool) {
	t.Helper()
	n, k := x.Shape()[0], x.Shape()[1]
	values := make([]float32, x.Len())
	of.Unpack(values, x.Bytes())
	rows := a
	if op == "i8_block_panels" {
		rows = roundRows(a, k, 32)
	}
	var same []float64
	for _, kern := range runnable(t, op) {
		v := &panelsWords{m: graph.Known(m), n: n, k: k, of: of, gemm: partOf(t, "f32_gemm", kern.ISA()), book: bookAddress(of)}
		list := numbersOf(t, v.words())
		if !kern.Fits(list) {
			continue
		}
		data, intact := guardedBytes(kern.Packed(list, panelsBlocks), 64)
		cut := blockPieces(kern, list, x)
		cut.step = kern.Panel()
		if err := cut.each(x, data, 1+m%3); err != nil || !intact() {
			t.Fatal(kern.Variant(), err, intact())
		}
		c := runGuarded(t, kern, v.words(), pool, m*n*4, 4, stored(tensor.F32, a), data, stored(tensor.F32, bias))
		got := loaded(tensor.F32, c)
		for i := range got {
			j := i % n
			want, size := bias[j], math.Abs(bias[j])
			for p := range k {
				y := rows[i/n*k+p] * float64(values[j*k+p])
				want, size = want+y, size+math.Abs(y)
			}
			if !(math.Abs(got[i]-want) <= 3e-6*size) {
				t.Fatalf("%s, %s, %d rows by %d columns of %d: element %d is %v, not %v", kern.Variant(), of.Name, m, n, k, i, got[i], want)
			}
			if op == "i8_block_panels" && same != nil && got[i] != same[i] {
				t.Fatalf("%s, %s: element %d is %v, and %v on another level", kern.Variant(), of.Name, i, got[i], same[i])
			}
		}
		same = got
	}
	if same == nil {
		t.Fatalf("no variant of %s fits %d rows", op, m)
	}
}

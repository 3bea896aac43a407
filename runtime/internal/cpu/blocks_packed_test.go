package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestBlocksPanels packs blocks for every kernel of nbits, and compares products to sums of products
// in float64. Weights are packed in one piece and in several.
func TestBlocksPanels(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(57, 58))
	for of, codes := range blocksAsCodes {
		for i, m := range []int{1, 3, 5, 26} {
			n, k := []int{1, 7, 33, 70}[i], []int{1, 3, 9, 40}[i]*of.Elements
			x := cases.NewSource(fmt.Sprint(of.Name, m)).Any(tensor.OfBlocks(of), n, k)
			values := make([]float32, x.Len())
			of.Unpack(values, x.Bytes())
			w := &weights{values: make([]float64, n*k)}
			for j, v := range values {
				w.values[j] = float64(v)
			}
			w.nbitsWords = nbitsWords{n: n, k: k, bits: codes.bits, block: of.Elements, rowBytes: k * codes.bits / 8,
				rowScale: k / of.Elements, scales: tensor.F16, packed: true}
			a, bias := quarters(r, m*k), quarters(r, n)
			for _, op := range []string{"i8_nbits", "f32_nbits"} {
				w.checkBlocks(t, op, codes, x, m, a, bias, pool)
			}
		}
	}
}

// checkBlocks compares the variants of an op that pack codes.
func (w *weights) checkBlocks(
	t *testing.T, op string, codes blockCodes, x *tensor.Tensor, m int, a, bias []float64, pool *bindings.Pool,
) {
	t.Helper()
	rows := a
	if op == "i8_nbits" {
		rows = roundRows(a, w.k, w.block)
	}
	fit := 0
	for _, k := range runnable(t, op) {
		v := w.nbitsWords
		v.m, v.gemm = graph.Known(m), partOf(t, "f32_gemm", k.ISA())
		list := numbersOf(t, v.words())
		if !k.Fits(list) {
			continue
		}
		fit++
		packed, intact := guardedBytes(k.Packed(list, nbitsCodes), 64)
		cut := codes.pieces(k, list, x)
		cut.step = k.Panel()
		if err := cut.each(x, packed); err != nil || !intact() {
			t.Fatal(k.Variant(), err, intact())
		}
		b := runGuarded(t, k, v.words(), pool, m*w.n*4, 4, stored(tensor.F32, a), packed, nil, nil, nil, nil, stored(tensor.F32, bias))
		for i, got := range loaded(tensor.F32, b) {
			j := i % w.n
			want, size := bias[j], math.Abs(bias[j])
			for p := range w.k {
				y := rows[i/w.n*w.k+p] * w.values[j*w.k+p]
				want, size = want+y, size+math.Abs(y)
			}
			if !(math.Abs(got-want) <= 3e-6*size) {
				t.Fatalf("%s, %d rows by %d columns of %d: element %d is %v, not %v", k.Variant(), m, w.n, w.k, i, got, want)
			}
		}
	}
	if fit == 0 {
		t.Fatalf("no variant of %s fits %d rows", op, m)
	}
}

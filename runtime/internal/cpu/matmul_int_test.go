package cpu

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// integerAt returns element i of integers of type d.
func integerAt(data []byte, i int, d tensor.DType) int64 {
	v, bits := uint64(0), d.Bits()
	for b := range bits {
		at := i*bits + b
		v |= uint64(data[at/8]>>(at%8)&1) << b
	}
	if d.Kind() == tensor.Signed {
		return int64(v<<(64-bits)) >> (64 - bits)
	}
	return int64(v)
}

// TestIntGemm multiplies matrices of integers with every kernel, in a batch of two that shares b,
// into every type of result.
func TestIntGemm(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(5, 6))
	for _, in := range []tensor.DType{tensor.I1, tensor.I2, tensor.I4, tensor.I8, tensor.I16, tensor.U1, tensor.U2,
		tensor.U4, tensor.U8, tensor.U16} {
		for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {35, 129, 3}, {2, 3, 0}, {33, 140, 261}, {1, 256, 300}} {
			m, n, k := s[0], s[1], s[2]
			a, b := make([]byte, in.Bytes(2*m*k)), make([]byte, in.Bytes(k*n))
			for _, list := range [][]byte{a, b} {
				for i := range list {
					list[i] = byte(r.Uint32()) | byte(r.IntN(2))*255 // some of the largest magnitude
				}
			}
			sums := make([]int64, 2*m*n)
			for at := range sums {
				for p := range k {
					sums[at] += integerAt(a, at/n*k+p, in) * integerAt(b, p*n+at%n, in)
				}
			}
			step := graph.Known(m * k)
			p := &lower.Product{M: graph.Known(m), N: graph.Known(n), K: graph.Known(k),
				Batch: []lower.BatchAxis{{N: graph.Known(2), A: step}}}
			for _, out := range []tensor.DType{in, tensor.I8, tensor.I16, tensor.I32, tensor.I64} {
				if out.Bits() < in.Bits() {
					continue
				}
				want := make([]byte, out.Bytes(len(sums)))
				for i, v := range sums {
					for bit := range out.Bits() {
						at := i*out.Bits() + bit
						want[at/8] |= byte(v>>bit&1) << (at % 8)
					}
				}
				for _, kernel := range runnable(t, "int_gemm") {
					got := runGuarded(t, kernel, intGemmWords(p, in, out), pool, len(want), max(out.Bits()/8, 1), a, b)
					if !bytes.Equal(got, want) {
						t.Fatalf("int_gemm/%s %v of %v to %v: the results differ", kernel.Variant(), s, in, out)
					}
				}
			}
		}
	}
}

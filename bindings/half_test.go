package bindings

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// halfKernel returns the oracle.
func halfKernel() Kernel {
	k, err := Select("half", 0)
	if err != nil {
		panic(err)
	}
	return k
}

// TestHalf compares the conversions with the oracle's, over every length that
// has a tail of its own and on threads.
func TestHalf(t *testing.T) {
	pool, err := NewPool(3)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	r := rand.New(rand.NewPCG(9, 9))
	oracle := halfKernel()
	eachVariant(t, "half", func(t *testing.T, k Kernel) {
		for _, n := range []int{1, 3, 7, 8, 15, 16, 17, 33, 1000, 40000} {
			src := make([]float32, n)
			for i := range src {
				src[i] = math.Float32frombits(r.Uint32())
				if src[i] != src[i] {
					src[i] = float32(r.NormFloat64()) // which bits of a NaN stay is not fixed
				}
			}
			for _, ft := range []FloatType{Float32, Float16, BFloat16} {
				got, want := make([]uint32, n), make([]uint32, n)
				k.Narrow(pool, ft, src, unsafe.Pointer(&got[0]))
				oracle.Narrow(nil, ft, src, unsafe.Pointer(&want[0]))
				wide, wantWide := make([]float32, n), make([]float32, n)
				k.Widen(pool, ft, unsafe.Pointer(&want[0]), wide)
				oracle.Widen(nil, ft, unsafe.Pointer(&want[0]), wantWide)
				for i := range n {
					if got[i] != want[i] || wide[i] != wantWide[i] {
						t.Fatalf("type %d, %d elements: element %d is %#x and %g, want %#x and %g", ft, n, i, got[i], wide[i], want[i], wantWide[i])
					}
				}
			}
		}
	})
}

package quantize

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/packed"
)

// pair is the kernels of a level.
type pair struct{ search, whole bindings.Kernel }

func (p pair) compute() func(*packed.Search) { return searchWith(p.search, p.whole) }

// kernels returns the kernels of searches that the processor has.
func kernels(t testing.TB) (list []pair) {
	t.Helper()
	testenv.Need(t, bindings.Available())
	isa := bindings.DetectISA()
	for _, k := range bindings.Variants("f32_search") {
		if k.ISA()&^isa != 0 {
			continue
		}
		all := bindings.Variants("f32_whole")
		i := slices.IndexFunc(all, func(w bindings.Kernel) bool { return w.Variant() == k.Variant() })
		if i < 0 {
			t.Fatalf("f32_whole has no variant %s", k.Variant())
		}
		list = append(list, pair{k, all[i]})
	}
	if len(list) == 0 {
		t.Fatal("no kernels of f32_search")
	}
	return list
}

// TestSearchKernels compares the sums of kernels with Compute's, bit by bit.
func TestSearchKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	table := make([]float32, 1024)
	for i := range table {
		table[i] = float32(r.IntN(255) - 127)
	}
	for _, k := range kernels(t) {
		for _, size := range []int{1, 2, 15, 16, 31, 32} {
			for tries := 1; tries <= 20; tries += 3 {
				for kind := range 3 {
					s := &packed.Search{Used: packed.Lanes, Size: size, Tries: tries}
					switch kind {
					case 0:
						s.Low, s.High = -8, 7
					case 1:
						s.Low, s.High = 0, 31
					case 2:
						s.Low, s.High, s.Table = -512, 511, table
					}
					for i := range s.X {
						s.X[i], s.W[i] = float32(r.NormFloat64()), float32(r.ExpFloat64())
						if i%7 == 0 {
							s.X[i] = float32(i%4) * 0.5 // ties
						}
					}
					for i := range s.Inverse {
						s.Inverse[i], s.Shift[i] = float32(r.NormFloat64()*30), float32(r.IntN(9)-4)
						switch i % 11 {
						case 0:
							s.Inverse[i] = 1
						case 1:
							s.Inverse[i] = 1e29
						case 2:
							s.Inverse[i], s.Shift[i] = 0, 0
						}
					}
					want := *s
					want.Compute()
					k.compute()(s)
					for i, v := range want.Sums {
						if math.Float32bits(v) != math.Float32bits(s.Sums[i]) {
							t.Fatalf("%s: size %d, kind %d, try %d, sum %d of lane %d: %g, want %g", k.search.Variant(), size, kind,
								i/packed.Lanes/3, i/packed.Lanes%3, i%packed.Lanes, s.Sums[i], v)
						}
					}
				}
			}
		}
	}
}

// TestWholeKernels compares the whole numbers of kernels and their sums with Compute's, bit by bit.
func TestWholeKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	table := make([]float32, 1024)
	for i := range table {
		table[i] = float32(r.IntN(255) - 127)
	}
	for _, k := range kernels(t) {
		for _, size := range []int{1, 16, 32} {
			for reach := 1; reach <= 6; reach++ {
				for kind := range 2 {
					s := &packed.Search{Used: packed.Lanes, Size: size, Reach: reach, Low: -32, High: 31, Least: -8, Most: 7}
					if kind == 1 {
						s.Low, s.High, s.Table = -512, 511, table
					}
					for i := range s.X {
						s.X[i], s.W[i] = float32(r.NormFloat64()), float32(r.ExpFloat64())
						if i%packed.Lanes == 3 { // zeros
							s.X[i] = 0
						}
					}
					for l := range packed.Lanes {
						s.Unit[l], s.Whole[l] = float32(r.NormFloat64()/40), float32(r.IntN(16)-8)
						s.Inverse[l] = 1 / s.Unit[l]
					}
					s.Unit[5], s.Inverse[5] = 0, 0
					want := *s
					want.Compute()
					k.compute()(s)
					if s.Whole != want.Whole {
						t.Fatalf("%s: size %d, reach %d, kind %d: %v, want %v", k.whole.Variant(), size, reach, kind, s.Whole, want.Whole)
					}
					for i, v := range want.Sums[:3*packed.Lanes] {
						if math.Float32bits(v) != math.Float32bits(s.Sums[i]) {
							t.Fatalf("%s: size %d, reach %d, kind %d, sum %d: %g, want %g", k.whole.Variant(), size, reach, kind, i, s.Sums[i], v)
						}
					}
				}
			}
		}
	}
}

// TestSearchBlocks quantises with every kernel. Files must not depend on the processor.
func TestSearchBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	for _, b := range packed.BlockTypes {
		n := 5 * b.Elements
		x, w := make([]float32, n), make([]float32, n)
		for i := range x {
			x[i], w[i] = float32(r.NormFloat64()), float32(r.ExpFloat64())
		}
		clear(w[b.Elements : 2*b.Elements]) // a block without importance among others
		for _, w := range [][]float32{nil, w} {
			want, got := make([]byte, b.Size(n)), make([]byte, b.Size(n))
			for at := 0; at < n; at += b.Elements { // alone, as beside others
				var part []float32
				if w != nil {
					part = w[at : at+b.Elements]
				}
				b.Quantize(want[b.Size(at):][:b.Bytes], x[at:at+b.Elements], part)
			}
			for _, k := range kernels(t) {
				b.Quantizer(k.compute())(got, x, w)
				if !bytes.Equal(got, want) {
					t.Errorf("%s: %s gives other bytes", b.Name, k.search.Variant())
				}
			}
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	x, w := make([]float32, 1<<16), make([]float32, 1<<16)
	for i := range x {
		x[i], w[i] = float32(r.NormFloat64()), float32(r.ExpFloat64())
	}
	for _, k := range kernels(b) {
		for _, t := range packed.BlockTypes {
			for _, w := range [][]float32{nil, w} {
				quantize, dst := t.Quantizer(k.compute()), make([]byte, t.Size(len(x)))
				b.Run(fmt.Sprintf("%s/%s/weighted=%t", k.search.Variant(), t.Name, w != nil), func(b *testing.B) {
					b.SetBytes(int64(4 * len(x)))
					for b.Loop() {
						quantize(dst, x, w)
					}
				})
			}
		}
	}
}

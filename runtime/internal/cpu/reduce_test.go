package cpu

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/arith"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func reductionOf(s [3]int) lower.Lanes {
	return lower.Along(graph.DimsOf(tensor.Shape(s[:])), 1)
}

func TestReduce(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(3, 4))
	for _, s := range append([][3]int{{2, 0, 3}, {70, 0, 1}, {3, 4, 0}}, steps...) {
		list := normals(r, volume(s[:]), 0, 2)
		for first := arith.ReduceSum; first <= arith.ReduceMin; first++ {
			for _, d := range floatKinds {
				x := list
				if first == arith.ReduceProd {
					x = make([]float64, len(list))
					for i, v := range list {
						x[i] = 1 + v/64
					}
				}
				root := arith.RootNone
				if first == arith.ReduceSumSquare {
					root = arith.RootSqrt
				}
				w := reduceWords(reductionOf(s), first, graph.Known(2), root, []tensor.DType{d.t, d.t}, halfFor(t, d.t),
					bindings.Kernel{})
				// Each accumulator adds at most a few hundred numbers of size 4.
				checkVariants(t, "f32_reduce", fmt.Sprint(first, s, d.t), w, pool, 1e-6*float64(s[1]), 1e-5*float64(min(s[1], 100))+d.relative,
					[]output{{at: 1, dtype: d.t, n: s[0] * s[2]}}, stored(d.t, x), nil)
			}
		}
	}
}

// TestReduceExponentials compares logarithms of sums of exponentials to the formula, for large and
// small numbers and infinities.
func TestReduceExponentials(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(5, 6))
	for _, s := range append([][3]int{{2, 0, 3}, {3, 4, 0}}, steps...) {
		for i, spread := range []float64{1, 100} {
			x := normals(r, volume(s[:]), 0, spread)
			if i == 1 && len(x) > 3 {
				x[0], x[1], x[2] = math.Inf(-1), math.Inf(1), math.NaN()
			}
			for _, d := range floatKinds {
				x, want := rounded(d.t, x), make([]float64, s[0]*s[2])
				for o := range want {
					most, sum := math.Inf(-1), 0.0
					at := func(k int) float64 { return x[(o/max(s[2], 1)*s[1]+k)*s[2]+o%max(s[2], 1)] }
					for k := range s[1] {
						most = max(most, at(k))
					}
					if math.IsInf(most, 0) || math.IsNaN(most) {
						want[o] = most
						continue
					}
					for k := range s[1] {
						sum += math.Exp(at(k) - most)
					}
					want[o] = most + math.Log(sum)
				}
				for _, k := range runnable(t, "f32_reduce") {
					w := reduceWords(reductionOf(s), arith.ReduceSum, graph.Known(1), arith.RootNone, []tensor.DType{d.t, d.t},
						halfFor(t, d.t), partOf(t, "f32_exp", k.ISA()))
					if !k.Fits(numbersOf(t, w)) {
						continue
					}
					got := runOutputs(t, k, w, pool, []output{{at: 1, dtype: d.t, n: len(want)}}, stored(d.t, x), nil)
					if i := differ(got, want, 1e-5, 1e-5+d.relative); i >= 0 {
						t.Fatalf("%s %v %v: element %d is %v, not %v", k.Variant(), s, d.t, i, got[i], want[i])
					}
				}
			}
		}
	}
}

// TestReduceSpecial puts a number that decides the result at every place of a row and of a column.
func TestReduceSpecial(t *testing.T) {
	pool, inf, nan := testPool(t), math.Inf(1), math.NaN()
	const n = 70
	for _, c := range []struct {
		name  string
		value float64
		first arith.Reduction
		want  float64
	}{
		{"largest with NaN", nan, arith.ReduceMax, nan},
		{"smallest with NaN", nan, arith.ReduceMin, nan},
		{"largest with inf", inf, arith.ReduceMax, inf},
		{"smallest with -inf", -inf, arith.ReduceMin, -inf},
		{"sum with NaN", nan, arith.ReduceSum, nan},
		{"sum with inf", inf, arith.ReduceSum, inf},
		{"absolute -inf", -inf, arith.ReduceSumAbs, inf},
	} {
		for _, k := range runnable(t, "f32_reduce") {
			for at := range n {
				x := make([]float64, 3*n)
				x[at] = c.value
				for rows, s := range map[int][3]int{n: {1, n, 1}, 3: {1, 3, n}} {
					w := reduceWords(reductionOf(s), c.first, graph.Known(1), arith.RootNone, []tensor.DType{tensor.F32, tensor.F32},
						halfFor(t, tensor.F32), bindings.Kernel{})
					if !k.Fits(numbersOf(t, w)) {
						continue
					}
					got := runOutputs(t, k, w, pool, []output{{at: 1, dtype: tensor.F32, n: s[2]}}, stored(tensor.F32, x), nil)
					if v := got[at%s[2]]; differ([]float64{v}, []float64{c.want}, 0, 0) >= 0 {
						t.Fatalf("%s, %s at %d of %d rows: %v", k.Variant(), c.name, at, rows, v)
					}
				}
			}
		}
	}
}

// TestReduceInfinities reduces infinities that are the identity of the reduction.
func TestReduceInfinities(t *testing.T) {
	pool := testPool(t)
	for first, v := range map[arith.Reduction]float64{arith.ReduceMax: math.Inf(-1), arith.ReduceMin: math.Inf(1)} {
		x := make([]float64, 37)
		for i := range x {
			x[i] = v
		}
		w := reduceWords(reductionOf([3]int{1, len(x), 1}), first, graph.Known(1), arith.RootNone,
			[]tensor.DType{tensor.F32, tensor.F32}, halfFor(t, tensor.F32), bindings.Kernel{})
		for _, k := range fitting(t, "f32_reduce", w) {
			if got := runOutputs(t, k, w, pool, []output{{at: 1, dtype: tensor.F32, n: 1}}, stored(tensor.F32, x),
				nil); got[0] != v {
				t.Errorf("%s: reduction %d of infinities is %v", k.Variant(), first, got[0])
			}
		}
	}
}

// TestIntReduce compares reductions of integers to loops. Some sums wrap.
func TestIntReduce(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(5, 6))
	for _, s := range append([][3]int{{2, 0, 3}, {3, 4, 0}, {70000, 3, 1}}, steps...) {
		for _, first := range []arith.Reduction{arith.ReduceSum, arith.ReduceProd, arith.ReduceMax, arith.ReduceMin} {
			if s[1] == 0 && (first == arith.ReduceMax || first == arith.ReduceMin) {
				continue
			}
			intReduce[int64](t, pool, "i64_reduce", s, first, r.Int64)
			intReduce[int32](t, pool, "i32_reduce", s, first, func() int32 { return int32(r.Uint32()) })
		}
	}
}

func intReduce[T int32 | int64](
	t *testing.T, pool *bindings.Pool, kernel string, s [3]int, first arith.Reduction, next func() T,
) {
	t.Helper()
	x := make([]T, volume(s[:]))
	for i := range x {
		x[i] = next()
	}
	want := make([]T, s[0]*s[2])
	for i := range want {
		for k := range s[1] {
			v := x[(i/s[2]*s[1]+k)*s[2]+i%s[2]]
			switch {
			case k == 0:
				want[i] = v
			case first == arith.ReduceSum:
				want[i] += v
			case first == arith.ReduceProd:
				want[i] *= v
			case first == arith.ReduceMax:
				want[i] = max(want[i], v)
			default:
				want[i] = min(want[i], v)
			}
		}
		if s[1] == 0 && first == arith.ReduceProd {
			want[i] = 1
		}
	}
	d := tensor.Of[T]()
	var w words
	w.int(s[0], s[1], s[2], int(first), d.Bits()/8)
	for _, k := range runnable(t, kernel) {
		in, err := tensor.From(x, len(x))
		if err != nil {
			t.Fatal(err)
		}
		out := runGuarded(t, k, w, pool, d.Bytes(len(want)), d.Bits()/8, in.Bytes())
		got, err := tensor.From(want, len(want))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(out, got.Bytes()) {
			t.Fatalf("%s %s of %v, reduction %d", kernel, k.Variant(), s, first)
		}
	}
}

// TestArg compares indices to a loop, for numbers with duplicates, infinities and NaNs.
func TestArg(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(7, 8))
	nan, inf := math.NaN(), math.Inf(1)
	for _, s := range append([][3]int{{3, 4, 0}, {0, 4, 3}, {300, 200, 1}}, steps...) {
		for _, odd := range []float64{0, inf, -inf, nan} {
			x := make([]float64, volume(s[:]))
			for i := range x {
				x[i] = float64(r.IntN(max(s[1], 5)))
				if r.IntN(max(s[1]/2, 3)) == 0 {
					x[i] = odd
				}
			}
			for _, c := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
				least, last := c[0], c[1]
				want := make([]float64, s[0]*s[2])
				for o := range want {
					at := func(k int) float64 { return x[(o/s[2]*s[1]+k)*s[2]+o%s[2]] }
					best := 0
					for k := 1; k < s[1]; k++ {
						v, b := at(k), at(best)
						if better := b == b && (v != v || least && v < b || !least && v > b); better ||
							last && (v == b || v != v && b != b) {
							best = k
						}
					}
					want[o] = float64(best)
				}
				w := argWords(reductionOf(s), least, last)
				for _, k := range fitting(t, "f32_arg", w) {
					got := runOutputs(t, k, w, pool, []output{{at: 1, dtype: tensor.I64, n: len(want)}}, stored(tensor.F32, x), nil)
					if i := differ(got, want, 0, 0); i >= 0 {
						t.Fatalf("%s %v, least %v, last %v, %v among them: place %d is %v, not %v", k.Variant(), s, least, last, odd, i,
							got[i], want[i])
					}
				}
			}
		}
	}
}

// TestScan compares running sums and products to a loop, bit by bit.
func TestScan(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(9, 10))
	for _, s := range append([][3]int{{2, 0, 3}, {3, 4, 0}, {300, 200, 1}, {2, 40, 2500}}, steps...) {
		x := normals(r, volume(s[:]), 0, 1)
		for i := range x {
			if r.IntN(7) == 0 {
				x[i] = math.Copysign(0, -1)
			}
		}
		x = rounded(tensor.F32, x)
		for bits := range 8 {
			product, exclusive, reverse := bits&1 != 0, bits&2 != 0, bits&4 != 0
			want := make([]float64, len(x))
			for o := range s[0] * s[2] {
				sum := float32(math.Copysign(0, -1))
				if product {
					sum = 1
				} else if exclusive {
					sum = 0
				}
				for k := range s[1] {
					if reverse {
						k = s[1] - 1 - k
					}
					at := (o/s[2]*s[1]+k)*s[2] + o%s[2]
					before := sum
					if product {
						sum *= float32(x[at])
					} else {
						sum += float32(x[at])
					}
					want[at] = float64(sum)
					if exclusive {
						want[at] = float64(before)
					}
				}
			}
			for _, k := range runnable(t, "f32_scan") {
				got := runOutputs(t, k, scanWords(reductionOf(s), product, exclusive, reverse), pool,
					[]output{{at: 1, dtype: tensor.F32, n: len(want)}}, stored(tensor.F32, x), nil)
				for i := range want {
					if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
						t.Fatalf("%s %v, product %v, exclusive %v, reverse %v: element %d is %v, not %v", k.Variant(), s, product,
							exclusive, reverse, i, got[i], want[i])
					}
				}
			}
		}
	}
}

// TestTopK compares the best elements and their indices to a stable sort.
func TestTopK(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(11, 12))
	nan, inf := math.NaN(), math.Inf(1)
	for _, s := range [][3]int{{3, 5, 0}, {0, 4, 3}, {1, 1, 1}, {2, 7, 7}, {3, 16, 1}, {5, 129, 3}, {300, 200, 10},
		{2, 1000, 128}, {1, 4097, 64}} {
		for _, odd := range []float64{0, inf, -inf, nan} {
			rows, n, k := s[0], s[1], s[2]
			x := make([]float64, rows*n)
			for i := range x {
				x[i] = float64(r.IntN(max(n, 5)))
				if r.IntN(max(n/2, 3)) == 0 {
					x[i] = odd
				}
			}
			for _, least := range []bool{false, true} {
				var values, places []float64
				for row := range rows {
					list := make([]int, n)
					for i := range list {
						list[i] = i
					}
					slices.SortStableFunc(list, func(i, j int) int {
						a, b := x[row*n+i], x[row*n+j]
						order := cmp.Compare(b, a)
						if a != a || b != b {
							order = cmp.Compare(kit.Btoi(b != b), kit.Btoi(a != a))
						}
						if least {
							order = -order
						}
						return order
					})
					for _, i := range list[:k] {
						values, places = append(values, x[row*n+i]), append(places, float64(i))
					}
				}
				w := topKWords(reductionOf([3]int{rows, n, 1}), k, least)
				want := slices.Concat(values, places)
				for _, kernel := range runnable(t, "f32_topk") {
					got := runOutputs(t, kernel, w, pool, []output{{at: 1, dtype: tensor.F32, n: rows * k},
						{at: 2, dtype: tensor.I64, n: rows * k}}, stored(tensor.F32, x), nil, nil)
					if i := differ(got, want, 0, 0); i >= 0 {
						t.Fatalf("%s %v, least %v, %v among them: element %d is %v, not %v", kernel.Variant(), s, least, odd, i, got[i],
							want[i])
					}
				}
			}
		}
	}
}

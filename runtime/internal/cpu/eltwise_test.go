package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// tolerance bounds a difference in units in the last place of the result, and in absolute terms.
type tolerance struct{ ulp, abs float64 }

// eltwiseULP bounds the difference of a vector variant of a float32 function to the scalar one. An
// activation without a row may be 3 units off. Other functions without a row must agree exactly.
// The absolute bound covers tails, where a rounded argument alone moves the result by many units.
var eltwiseULP = func() map[string]tolerance {
	list := map[string]tolerance{
		"f32_exp":              {1.5, 0},
		"f32_log":              {1.5, 0},
		"f32_erf":              {2, 0},
		"f32_sin":              {2, 0},
		"f32_cos":              {2, 0},
		"f32_tan":              {4, 0},
		"f32_asin":             {3, 0},
		"f32_acos":             {3, 0},
		"f32_atan":             {2, 0},
		"f32_sinh":             {4, 0},
		"f32_cosh":             {4, 0},
		"f32_pow":              {6, 0},
		"f32_swish":            {4, 1e-7},
		"f32_mish":             {4, 1e-7},
		"f32_gelu":             {4, 1e-7},
		"f32_gelu_tanh":        {4, 1e-7},
		"f32_relu":             {},
		"f32_leaky_relu":       {},
		"f32_thresholded_relu": {},
		"f32_hard_sigmoid":     {},
		"f32_hard_swish":       {},
		"f32_clip":             {},
	}
	for _, a := range kit.Activations() {
		op := "f32_" + a.Kernel
		if _, listed := list[op]; !listed && a.Kernel != "" {
			list[op] = tolerance{3, 0}
		}
	}
	return list
}()

// specials are numbers at the edges of functions.
var specials = []float64{
	0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -3, 6, 0x1p-149, -0x1p-149, 1e-40, -1e-40,
	0x1p-126, -0x1p-126, math.MaxFloat32, -math.MaxFloat32, 88.7, 88.8, 89, -87.3, -88, -103.9, -104, -110,
	0.70710678, 1.4142135, 9, -9, 10.5, 20, 1e10, -1e10, 16777216, 8388607.5, 0.49999997,
}

func within(got, want, ulps, abs float64) bool {
	if got == want || math.IsNaN(got) && math.IsNaN(want) {
		return true
	}
	_, e := math.Frexp(want)
	unit := math.Ldexp(1, max(e, -125)-24)
	return math.Abs(got-want) <= max(ulps*unit, abs)
}

// binaryFunctions are the functions of two numbers.
var binaryFunctions = []string{"add", "sub", "mul", "div", "min", "max", "prelu", "eq", "gt", "ge", "pow", "fmod"}

// unaryFunctions returns the ops of functions of float32. Their numbers of words and operands tell
// them from other commands.
func unaryFunctions() map[string]bool {
	w := unaryWords(graph.Known(1), plainF32, plainF32, [2]int64{}, tensor.F32)
	list := map[string]bool{}
	for _, k := range bindings.Variants() {
		name, ok := strings.CutPrefix(k.Op(), "f32_")
		if ok && name != "resample" && k.IsCommand() && k.Words() == len(w) && k.Operands() == 4 {
			list[k.Op()] = true
		}
	}
	return list
}

var plainF32 = storage{bytes: 4}

func TestUnaryFunctions(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(1, 2))
	p := params(tensor.F32, 1.25, 1.75)
	vectors := map[string]bool{}
	for op := range unaryFunctions() {
		scalar := partOf(t, op, 0)
		size := 4
		if slices.Contains([]string{"f32_isnan", "f32_isinf"}, op) {
			size = 1
		}
		for _, k := range runnable(t, op) {
			vectors[op] = vectors[op] || k.ISA() != 0
			for _, n := range []int{1, 3, 4, 7, 8, 15, 16, 17, 33, len(specials), 1000, 2000, 3000} {
				x := normals(r, n, 0, 4)
				for i := range x {
					switch n {
					case len(specials):
						x[i] = specials[i]
					case 1000: // every magnitude
						x[i] = float64(math.Float32frombits(r.Uint32()))
					case 2000: // many periods, and near multiples of half of one
						x[i] = math.Round(x[i]*1e4/(math.Pi/2)) * (math.Pi / 2)
						if i%2 == 0 {
							x[i] += r.NormFloat64()
						}
					case 3000: // the domain of arcs
						x[i] = 2*r.Float64() - 1
					}
				}
				in := stored(tensor.F32, x)
				w := unaryWords(graph.Known(n), plainF32, storage{bytes: size}, p, tensor.F32)
				checkFunction(t, op, k, scalar, w, pool, n, size, in)
			}
		}
	}
	for op := range eltwiseULP {
		if op != "f32_pow" && !vectors[op] && bindings.DetectISA() != 0 {
			t.Errorf("%s has a tolerance and no vector variant", op)
		}
	}
	if len(vectors) < 30 {
		t.Errorf("%d functions were found", len(vectors))
	}
}

// checkFunction compares a kernel to the scalar one, with the result in its own memory and in the
// input's.
func checkFunction(
	t *testing.T, op string, k, scalar bindings.Kernel, w words, pool *bindings.Pool, n, size int, x []byte,
) {
	t.Helper()
	want, tolerance := runUnary(t, scalar, w, nil, n*size, size, x), eltwiseULP[op]
	for _, p := range []*bindings.Pool{nil, pool} {
		got := runUnary(t, k, w, p, n*size, size, x)
		for i := range n {
			if size == 1 && got[i] != want[i] || size == 4 && !within(float64(viewAs[float32](got)[i]),
				float64(viewAs[float32](want)[i]), tolerance.ulp, tolerance.abs) {
				t.Fatalf("%s/%s of %d elements: f(%g) = %v, not %v", op, k.Variant(), n, viewAs[float32](x)[i],
					got[i*size:][:size], want[i*size:][:size])
			}
		}
		if size != 4 {
			continue
		}
		over := slices.Clone(x)
		if _, failed := runCommand(t, k, w, p, over, over, nil, nil); failed {
			t.Fatalf("%s/%s failed", op, k.Variant())
		}
		if i := differ(loaded(tensor.F32, over), loaded(tensor.F32, got), 0, 0); i >= 0 {
			t.Fatalf("%s/%s of %d elements: in place element %d differs", op, k.Variant(), n, i)
		}
	}
}

func runUnary(t *testing.T, k bindings.Kernel, w words, pool *bindings.Pool, n, size int, x []byte) []byte {
	t.Helper()
	y, intact := guardedBytes(n, size)
	if _, failed := runCommand(t, k, w, pool, x, y, nil, nil); failed || !intact() {
		t.Fatalf("%s/%s failed, or wrote beyond %d bytes", k.Op(), k.Variant(), n)
	}
	return y
}

func TestBinaryFunctions(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(3, 4))
	for _, name := range binaryFunctions {
		op, size := "f32_"+name, 4
		if slices.Contains([]string{"eq", "gt", "ge"}, name) {
			size = 1
		}
		scalar := partOf(t, op, 0)
		for _, k := range runnable(t, op) {
			for _, n := range []int{1, 2, 7, 16, 31, 90, 200} {
				for _, dims := range [][2]int{{n, n}, {1, n}, {n, 1}, {1, 1}} {
					a, b := normals(r, dims[0], 0, 4), normals(r, dims[1], 0, 4)
					for i := range a {
						switch {
						case n == 31: // all equal
						case n == 90: // whole numbers, and multiples of the smallest float
							unit := math.Ldexp(1, -149*(i%2))
							a[i], b[i%len(b)] = float64(r.IntN(400)-200)*unit, float64(1+r.IntN(20))*unit
						case r.IntN(3) == 0:
							a[i], b[i%len(b)] = specials[r.IntN(len(specials))], specials[r.IntN(len(specials))]
						}
					}
					w := binaryWords(plainF32, plainF32, storage{bytes: size}, oneAxis(n), oneAxis(dims[0]), oneAxis(dims[1]))
					in := [][]byte{stored(tensor.F32, a), stored(tensor.F32, b)}
					got, want := runGuarded(t, k, w, pool, n*size, size, in...), runGuarded(t, scalar, w, nil, n*size, size, in...)
					if size == 1 && !slices.Equal(got, want) ||
						size == 4 && !allWithin(op, viewAs[float32](got), viewAs[float32](want)) {
						t.Fatalf("%s/%s, extents %d and %v: %v, not %v", op, k.Variant(), n, dims, got, want)
					}
				}
			}
		}
	}
}

func oneAxis(n int) graph.Dims { return graph.Dims{graph.Known(n)} }

// allWithin reports whether results of a binary function are within its bounds.
func allWithin(op string, got, want []float32) bool {
	tolerance := eltwiseULP[op]
	for i, w := range want {
		if !within(float64(got[i]), float64(w), tolerance.ulp, tolerance.abs) {
			return false
		}
	}
	return true
}

// TestPowers compares powers of positive numbers, which vectors compute, to float64.
func TestPowers(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(5, 7))
	for _, k := range runnable(t, "f32_pow") {
		for _, n := range []int{1, 5, 16, 100, 511, 513, 40000} {
			for _, dims := range [][2]int{{n, n}, {1, n}, {n, 1}} {
				a, b := normals(r, dims[0], 0, 2), normals(r, dims[1], 0, 3)
				for i := range a {
					a[i] = float64(float32(math.Exp(a[i])))
				}
				for i := range b {
					b[i] = float64(float32(b[i]))
					if n%2 == 1 {
						a[i%len(a)], b[i] = 0, math.Abs(b[i])
					}
				}
				w := binaryWords(plainF32, plainF32, plainF32, oneAxis(n), oneAxis(dims[0]), oneAxis(dims[1]))
				got := viewAs[float32](runGuarded(t, k, w, pool, n*4, 4, stored(tensor.F32, a), stored(tensor.F32, b)))
				for i, y := range got {
					x, p := a[i%len(a)], b[i%len(b)]
					if want := math.Pow(x, p); !within(float64(y), want, eltwiseULP["f32_pow"].ulp, 0) {
						t.Fatalf("%s of %d: %g to the power of %g is %g, not %g", k.Variant(), n, x, p, y, want)
					}
				}
			}
		}
	}
}

// TestHalfConversions compares conversions of 16-bit floats to package packed: all such floats, and
// floats near all of them.
func TestHalfConversions(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(5, 6))
	every, _ := guardedBytes(2<<16, 2)
	for i := range 1 << 16 {
		viewAs[uint16](every)[i] = uint16(i)
	}
	floats, _ := guardedBytes(4<<18, 4)
	for i := range 1 << 17 {
		// One is near a float16 number or halfway to the next; the other is random.
		viewAs[float32](floats)[2*i] = math.Float32frombits(uint32(i)<<15 + uint32(r.IntN(3)) - 1)
		viewAs[float32](floats)[2*i+1] = math.Float32frombits(r.Uint32())
	}
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16} {
		name := d.Short()
		want := loaded(d, every)
		for _, k := range runnable(t, name+"_to_f32") {
			got := loaded(tensor.F32, runGuarded(t, k, convertWords(graph.Known(1<<16), d, tensor.F32, bindings.Kernel{}),
				pool, 4<<16, 4, every))
			if i := differ(got, want, 0, 0); i >= 0 {
				t.Errorf("%s: %#x is %g, not %g", k.Variant(), i, got[i], want[i])
			}
		}
		for _, k := range runnable(t, "f32_to_"+name) {
			for _, n := range []int{1, 5, 13, 1 << 18} {
				w := convertWords(graph.Known(n), tensor.F32, d, bindings.Kernel{})
				checkNarrowed(t, k.Variant(), d, floats[:4*n], runGuarded(t, k, w, pool, 2*n, 2, floats[:4*n]))
			}
		}
	}
}

// checkNarrowed compares rounded floats to package packed. The bits of a NaN are not fixed.
func checkNarrowed(t *testing.T, what string, d tensor.DType, x, got []byte) {
	t.Helper()
	for i, f := range viewAs[float32](x) {
		want := uint16(packed.ToF16(f))
		if d == tensor.BF16 {
			want = uint16(packed.ToBF16(f))
		}
		if g := viewAs[uint16](got)[i]; g != want && (f == f || !isNaN(d, got[2*i:][:2])) {
			t.Fatalf("%s: %g (%#x) is %#x, not %#x", what, f, math.Float32bits(f), g, want)
		}
	}
}

// TestBroadcast compares random shapes to plain index arithmetic, on one thread and on several.
func TestBroadcast(t *testing.T) {
	t.Parallel()
	pool, r := testPool(t), rand.New(rand.NewPCG(7, 8))
	sub, pick := runnable(t, "i32_sub")[0], runnable(t, "where_4")[0]
	for trial := range 600 {
		rank := r.IntN(6)
		if trial%10 == 1 {
			rank = 2 + r.IntN(2) // short rows, some of which repeat
		}
		var shapes [4]tensor.Shape // of y and the inputs
		for axis := range rank {
			d := 1 + r.IntN(5)
			switch {
			case trial%10 == 0 && axis == rank-1:
				d = 3000
			case trial%10 == 1 && axis == rank-1:
				d = 1 + r.IntN(70)
			case trial%10 == 1 && axis == rank-2:
				d = 1 + r.IntN(1500)
			}
			for k := range shapes {
				shapes[k] = append(shapes[k], []int{d, 1}[r.IntN(2)*min(k, 1)])
			}
		}
		n := shapes[0].Len()
		cond, a, b := make([]byte, n), make([]int32, n), make([]int32, n)
		for i := range n {
			cond[i], a[i], b[i] = byte(r.IntN(2)), r.Int32(), r.Int32()
		}
		dims := [4]graph.Dims{graph.DimsOf(shapes[0]), graph.DimsOf(shapes[1]), graph.DimsOf(shapes[2]),
			graph.DimsOf(shapes[3])}
		l := storage{bytes: 4}
		y := viewAs[int32](runGuarded(t, sub, binaryWords(l, l, l, dims[0], dims[1], dims[2]), pool, 4*n, 4, memoryOf(a),
			memoryOf(b)))
		z := viewAs[int32](runGuarded(t, pick, whereWords(4, dims[0], dims[1:]...), pool, 4*n, 4, cond, memoryOf(a),
			memoryOf(b)))
		for i := range n {
			if want := a[source(i, shapes[0], shapes[1])] - b[source(i, shapes[0], shapes[2])]; y[i] != want {
				t.Fatalf("%v: element %d is %d, not %d", shapes, i, y[i], want)
			}
			want := b[source(i, shapes[0], shapes[3])]
			if cond[source(i, shapes[0], shapes[1])] != 0 {
				want = a[source(i, shapes[0], shapes[2])]
			}
			if z[i] != want {
				t.Fatalf("%v: where: element %d is %d, not %d", shapes, i, z[i], want)
			}
		}
	}
}

// source returns the index in an input of shape x of element i of the output.
func source(i int, y, x tensor.Shape) int {
	index, run := 0, 1
	for axis := len(y) - 1; axis >= 0; axis-- {
		if x[axis] != 1 {
			index += i % y[axis] * run
			run *= x[axis]
		}
		i /= y[axis]
	}
	return index
}

// TestWhereWidths selects elements of every width. Condition and values are full or broadcast.
func TestWhereWidths(t *testing.T) {
	pool := testPool(t)
	for _, n := range []int{6, 83, 600} {
		for mode := range 8 {
			each := func(k int) int { return mode >> k & 1 }
			extent := func(k int) int { return max(1, n*each(k)) }
			cond := make([]byte, extent(0))
			for i := range cond {
				cond[i] = []byte{1, 0, 7, 0, 0, 255, 128}[i*i%7]
			}
			for _, size := range []int{1, 2, 4, 8, 16} {
				a, b := make([]byte, extent(1)*size), make([]byte, extent(2)*size)
				for i := range a {
					a[i] = byte(i * 5)
				}
				for i := range b {
					b[i] = byte(128 + i*3)
				}
				w := whereWords(size, oneAxis(n), oneAxis(len(cond)), oneAxis(extent(1)), oneAxis(extent(2)))
				for _, k := range runnable(t, fmt.Sprintf("where_%d", size)) {
					y := runGuarded(t, k, w, pool, n*size, size, cond, a, b)
					for i := range y {
						want := b[i/size*each(2)*size+i%size]
						if cond[i/size*each(0)] != 0 {
							want = a[i/size*each(1)*size+i%size]
						}
						if y[i] != want {
							t.Fatalf("%d elements of %d bytes, mode %d: byte %d is %d, not %d", n, size, mode, i, y[i], want)
						}
					}
				}
			}
		}
	}
}

// TestThroughHalf multiplies elements that are widened first and rounded afterwards, in several
// blocks.
func TestThroughHalf(t *testing.T) {
	const n = 5000
	pool := testPool(t)
	for _, k := range runnable(t, "f32_mul") {
		in := storage{2, partOf(t, "bf16_to_f32", k.ISA())}
		out := storage{2, partOf(t, "f32_to_bf16", k.ISA())}
		a := make([]packed.BF16, n)
		for i := range a {
			a[i] = packed.ToBF16(float32(i % 64))
		}
		w := binaryWords(in, in, out, oneAxis(n), oneAxis(n), oneAxis(1))
		y := viewAs[packed.BF16](runGuarded(t, k, w, pool, 2*n, 2, memoryOf(a), memoryOf([]packed.BF16{packed.ToBF16(3)})))
		for i := range y {
			if got := y[i].Float32(); got != float32(i%64)*3 {
				t.Fatalf("element %d is %g", i, got)
			}
		}
	}
}

// TestFused compares a unary and a binary function in one pass to both in sequence.
func TestFused(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(9, 10))
	k := runnable(t, "eltwise_fused")[0]
	for _, f := range runnable(t, "f32_sigmoid") {
		join := partOf(t, "f32_mul", f.ISA())
		for _, s := range [][2]int{{1, 1}, {7, 7}, {33, 11}, {40000, 200}, {20000, 20000}} {
			n, period := s[0], s[1]
			x, b := stored(tensor.F32, normals(r, n, 0, 2)), stored(tensor.F32, normals(r, period, 0, 2))
			p := params(tensor.F32, 0, 0)
			one := func(x []byte) []byte {
				return runUnary(t, f, unaryWords(graph.Known(n), plainF32, plainF32, p, tensor.F32), nil, 4*n, 4, x)
			}
			pair := func(x []byte) []byte {
				rows := graph.Dims{graph.Known(n / period), graph.Known(period)}
				return runGuarded(t, join, binaryWords(plainF32, plainF32, plainF32, rows, rows, oneAxis(period)), nil, 4*n, 4, x,
					b)
			}
			for _, first := range []bool{true, false} {
				want := pair(one(x))
				if !first {
					want = one(pair(x))
				}
				got := runGuarded(t, k, fusedWords(f, join, first, graph.Known(period), graph.Known(n), plainF32, plainF32, p),
					pool, 4*n, 4, x, b)
				if i := differ(loaded(tensor.F32, got), loaded(tensor.F32, want), 0, 0); i >= 0 {
					t.Fatalf("%s %v, unary first %v: element %d differs", f.Variant(), s, first, i)
				}
			}
		}
	}
}

// TestGatedAdd compares gated sums to the formula, on rows longer and shorter than a block and on
// rows of one element.
func TestGatedAdd(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(65, 66))
	k := runnable(t, "f32_gated_add")[0]
	for _, mul := range runnable(t, "f32_mul") {
		add := partOf(t, "f32_add", mul.ISA())
		for _, s := range [][2]int{{1, 1}, {5, 7}, {3, 1024}, {17, 2051}, {40003, 1}, {1, 33000}} {
			rows, n := s[0], s[1]
			x, y, gate := normals(r, rows*n, 0, 2), normals(r, rows*n, 0, 2), normals(r, rows, 0, 2)
			x, y, gate = rounded(tensor.F32, x), rounded(tensor.F32, y), rounded(tensor.F32, gate)
			in := [][]byte{stored(tensor.F32, x), stored(tensor.F32, y), stored(tensor.F32, gate)}
			got := loaded(tensor.F32, runGuarded(t, k, gatedWords(mul, add, rows, n), pool, 4*rows*n, 4, in...))
			for i, v := range got {
				product := float32(y[i]) * float32(gate[i/n])
				if want := float64(float32(x[i]) + float32(product)); v != want {
					t.Fatalf("%s %v: element %d is %v, want %v", mul.Variant(), s, i, v, want)
				}
			}
		}
	}
}

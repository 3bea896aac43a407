//go:build cgo

package bindings

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// eltwiseULP is how far, in units of the last place of the result, a vector
// variant of a float32 function may be from the oracle, and how far in absolute
// terms; functions that are not listed must agree exactly. The absolute part
// covers tails where a rounded argument alone moves the result by many units.
var eltwiseULP = map[string]struct{ ulp, abs float64 }{
	"f32_exp":       {1.5, 0},
	"f32_log":       {1.5, 0},
	"f32_tanh":      {3, 0},
	"f32_sigmoid":   {3, 0},
	"f32_softplus":  {3, 0},
	"f32_elu":       {3, 0},
	"f32_selu":      {3, 0},
	"f32_celu":      {3, 0},
	"f32_erf":       {2, 0},
	"f32_softsign":  {2, 0},
	"f32_swish":     {4, 1e-7},
	"f32_mish":      {4, 1e-7},
	"f32_gelu":      {4, 1e-7},
	"f32_gelu_tanh": {4, 1e-7},
}

// specials are numbers at which functions have edges.
var specials = []float32{
	0, float32(math.Copysign(0, -1)), inf32, -inf32, nan32, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -3, 6, 1e-45, -1e-45, 1e-40, -1e-40,
	math.SmallestNonzeroFloat32, 0x1p-126, -0x1p-126, math.MaxFloat32, -math.MaxFloat32, 88.7, 88.8, 89, -87.3, -88, -103.9, -104, -110,
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

func at[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

// eltwiseRows returns the rows of the family that has op where_1.
func eltwiseRows(t *testing.T) []Kernel {
	for _, f := range families() {
		if slices.ContainsFunc(f, func(k Kernel) bool { return k.Op() == "where_1" }) {
			return f
		}
	}
	t.Fatal("no family has op where_1")
	return nil
}

func TestEltwiseUnaryVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tested := map[string]bool{}
	for _, k := range eltwiseRows(t) {
		op := k.Op()
		if k.Variant() == "scalar" || !isUnary(op) || k.ISA()&^DetectISA() != 0 {
			continue
		}
		tested[op] = true
		t.Run(op+"/"+k.Variant(), func(t *testing.T) {
			oracle := scalarOf(t, op)
			tol := eltwiseULP[op]
			for _, n := range []int{1, 3, 4, 7, 8, 15, 16, 17, 33, len(specials), 1000} {
				x := randomFloats(r, n)
				if n == len(specials) {
					copy(x, specials)
				}
				for i := range x {
					if n == 1000 { // every magnitude
						x[i] = math.Float32frombits(r.Uint32())
					}
				}
				y, intact := guardedFloats(n)
				want := make([]float32, n)
				p := ParamsOf[float32](1.25, 1.75)
				EltwiseMap(nil, k, Lane{Data: at(x), Bytes: 4}, Lane{Data: at(y), Bytes: 4}, n, p)
				EltwiseMap(nil, oracle, Lane{Data: at(x), Bytes: 4}, Lane{Data: at(want), Bytes: 4}, n, p)
				for i := range want {
					if !within(float64(y[i]), float64(want[i]), tol.ulp, tol.abs) {
						t.Fatalf("%d elements: f(%g) = %g, want %g", n, x[i], y[i], want[i])
					}
				}
				if !intact() {
					t.Fatalf("%d elements: wrote beyond them", n)
				}
				EltwiseMap(nil, k, Lane{Data: at(x), Bytes: 4}, Lane{Data: at(x), Bytes: 4}, n, p)
				if firstFar(x, y, 0, 0) >= 0 {
					t.Fatalf("%d elements: in place differs", n)
				}
			}
		})
	}
	for op := range eltwiseULP {
		if !tested[op] && DetectISA() != 0 {
			t.Errorf("%s has a tolerance and no vector variant", op)
		}
	}
}

// isUnary tells by the op names of the tables which rows take one input.
func isUnary(op string) bool {
	name := op[strings.IndexByte(op, '_')+1:]
	two := []string{"add", "sub", "mul", "div", "min", "max", "prelu", "eq", "gt", "ge", "pow", "fmod", "mod", "and", "or", "xor", "shl", "shr",
		"bitand", "bitor", "bitxor"}
	return !strings.Contains(op, "_to_") && !strings.HasPrefix(op, "where_") && !slices.Contains(two, name)
}

func TestEltwiseBinaryVariants(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, k := range eltwiseRows(t) {
		op := k.Op()
		if k.Variant() == "scalar" || isUnary(op) || strings.Contains(op, "_to_") || k.ISA()&^DetectISA() != 0 {
			continue
		}
		size := 4
		if slices.Contains([]string{"f32_eq", "f32_gt", "f32_ge"}, op) {
			size = 1
		}
		t.Run(op+"/"+k.Variant(), func(t *testing.T) {
			oracle := scalarOf(t, op)
			for _, n := range []int{1, 2, 7, 16, 31, 200} {
				for _, dims := range [][]int{{n, n, n}, {n, 1, n}, {n, n, 1}, {n, 1, 1}} {
					a, b := randomFloats(r, dims[1]), randomFloats(r, dims[2])
					for i := range a {
						if r.IntN(3) == 0 {
							a[i], b[i%len(b)] = specials[r.IntN(len(specials))], specials[r.IntN(len(specials))]
						}
					}
					y, intact := guarded(n*size, size)
					want := make([]byte, n*size)
					la, lb := Lane{Data: at(a), Bytes: 4}, Lane{Data: at(b), Bytes: 4}
					EltwiseBinary(nil, k, la, lb, Lane{Data: at(y), Bytes: size}, dims)
					EltwiseBinary(nil, oracle, la, lb, Lane{Data: at(want), Bytes: size}, dims)
					if size == 1 && !slices.Equal(y, want) || size == 4 && firstFar(asFloats(y), asFloats(want), 0, 0) >= 0 {
						t.Fatalf("extents %v: got %v, want %v", dims, y, want)
					}
					if !intact() {
						t.Fatalf("extents %v: wrote beyond the output", dims)
					}
				}
			}
		})
	}
}

func asFloats(b []byte) []float32 { return unsafe.Slice((*float32)(at(b)), len(b)/4) }

func TestEltwiseHalfConversions(t *testing.T) {
	every := make([]uint16, 1<<16+1)[1:]
	for i := range every {
		every[i] = uint16(i)
	}
	r := rand.New(rand.NewPCG(5, 6))
	floats := make([]float32, 0, 1<<18)
	for i := range 1 << 17 {
		// Near every value of float16, halfway to the next, and anything.
		floats = append(floats, math.Float32frombits(uint32(i)<<15+uint32(r.IntN(3))-1), math.Float32frombits(r.Uint32()))
	}
	for _, half := range []string{"f16", "bf16"} {
		eachVariant(t, half+"_to_f32", func(t *testing.T, k Kernel) {
			got, want := make([]float32, len(every)), make([]float32, len(every))
			convert(k, every, got)
			convert(scalarOf(t, k.Op()), every, want)
			if i := firstFar(got, want, 0, 0); i >= 0 {
				t.Errorf("%#x is %g, want %g", i, got[i], want[i])
			}
		})
		eachVariant(t, "f32_to_"+half, func(t *testing.T, k Kernel) {
			for _, n := range []int{1, 5, 13, len(floats)} {
				raw, intact := guarded(2*n, 2)
				got, want := unsafe.Slice((*uint16)(at(raw)), n), make([]uint16, n)
				convert(k, floats[:n], got)
				convert(scalarOf(t, k.Op()), floats[:n], want)
				for i, f := range floats[:n] {
					if got[i] != want[i] && f == f {
						t.Fatalf("%g (%#x) is %#x, want %#x", f, math.Float32bits(f), got[i], want[i])
					}
					if f != f && got[i]&0x7fff <= map[string]uint16{"f16": 0x7c00, "bf16": 0x7f80}[half] {
						t.Fatalf("NaN %#x is %#x", math.Float32bits(f), got[i])
					}
				}
				if !intact() {
					t.Fatalf("%d elements: wrote beyond them", n)
				}
			}
		})
	}
}

func convert[S, D any](k Kernel, x []S, y []D) {
	var s S
	var d D
	from := Lane{Data: at(x), Bytes: int(unsafe.Sizeof(s)), Via: k}
	EltwiseMap(nil, Kernel{}, from, Lane{Data: at(y), Bytes: int(unsafe.Sizeof(d))}, len(x), &Params{})
}

// TestEltwiseBroadcast compares random shapes with plain index arithmetic, on
// one thread and on several.
func TestEltwiseBroadcast(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	pool := newTestPool(t)
	sub, pick := best(t, "i32_sub"), best(t, "where_4")
	for trial := range 300 {
		rank := r.IntN(6)
		dims := make([]int, 4*rank)
		n := 1
		for axis := range rank {
			d := 1 + r.IntN(5)
			if axis == rank-1 && trial%10 == 0 {
				d = 3000
			}
			n *= d
			dims[axis] = d
			for k := 1; k < 4; k++ {
				dims[k*rank+axis] = []int{d, 1}[r.IntN(2)]
			}
		}
		cond := make([]byte, n)
		a, b := make([]int32, n), make([]int32, n)
		for i := range n {
			cond[i], a[i], b[i] = byte(r.IntN(2)), r.Int32(), r.Int32()
		}
		for _, p := range []*Pool{nil, pool} {
			name := fmt.Sprintf("trial %d, %d threads, extents %v", trial, p.Threads(), dims)
			y := make([]int32, n)
			lanes := []Lane{{Data: at(a), Bytes: 4}, {Data: at(b), Bytes: 4}, {Data: at(y), Bytes: 4}}
			EltwiseBinary(p, sub, lanes[0], lanes[1], lanes[2], dims[:3*rank])
			for i := range y {
				if want := a[source(i, dims, rank, 1)] - b[source(i, dims, rank, 2)]; y[i] != want {
					t.Fatalf("%s: element %d is %d, want %d", name, i, y[i], want)
				}
			}
			EltwiseWhere(p, pick, Lane{Data: at(cond), Bytes: 1}, lanes[0], lanes[1], lanes[2], dims)
			for i := range y {
				want := b[source(i, dims, rank, 3)]
				if cond[source(i, dims, rank, 1)] != 0 {
					want = a[source(i, dims, rank, 2)]
				}
				if y[i] != want {
					t.Fatalf("%s: where: element %d is %d, want %d", name, i, y[i], want)
				}
			}
		}
	}
}

// source is the index in input k (from 1) of element i of the output.
func source(i int, dims []int, rank, k int) int {
	index, run := 0, 1
	for axis := rank - 1; axis >= 0; axis-- {
		c := i % dims[axis]
		i /= dims[axis]
		if own := dims[k*rank+axis]; own != 1 {
			index += c * run
			run *= own
		}
	}
	return index
}

func TestEltwiseWhereWidths(t *testing.T) {
	cond := []byte{1, 0, 7, 0, 0, 1}
	for _, size := range []int{1, 2, 4, 8, 16} {
		eachVariant(t, fmt.Sprintf("where_%d", size), func(t *testing.T, k Kernel) {
			a, b := make([]byte, 6*size), make([]byte, 6*size)
			for i := range a {
				a[i], b[i] = byte(i), byte(128+i)
			}
			y, intact := guarded(6*size, size)
			EltwiseWhere(nil, k, Lane{Data: at(cond), Bytes: 1}, Lane{Data: at(a), Bytes: size}, Lane{Data: at(b), Bytes: size},
				Lane{Data: at(y), Bytes: size}, []int{6, 6, 6, 6})
			for i := range y {
				want := b[i]
				if cond[i/size] != 0 {
					want = a[i]
				}
				if y[i] != want {
					t.Fatalf("byte %d is %d, want %d", i, y[i], want)
				}
			}
			if !intact() {
				t.Error("wrote beyond the output")
			}
		})
	}
}

func TestEltwiseThroughHalf(t *testing.T) {
	k, widen, narrow := best(t, "f32_mul"), best(t, "bf16_to_f32"), best(t, "f32_to_bf16")
	n := 5000                                   // several blocks
	a, b := make([]uint16, n), []uint16{0x4040} // 3
	for i := range a {
		a[i] = uint16(math.Float32bits(float32(i%64)) >> 16)
	}
	y := make([]uint16, n)
	EltwiseBinary(nil, k, Lane{at(a), 2, widen}, Lane{at(b), 2, widen}, Lane{at(y), 2, narrow}, []int{n, n, 1})
	for i := range y {
		if got := math.Float32frombits(uint32(y[i]) << 16); got != float32(i%64)*3 {
			t.Fatalf("element %d is %g", i, got)
		}
	}
}

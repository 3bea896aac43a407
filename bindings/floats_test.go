package bindings

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// needKernels skips a test in builds without kernels.
func needKernels(t testing.TB) {
	t.Helper()
	testenv.Need(t, Available())
}

// usable returns the variants of an op that this CPU can run, best first. An op
// without rows is an error of the test.
func usable(t testing.TB, op string) []Kernel {
	t.Helper()
	needKernels(t)
	list := slices.DeleteFunc(Variants(op), func(k Kernel) bool { return k.ISA()&^DetectISA() != 0 })
	if len(list) == 0 {
		t.Fatalf("no kernel %q that this CPU can run", op)
	}
	return list
}

// best returns the kernel of an op that a session chooses on this CPU.
func best(t testing.TB, op string) Kernel {
	t.Helper()
	return usable(t, op)[0]
}

// scalarOf returns the oracle of an op.
func scalarOf(t testing.TB, op string) Kernel {
	t.Helper()
	needKernels(t)
	k, err := Select(op, 0)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// eachVariant runs f for every kernel of op that this CPU can run, the oracle
// too.
func eachVariant(t *testing.T, op string, f func(t *testing.T, k Kernel)) {
	t.Helper()
	for _, k := range usable(t, op) {
		t.Run(op+"/"+k.Variant(), func(t *testing.T) { f(t, k) })
	}
}

// TestVectorRows checks that every op of these families has variants for vectors
// where the build has any.
func TestVectorRows(t *testing.T) {
	needKernels(t)
	want := map[string]int{"amd64": 3, "arm64": 2}[runtime.GOARCH]
	if want == 0 {
		t.Skip("there are no vector kernels for ", runtime.GOARCH)
	}
	for _, op := range []string{"f32_reduce", "f32_softmax", "f32_layer_norm", "f32_group_norm", "f32_batch_norm", "f32_lrn"} {
		if n := len(Variants(op)); n != want {
			t.Errorf("%s has %d variants, not %d", op, n, want)
		}
	}
}

// guardedFloats returns n floats that start one element after a multiple of 64
// bytes, and a function that reports a write around them.
func guardedFloats(n int) (list []float32, intact func() bool) {
	b, intact := guarded(4*n, 4)
	if n == 0 {
		return nil, intact
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), n), intact
}

// randomFloats returns numbers in -4..4 at an odd address.
func randomFloats(r *rand.Rand, n int) []float32 {
	list := make([]float32, n+1)[1:]
	for i := range list {
		list[i] = r.Float32()*8 - 4
	}
	return list
}

// firstFar returns the first index at which two lists differ by more than
// absolute + relative * |want|, or -1. NaN is equal to NaN only.
func firstFar(got, want []float32, absolute, relative float64) int {
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if !(math.Abs(g-w) <= absolute+relative*math.Abs(w)) {
			return i
		}
	}
	return -1
}

func newTestPool(t testing.TB) *Pool {
	t.Helper()
	needKernels(t)
	p, err := NewPool(3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

var inf32 = float32(math.Inf(1))
var nan32 = float32(math.NaN())

// checkVariants compares compute with every kernel of op against its oracle,
// alone and with threads.
func checkVariants(t *testing.T, op, what string, n int, absolute, relative float64, compute func(k Kernel, p *Pool, out []float32)) {
	t.Helper()
	pool := newTestPool(t)
	want := make([]float32, n)
	compute(scalarOf(t, op), nil, want)
	for _, k := range Variants(op) {
		if k.ISA()&^DetectISA() != 0 {
			continue
		}
		got, intact := guardedFloats(n)
		compute(k, nil, got)
		if i := firstFar(got, want, absolute, relative); i >= 0 {
			t.Fatalf("%s/%s %s: element %d is %v, not %v", op, k.Variant(), what, i, got[i], want[i])
		}
		if !intact() {
			t.Fatalf("%s/%s %s: wrote outside", op, k.Variant(), what)
		}
		again := make([]float32, n)
		compute(k, pool, again)
		if firstFar(again, got, 0, 0) >= 0 {
			t.Fatalf("%s/%s %s: depends on the number of threads", op, k.Variant(), what)
		}
	}
}

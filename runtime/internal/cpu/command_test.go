package cpu

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// testPool returns a pool of three threads.
func testPool(t *testing.T) *bindings.Pool {
	t.Helper()
	testenv.Need(t, bindings.Available())
	p, err := bindings.NewPool(3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// runnable returns the kernels of an op that this CPU can run, best first. There is at least one.
func runnable(t *testing.T, op string) []bindings.Kernel {
	t.Helper()
	list := slices.DeleteFunc(slices.Clone(bindings.Variants(op)),
		func(k bindings.Kernel) bool { return k.ISA()&^bindings.DetectISA() != 0 })
	if len(list) == 0 {
		t.Fatalf("no kernel of %s can run here", op)
	}
	return list
}

// fitting returns the kernels of an op that this CPU can run and that fit the words, best first.
// There is at least one.
func fitting(t *testing.T, op string, w words) []bindings.Kernel {
	t.Helper()
	numbers := numbersOf(t, w)
	list := slices.DeleteFunc(runnable(t, op), func(k bindings.Kernel) bool { return !k.Fits(numbers) })
	if len(list) == 0 {
		t.Fatalf("no kernel of %s fits %v", op, numbers)
	}
	return list
}

// parts returns the kernels of an op that this CPU can run as parts of commands.
func parts(t *testing.T, op string) []bindings.Kernel {
	t.Helper()
	return slices.DeleteFunc(runnable(t, op), func(k bindings.Kernel) bool { return !k.IsPart() })
}

// partOf returns the best kernel of an op within levels isa.
func partOf(t *testing.T, op string, isa bindings.ISA) bindings.Kernel {
	t.Helper()
	k, err := bindings.Select(op, isa)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// tilesOf returns the best kernel of f32_gemm that computes all products.
func tilesOf(t *testing.T) bindings.Kernel {
	t.Helper()
	list := parts(t, "f32_gemm")
	return list[slices.IndexFunc(list, bindings.Kernel.TakesAll)]
}

// numbersOf returns the words of a command. All must be known.
func numbersOf(t *testing.T, w words) []int64 {
	t.Helper()
	list := make([]int64, len(w))
	for i, d := range w {
		n, ok := d.Value()
		if !ok {
			t.Fatalf("word %d is %v", i, d)
		}
		list[i] = int64(n)
	}
	return list
}

// guardedBytes returns n bytes of rubbish that begin skip bytes after a multiple of 64. intact
// reports whether the bytes around them are unchanged.
func guardedBytes(n, skip int) (b []byte, intact func() bool) {
	all := slices.Repeat([]byte{0xa5}, n+skip+3*64)
	all = all[-uintptr(unsafe.Pointer(&all[0]))%64:]
	all = all[: n+skip+2*64 : n+skip+2*64]
	start := skip + 64
	b = all[start : start+n : start+n]
	return b, func() bool {
		for i, v := range all {
			if (i < start || i >= start+n) && v != 0xa5 {
				return false
			}
		}
		return true
	}
}

// runCommand runs one command on operands in memory, nil if one is left out. It fills the scratch
// with NaNs, and checks that nothing is written after it.
func runCommand(
	t *testing.T, k bindings.Kernel, w words, pool *bindings.Pool, operands ...[]byte,
) (bindings.Failure, bool) {
	t.Helper()
	list := numbersOf(t, w)
	if !k.IsCommand() || len(list) < k.Words() || len(operands) != k.Operands() {
		t.Fatalf("%s/%s is given %d words and %d operands", k.Op(), k.Variant(), len(list), len(operands))
	}
	code := bindings.NewCode(1, len(list), len(operands))
	defer code.Free()
	var pin runtime.Pinner
	defer pin.Unpin()
	at, _ := code.Append(k, list, len(operands))
	for i, b := range operands {
		if b != nil {
			p := unsafe.Pointer(unsafe.SliceData(b))
			if cap(b) > 0 {
				pin.Pin(p)
			}
			code.Point(at+i, bindings.SpanOf(b), 0)
		}
	}
	n := k.Scratch(list, pool.Threads())
	scratch := bindings.Alloc(n + 64)
	defer bindings.Free(scratch)
	for i := range scratch {
		scratch[i] = 0xff
	}
	code.Point(bindings.ScratchOf(at), bindings.SpanOf(scratch), 0)
	done, failure, failed := code.Run(pool, pool.Threads(), nil, false)
	if !failed && done != 1 {
		t.Fatalf("%s/%s did not run to its end", k.Op(), k.Variant())
	}
	if slices.ContainsFunc(scratch[n:], func(b byte) bool { return b != 0xff }) {
		t.Fatalf("%s/%s wrote behind its scratch of %d bytes", k.Op(), k.Variant(), n)
	}
	return failure, failed
}

// runGuarded runs a command, once on one thread and once on the pool. The last operand is its
// result, n bytes with elements of size bytes. Both results must agree, and nothing around them may
// be written.
func runGuarded(t *testing.T, k bindings.Kernel, w words, pool *bindings.Pool, n, size int, operands ...[]byte) []byte {
	t.Helper()
	var results [2][]byte
	for i, p := range []*bindings.Pool{nil, pool} {
		y, intact := guardedBytes(n, size)
		if f, failed := runCommand(t, k, w, p, append(slices.Clone(operands), y)...); failed {
			t.Fatalf("%s/%s failed: %v", k.Op(), k.Variant(), failure(f))
		}
		if !intact() {
			t.Fatalf("%s/%s wrote outside its result", k.Op(), k.Variant())
		}
		results[i] = y
	}
	if !slices.Equal(results[0], results[1]) {
		t.Fatalf("%s/%s: three threads give another result", k.Op(), k.Variant())
	}
	return results[0]
}

// unaligned returns b, or a copy at an odd address if kernel k packs elements at any address.
func unaligned(k bindings.Kernel, b []byte) []byte {
	if !k.PacksUnaligned() {
		return b
	}
	odd, _ := guardedBytes(len(b)+1, 1)
	copy(odd, b)
	return odd[:len(b)]
}

// stored returns numbers as elements of a type, at an address that is a multiple of only the
// element size.
func stored(d tensor.DType, list []float64) []byte {
	if list == nil {
		return nil
	}
	b, _ := guardedBytes(d.Bytes(len(list)), d.Bytes(1))
	for i, v := range list {
		switch d {
		case tensor.F64:
			viewAs[float64](b)[i] = v
		case tensor.F32:
			viewAs[float32](b)[i] = float32(v)
		case tensor.F16:
			viewAs[packed.F16](b)[i] = packed.ToF16(float32(v))
		case tensor.BF16:
			viewAs[packed.BF16](b)[i] = packed.ToBF16(float32(v))
		case tensor.I8:
			b[i] = byte(int8(v))
		case tensor.U8:
			b[i] = byte(v)
		}
	}
	return b
}

// loaded returns elements of a type as numbers.
func loaded(d tensor.DType, b []byte) []float64 {
	list := make([]float64, len(b)/d.Bytes(1))
	for i := range list {
		switch d {
		case tensor.F64:
			list[i] = viewAs[float64](b)[i]
		case tensor.F32:
			list[i] = float64(viewAs[float32](b)[i])
		case tensor.F16:
			list[i] = float64(viewAs[packed.F16](b)[i].Float32())
		case tensor.BF16:
			list[i] = float64(viewAs[packed.BF16](b)[i].Float32())
		case tensor.I64:
			list[i] = float64(viewAs[int64](b)[i])
		case tensor.I8:
			list[i] = float64(int8(b[i]))
		case tensor.U8:
			list[i] = float64(b[i])
		default:
			panic(d)
		}
	}
	return list
}

func viewAs[T any](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// quarters returns n multiples of 1/4 in -4..4. Floats hold their products and sums exactly.
func quarters(r *rand.Rand, n int) []float64 {
	list := make([]float64, n)
	for i := range list {
		list[i] = float64(r.IntN(33)-16) / 4
	}
	return list
}

// rounded rounds numbers to a float type.
func rounded(d tensor.DType, list []float64) []float64 { return loaded(d, stored(d, list)) }

// differ returns the first index at which got and want differ by more than absolute plus relative
// times want, or -1. A NaN equals only a NaN.
func differ(got, want []float64, absolute, relative float64) int {
	for i, w := range want {
		g := got[i]
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if !(math.Abs(g-w) <= absolute+relative*math.Abs(w)) {
			return i
		}
	}
	return -1
}

func volume(s []int) int { return tensor.Shape(s).Len() }

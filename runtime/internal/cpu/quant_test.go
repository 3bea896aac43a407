package cpu

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// someBytes returns n random bytes at an unaligned address.
func someBytes(r *rand.Rand, n int) []byte {
	b, _ := guardedBytes(n, 1)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// codeOf returns a byte as a code of type d.
func codeOf(d tensor.DType, b byte) int {
	if d == tensor.I8 {
		return int(int8(b))
	}
	return int(b)
}

// saturated returns a number as a code of one byte. A NaN becomes the least code.
func saturated(d tensor.DType, v float64) byte {
	low := 0
	if d == tensor.I8 {
		low = -128
	}
	if v != v {
		return byte(low)
	}
	return byte(int(min(max(math.RoundToEven(v), float64(low)), float64(low+255))))
}

var byteCodes = []tensor.DType{tensor.U8, tensor.I8}

// eachVariant runs every kernel of an op on the same command. All must give the same result, which
// it returns.
func eachVariant(t *testing.T, op string, w words, pool *bindings.Pool, n, size int, operands ...[]byte) []byte {
	t.Helper()
	var first []byte
	for i, k := range runnable(t, op) {
		got := runGuarded(t, k, w, pool, n, size, operands...)
		if i == 0 {
			first = got
		} else if !bytes.Equal(got, first) {
			t.Fatalf("%s/%s gives another result than the best", op, k.Variant())
		}
	}
	return first
}

// gridCase is the fields of nacre_quant_grid, extents, block and steps, and the number of scales.
type gridCase struct {
	outer, axis, inner, block, perOuter, perAxis, perInner, scales int
}

var gridCases = []gridCase{
	{1, 40001, 1, 40001, 0, 0, 0, 1}, {3, 5, 7, 1, 0, 1, 0, 5}, {4, 37, 1, 1, 0, 1, 0, 37}, {2, 10, 3, 4, 9, 3, 1, 18},
	{3, 10, 1, 4, 3, 1, 0, 9}, {0, 4, 2, 1, 0, 1, 0, 4}, {1, 1, 2053, 1, 0, 1, 0, 1},
}

func (g gridCase) words(x, y, precision, scale, zero tensor.DType, half bindings.Kernel) (w words) {
	w.int(g.outer, g.axis, g.inner, g.block, g.perOuter, g.perAxis, g.perInner)
	w.dtype(x, y, precision, scale, zero)
	w.int(g.scales)
	w.part(half)
	return w
}

// codesIn writes codes as elements of a type of integers. codesOf reads them.
func codesIn(d tensor.DType, list []int) []byte {
	b, _ := guardedBytes(d.Bytes(len(list)), d.Bytes(1))
	clear(b)
	for i, v := range list {
		switch {
		case d.Layout() != nil:
			d.Layout().Set(b, i, int8(v))
		case d.Bits() == 8:
			b[i] = byte(v)
		case d.Bits() == 16:
			viewAs[uint16](b)[i] = uint16(v)
		default:
			viewAs[int32](b)[i] = int32(v)
		}
	}
	return b
}

func codesOf(d tensor.DType, b []byte, n int) []int {
	list := make([]int, n)
	for i := range list {
		switch {
		case d.Layout() != nil:
			list[i] = int(d.Layout().At(b, i))
			if !d.Layout().Signed {
				list[i] &= 1<<d.Bits() - 1
			}
		case d.Bits() == 8:
			list[i] = codeOf(d, b[i])
		case d == tensor.I16:
			list[i] = int(viewAs[int16](b)[i])
		default:
			list[i] = int(viewAs[uint16](b)[i])
		}
	}
	return list
}

func roundedTo(d tensor.DType, v float32) float32 {
	switch d {
	case tensor.F16:
		return packed.ToF16(v).Float32()
	case tensor.BF16:
		return packed.ToBF16(v).Float32()
	}
	return v
}

// quantizeNumbers returns n numbers, infinities and NaNs among them.
func quantizeNumbers(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64() * 10
		switch r.IntN(20) {
		case 0:
			x[i] = math.NaN()
		case 1:
			x[i] = math.Inf(1 - 2*r.IntN(2))
		}
	}
	return x
}

// TestQuantize compares codes, and the numbers that they stand for, to the formula.
func TestQuantize(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(11, 12))
	codes := slices.DeleteFunc(tensor.DTypes(), func(d tensor.DType) bool { return !d.IsInteger() || d.Bits() > 16 })
	half := partOf(t, "half", bindings.DetectISA())
	for _, g := range gridCases {
		for _, d := range codes {
			for _, f := range []tensor.DType{tensor.F32, tensor.F16, tensor.BF16} {
				t.Run(fmt.Sprint(g, d, f), func(t *testing.T) { checkQuantize(t, r, pool, g, d, f, half) })
			}
		}
	}
}

func checkQuantize(
	t *testing.T, r *rand.Rand, pool *bindings.Pool, g gridCase, d, f tensor.DType, half bindings.Kernel,
) {
	n := g.outer * g.axis * g.inner
	low, high := 0, 1<<d.Bits()-1
	if d.Kind() == tensor.Signed {
		low, high = low-(high+1)/2, high/2
	}
	scale, zero := make([]float64, g.scales), make([]int, g.scales)
	for i := range scale {
		scale[i] = []float64{0.25, 0.5, 0.01, 1e-5}[r.IntN(4)]
		zero[i] = low + r.IntN(high-low+1)
	}
	x := quantizeNumbers(r, n)
	xs, scales, zeros := stored(f, x), stored(f, scale), codesIn(d, zero)
	got := eachVariant(t, "f32_quantize", g.words(f, d, f, f, d, half), pool, d.Bytes(n), d.Bytes(1), xs, scales, zeros)
	list, xf, sf := codesOf(d, got, n), loaded(f, xs), loaded(f, scales)
	back := eachVariant(t, "f32_dequantize", g.words(d, f, tensor.F32, f, d, half), pool, f.Bytes(n), f.Bytes(1), got,
		scales, zeros)
	numbers := loaded(f, back)
	for i := range n {
		s := i/g.inner/g.axis*g.perOuter + i/g.inner%g.axis/g.block*g.perAxis + i%g.inner*g.perInner
		q, want := roundedTo(f, float32(xf[i])/float32(sf[s])), low
		if q == q {
			want = int(min(max(math.RoundToEven(float64(q))+float64(zero[s]), float64(low)), float64(high)))
		}
		if list[i] != want {
			t.Fatalf("code %d of %g/%g with zero %d is %d, not %d", i, xf[i], sf[s], zero[s], list[i], want)
		}
		if v := roundedTo(f, float32(want-zero[s])*float32(sf[s])); float64(v) != numbers[i] {
			t.Fatalf("number %d is %g, not %g", i, numbers[i], v)
		}
	}
}

// TestQuantizeDynamic compares all three results to the formula.
func TestQuantizeDynamic(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(13, 14))
	for _, n := range []int{0, 1, 5, 16, 33, 40000} {
		for _, offset := range []float64{0, 5, -5} {
			x := make([]float64, n)
			low, high := float32(0), float32(0)
			for i := range x {
				x[i] = float64(float32(r.NormFloat64() + offset))
				low, high = min(low, float32(x[i])), max(high, float32(x[i]))
			}
			span := high - low
			if span == 0 {
				span = 1
			}
			scale := span / 255
			zero := saturated(tensor.U8, float64(-low/scale))
			want := make([]byte, n)
			for i := range want {
				want[i] = saturated(tensor.U8, math.RoundToEven(float64(float32(x[i])/scale))+float64(zero))
			}
			for _, k := range runnable(t, "f32_quantize_dynamic") {
				for _, p := range []*bindings.Pool{nil, pool} {
					checkDynamic(t, k, p, stored(tensor.F32, x), want, scale, zero)
				}
			}
		}
	}
}

func checkDynamic(t *testing.T, k bindings.Kernel, p *bindings.Pool, x, want []byte, scale float32, zero byte) {
	t.Helper()
	var w words
	w.int(len(want))
	y, intact := guardedBytes(len(want), 1)
	s, z := stored(tensor.F32, []float64{0}), []byte{0}
	runCommand(t, k, w, p, x, y, s, z)
	if !bytes.Equal(y, want) || float32(loaded(tensor.F32, s)[0]) != scale || z[0] != zero || !intact() {
		t.Fatalf("%s of %d elements: scale %v and zero point %d, not %g and %d, or other codes", k.Variant(), len(want),
			loaded(tensor.F32, s), z[0], scale, zero)
	}
	runCommand(t, k, w, p, x, nil, s, nil)
	if float32(loaded(tensor.F32, s)[0]) != scale {
		t.Fatalf("%s: another scale without codes", k.Variant())
	}
}

// TestPairs compares sums and products of codes to the formula.
func TestPairs(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(15, 16))
	for _, c := range [][3][]int{
		{{70001}, {70001}, {70001}}, {{3, 5, 7}, {3, 5, 7}, {1, 5, 1}}, {{3, 5, 37}, {1, 1, 37}, {3, 5, 1}},
		{{2, 3, 4, 5}, {2, 1, 4, 1}, {1, 3, 1, 5}}, {{1, 1}, {1, 1}, {1, 1}}, {{2, 33}, {2, 33}, {1, 1}}, {{0, 3}, {1, 3}, {0, 1}},
	} {
		for _, d := range byteCodes {
			for _, product := range []bool{false, true} {
				checkPair(t, r, pool, c, d, product)
			}
		}
	}
}

func checkPair(t *testing.T, r *rand.Rand, pool *bindings.Pool, dims [3][]int, d tensor.DType, product bool) {
	t.Helper()
	y, rank := dims[0], len(dims[0])
	var w words
	w.bool(product, d == tensor.I8)
	w.dtype(tensor.F32, tensor.F32, tensor.F32)
	w.int(rank)
	for _, s := range dims {
		w.int(s...)
	}
	a, b := someBytes(r, volume(dims[1])), someBytes(r, volume(dims[2]))
	zeros := someBytes(r, 3)
	sa, sb, sy := float32(0.02), float32(0.3), float32(0.07)
	got := eachVariant(t, "i8_pair", w, pool, volume(y), 1, a, stored(tensor.F32, []float64{float64(sa)}), zeros[:1],
		b, stored(tensor.F32, []float64{float64(sb)}), zeros[1:2], stored(tensor.F32, []float64{float64(sy)}), zeros[2:])
	for i := range got {
		at := [2]int{}
		for k := range 2 {
			step, index := 1, i
			for x := rank - 1; x >= 0; x-- {
				if dims[k+1][x] != 1 {
					at[k] += index % y[x] * step
				}
				step *= dims[k+1][x]
				index /= y[x]
			}
		}
		p, q := codeOf(d, a[at[0]])-codeOf(d, zeros[0]), codeOf(d, b[at[1]])-codeOf(d, zeros[1])
		v := float64(p)*float64(sa/sy) + float64(q)*float64(sb/sy)
		if product {
			v = float64(p*q) * float64(sa*sb/sy)
		}
		// Sums are rounded to float32 in between.
		want := v + float64(codeOf(d, zeros[2]))
		if diff := codeOf(d, got[i]) - codeOf(d, saturated(d, want)); diff < -1 || diff > 1 ||
			diff != 0 && math.Abs(want-math.Floor(want)-0.5) > 1e-3 {
			t.Fatalf("%v %v product %t: code %d is %d, not %d of %g", dims, d, product, i, codeOf(d, got[i]),
				codeOf(d, saturated(d, want)), want)
		}
	}
}

// TestLookup maps rows of codes by a table, and copies them.
func TestLookup(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(17, 18))
	for _, c := range [][4]int{{1, 0, 0, 0}, {1, 1, 1, 1}, {1, 70003, 70003, 70003}, {5, 67, 70, 81},
		{3, 40000, 40001, 40000}, {300, 3, 3, 4}} {
		for _, copies := range []bool{false, true} {
			var w words
			w.int(c[:]...)
			x, table := someBytes(r, c[0]*c[2]), someBytes(r, 256)
			want := slices.Repeat([]byte{0xa5}, c[0]*c[3])
			for row := range c[0] {
				for i := range c[1] {
					v := x[row*c[2]+i]
					if want[row*c[3]+i] = v; !copies {
						want[row*c[3]+i] = table[v]
					}
				}
			}
			if copies {
				table = nil
			}
			if got := eachVariant(t, "i8_lookup", w, pool, len(want), 1, x, table); !bytes.Equal(got, want) {
				t.Errorf("rows %v, copies %t: wrong codes", c, copies)
			}
		}
	}
}

// TestTable compares tables to the functions of the numbers that codes stand for.
func TestTable(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(19, 20))
	functions := map[string]func(float32) float32{
		"":           func(v float32) float32 { return v },
		"sigmoid":    func(v float32) float32 { return float32(1 / (1 + math.Exp(-float64(v)))) },
		"leaky_relu": func(v float32) float32 { return max(v, 0.25*v) },
	}
	for name, f := range functions {
		for _, d := range byteCodes {
			var w words
			w.int(tableFunctions[name])
			w.bool(d == tensor.I8)
			w.int(0, 0)
			w.float(0.25)
			zeros, xs, ys := someBytes(r, 2), float32(0.05), float32(0.0625)
			got := eachVariant(t, "i8_table", w, pool, 256, 1, stored(tensor.F32, []float64{float64(xs)}), zeros[:1],
				stored(tensor.F32, []float64{float64(ys)}), zeros[1:])
			for q := range 256 {
				v := f(xs * float32(codeOf(d, byte(q))-codeOf(d, zeros[0])))
				want := saturated(d, math.RoundToEven(float64(v/ys))+float64(codeOf(d, zeros[1])))
				if diff := codeOf(d, got[q]) - codeOf(d, want); diff < -1 || diff > 1 || diff != 0 && name != "sigmoid" {
					t.Fatalf("%q of code %d of %v is %d, not %d", name, q, d, got[q], want)
				}
			}
		}
	}
}

// TestByteSoftmax compares softmax along every axis to the formula.
func TestByteSoftmax(t *testing.T) {
	pool, r := testPool(t), rand.New(rand.NewPCG(21, 22))
	for _, s := range [][3]int{{3, 5, 1}, {2, 300, 1}, {700, 7, 1}, {2, 9, 70}, {3, 1, 4}, {1, 20000, 1}} {
		for _, d := range byteCodes {
			var w words
			w.int(0, 0)
			scales := [2][]byte{stored(tensor.F32, []float64{0.05}), stored(tensor.F32, []float64{1.0 / 256})}
			table := eachVariant(t, "i8_softmax_table", w, pool, 4*softmaxTable, 4, scales[0], scales[1])
			for _, k := range runnable(t, "i8_lookup") {
				checkByteSoftmax(t, r, pool, k, s, d, table)
			}
		}
	}
}

func checkByteSoftmax(
	t *testing.T, r *rand.Rand, pool *bindings.Pool, lookup bindings.Kernel, s [3]int, d tensor.DType, table []byte,
) {
	t.Helper()
	var w words
	w.bool(d == tensor.I8)
	w.int(s[:]...)
	w.part(lookup)
	x, zero := someBytes(r, volume(s[:])), someBytes(r, 1)
	got := runGuarded(t, partOf(t, "i8_softmax", 0), w, pool, len(x), 1, x, table, zero)
	scale := float64(float32(0.05))
	for slice := range s[0] * s[2] {
		first := slice/s[2]*s[1]*s[2] + slice%s[2]
		top, sum := -128, 0.0
		for k := range s[1] {
			top = max(top, codeOf(d, x[first+k*s[2]]))
		}
		weight := func(k int) float64 { return math.Exp(float64(codeOf(d, x[first+k*s[2]])-top) * scale) }
		for k := range s[1] {
			sum += weight(k)
		}
		for k := range s[1] {
			v := weight(k)*256/sum + float64(codeOf(d, zero[0]))
			if code, want := got[first+k*s[2]], saturated(d, v); code != want && math.Abs(v-math.Floor(v)-0.5) > 1e-3 {
				t.Fatalf("%v %v %s: code %d of slice %d is %d, not %d of %g", s, d, lookup.Variant(), k, slice, codeOf(d, code),
					codeOf(d, want), v)
			}
		}
	}
}

// known returns integers as extents.
func known(list ...int) graph.Dims {
	d := make(graph.Dims, len(list))
	for i, n := range list {
		d[i] = graph.Known(n)
	}
	return d
}

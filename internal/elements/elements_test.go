package elements

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func same(a, b float64) bool { return a == b || a != a && b != b }

// TestGet compares the elements of random bits, of every type and from every offset, to
// tensor.Numbers.
func TestGet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range tensor.AllDTypes() {
		n := 37
		if b := d.Blocks(); b != nil {
			n = 2 * b.Elements
		}
		x := tensor.New(d, n)
		for i := range x.Bytes() {
			x.Bytes()[i] = byte(r.Uint32())
			if d == tensor.Bool {
				x.Bytes()[i] &= 1
			}
		}
		number := tensor.Numbers(x)
		for at := range n {
			list, whole := make([]float64, n-at), make([]int64, n-at)
			if known := d != tensor.String && d.Kind() != tensor.Complex; Get(list, x, at) != known {
				t.Fatalf("Get of %v is not %v", d, known)
			} else if !known {
				break
			}
			for i, got := range list {
				if want := number(at + i); !same(got, want) {
					t.Fatalf("element %d of %v from %d is %v, want %v", i, d, at, got, want)
				}
			}
			if d.Blocks() != nil {
				floats := make([]float32, n-at)
				Get(floats, x, at)
				for i, got := range floats {
					if !same(float64(got), list[i]) {
						t.Fatalf("element %d of %v from %d is %v, want %v", i, d, at, got, list[i])
					}
				}
				if Put(x, 0, floats) {
					t.Fatalf("Put takes %v", d)
				}
			}
			if !d.IsInteger() {
				continue
			}
			Get(whole, x, at)
			back := tensor.New(d, n)
			if !Put(back, at, whole) {
				t.Fatalf("Put does not take %v", d)
			}
			again := make([]int64, n-at)
			Get(again, back, at)
			for i := range again {
				if again[i] != whole[i] {
					t.Fatalf("element %d of %v from %d was %v and is %v", i, d, at, whole[i], again[i])
				}
			}
		}
	}
}

// TestPut rounds numbers to floats once, by the nearest of all numbers of the type.
func TestPut(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, d := range []tensor.DType{tensor.F16, tensor.BF16} {
		codes := tensor.New(d, 1<<16)
		for i := range codes.Len() {
			codes.Bytes()[2*i], codes.Bytes()[2*i+1] = byte(i), byte(i>>8)
		}
		numbers := make([]float64, 1<<16)
		Get(numbers, codes, 0)
		for range 2000 {
			code := r.IntN(1<<15 - 2)
			a, b := numbers[code], numbers[code+1]
			if a != a || b != b || math.IsInf(b, 0) {
				continue
			}
			half := a + (b-a)/2
			for _, c := range []struct {
				v    float64
				want int
			}{{half, code + code&1}, {math.Nextafter(half, b), code + 1}, {math.Nextafter(half, a), code}, {a, code}} {
				y := tensor.New(d, 3)
				Put(y, 1, []float64{c.v})
				if got := int(y.Bytes()[2]) | int(y.Bytes()[3])<<8; got != c.want {
					t.Fatalf("%v of %v has code %#x, want %#x", d, c.v, got, c.want)
				}
				narrow := tensor.New(d, 1)
				if Put(narrow, 0, []float32{float32(c.v)}); float64(float32(c.v)) == c.v &&
					string(narrow.Bytes()) != string(y.Bytes()[2:4]) {
					t.Fatalf("%v of %v has the code %x from float32", d, c.v, narrow.Bytes())
				}
			}
		}
	}
	for _, v := range []float64{1e300, -1e300, math.Inf(1), math.NaN(), 0, math.Copysign(0, -1)} {
		y, want := tensor.New(tensor.F16, 1), packed.ToF16(float32(v))
		Put(y, 0, []float64{v})
		if got := tensor.View[packed.F16](y)[0]; got != want {
			t.Errorf("float16 of %v is %#x, want %#x", v, got, want)
		}
	}
	for _, v := range []int64{-1, 0, 1, 255, 256, math.MinInt64} {
		y, b := tensor.New(tensor.U8, 1), tensor.New(tensor.Bool, 1)
		if Put(y, 0, []int64{v}); y.Bytes()[0] != byte(v) {
			t.Errorf("uint8 of %d is %d", v, y.Bytes()[0])
		}
		if Put(b, 0, []int64{v}); tensor.View[bool](b)[0] != (v != 0) {
			t.Errorf("bool of %d is %v", v, b.Bytes()[0])
		}
	}
	if Put(tensor.New(tensor.C64, 1), 0, []int{1}) || Put(tensor.New(tensor.F8E5M2, 1), 0, []int{1}) ||
		Put(tensor.New(tensor.String, 1), 0, []int{1}) {
		t.Error("Put takes a type that it does not set")
	}
}

// TestPutClamped compares clamped integers to those of big numbers.
func TestPutClamped(t *testing.T) {
	list := []float64{0, -0.5, 0.99, -1, 1.5, 127, 127.9, 128, -128.9, -129, 255.5, 256, 1e9, -1e9, 0x1p31, 0x1p32, -0x1p31,
		0x1p63, 0x1p64, -0x1p63, 0x1p62, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, d := range tensor.AllDTypes() {
		if !d.IsInteger() || d == tensor.T1 {
			continue
		}
		x := tensor.New(d, len(list)+1)
		if !PutClamped(x, 1, list) {
			t.Fatalf("no integers of %v", d)
		}
		low, high := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(d.Bits()))
		if d.Kind() == tensor.Signed {
			low.Rsh(high, 1).Neg(low)
			high.Rsh(high, 1)
		}
		high.Sub(high, big.NewInt(1))
		for i, v := range list {
			want := new(big.Int)
			switch {
			case v != v:
			case math.IsInf(v, 0):
				want.Lsh(big.NewInt(int64(math.Copysign(1, v))), 100)
			default:
				big.NewFloat(v).Int(want)
			}
			if want.Cmp(low) < 0 {
				want = low
			} else if want.Cmp(high) > 0 {
				want = high
			}
			if got := x.Text(1 + i); got != want.String() {
				t.Errorf("%v as %v is %s, want %v", v, d, got, want)
			}
		}
	}
	for d, want := range map[tensor.DType]float64{tensor.F16: 65504, tensor.BF16: 0x1.fep127,
		tensor.F32: math.MaxFloat32, tensor.F64: math.MaxFloat64} {
		if low, high := Bounds[float64](d); low != -want || high != want {
			t.Errorf("bounds of %v are %v and %v, want %v", d, low, high, want)
		}
	}
}

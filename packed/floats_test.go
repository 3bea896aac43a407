package packed

import (
	"math"
	"testing"
)

// narrow describes a float format for tests. Codes increase with the value.
type narrow struct {
	name     string
	last     int // code of the largest finite value; 0 to last are all the magnitudes
	sign     int // added to a code for a minus sign
	value    func(code int) float32
	round    func(v float32) int
	beyond   int  // code of values that round beyond the last
	zeroSign bool // whether there is a negative zero
}

func narrows() []narrow {
	list := []narrow{
		{"f16", 0x7bff, 0x8000, func(c int) float32 { return F16(c).Float32() }, func(v float32) int { return int(ToF16(v)) }, 0x7c00, true},
		{"bf16", 0x7f7f, 0x8000, func(c int) float32 { return BF16(c).Float32() }, func(v float32) int { return int(ToBF16(v)) }, 0x7f80, true},
		{"e2m1", 7, 8, func(c int) float32 { return F4E2M1(c).Float32() }, func(v float32) int { return int(ToF4E2M1(v)) }, 7, true},
	}
	for _, f := range []struct {
		*Float8
		last, beyond int
		zeroSign     bool
	}{{E4M3FN, 0x7e, 0x7f, true}, {E4M3FNUZ, 0x7f, 0x80, false}, {E5M2, 0x7b, 0x7c, true}, {E5M2FNUZ, 0x7f, 0x80, false}} {
		value := func(c int) float32 { return f.Float32(byte(c)) }
		list = append(list,
			narrow{f.Name, f.last, 0x80, value, func(v float32) int { return int(f.Code(v, false)) }, f.beyond, f.zeroSign},
			narrow{f.Name + " saturated", f.last, 0x80, value, func(v float32) int { return int(f.Code(v, true)) }, f.last, f.zeroSign})
	}
	return list
}

// TestRounding checks every value of every format, and around every midpoint of
// two neighbours, against the definition: to nearest, ties to even.
func TestRounding(t *testing.T) {
	for _, f := range narrows() {
		t.Run(f.name, func(t *testing.T) {
			check := func(v float64, want int) {
				t.Helper()
				if got := f.round(float32(v)); got != want {
					t.Errorf("%g gives code %#x, want %#x", v, got, want)
				}
				if want == 0 && !f.zeroSign || want == 0x80 {
					return
				}
				if got := f.round(float32(-v)); got != want+f.sign {
					t.Errorf("%g gives code %#x, want %#x", -v, got, want+f.sign)
				}
			}
			for code := range f.last + 1 {
				v := float64(f.value(code))
				check(v, code)
				if neg := float64(f.value(code + f.sign)); neg != -v && (code != 0 || f.zeroSign) {
					t.Errorf("code %#x is %g, want %g", code+f.sign, neg, -v)
				}
				next, step := code+1, 0.0
				if code == f.last {
					next, step = f.beyond, v-float64(f.value(code-1))
				} else {
					step = float64(f.value(code+1)) - v
				}
				if step <= 0 {
					t.Fatalf("code %#x is not above the one before", code+1)
				}
				middle := v + step/2
				if float64(float32(middle)) != middle || math.IsInf(float64(float32(v+step)), 0) {
					continue
				}
				even := code + code&1
				if even > f.last || code == f.last && code&1 == 1 {
					even = next
				}
				check(middle, even)
				check(float64(math.Nextafter32(float32(middle), 0)), code)
				check(float64(math.Nextafter32(float32(middle), math.MaxFloat32)), next)
			}
			if got := f.round(float32(math.Inf(1))); got != f.beyond {
				t.Errorf("infinity gives %#x, want %#x", got, f.beyond)
			}
			if f.name != "e2m1" && f.value(f.round(nan32)) == f.value(f.round(nan32)) {
				t.Error("NaN gives a number")
			}
		})
	}
}

// TestAnchors checks values that the definitions of the formats name.
func TestAnchors(t *testing.T) {
	tests := []struct {
		name      string
		got, want float64
	}{
		{"e4m3fn largest", float64(F8E4M3FN(0x7e).Float32()), 448},
		{"e4m3fn smallest normal", float64(F8E4M3FN(8).Float32()), math.Ldexp(1, -6)},
		{"e4m3fn smallest", float64(F8E4M3FN(1).Float32()), math.Ldexp(1, -9)},
		{"e4m3fnuz largest", float64(F8E4M3FNUZ(0x7f).Float32()), 240},
		{"e4m3fnuz smallest", float64(F8E4M3FNUZ(1).Float32()), math.Ldexp(1, -10)},
		{"e5m2 largest", float64(F8E5M2(0x7b).Float32()), 57344},
		{"e5m2 infinity", float64(F8E5M2(0xfc).Float32()), math.Inf(-1)},
		{"e5m2 smallest", float64(F8E5M2(1).Float32()), math.Ldexp(1, -16)},
		{"e5m2fnuz largest", float64(F8E5M2FNUZ(0x7f).Float32()), 57344},
		{"e5m2fnuz smallest", float64(F8E5M2FNUZ(1).Float32()), math.Ldexp(1, -17)},
		{"f16 largest", float64(F16(0x7bff).Float32()), 65504},
		{"f16 smallest", float64(F16(1).Float32()), math.Ldexp(1, -24)},
		{"f16 infinity", float64(F16(0xfc00).Float32()), math.Inf(-1)},
		{"bf16 one", float64(BF16(0x3f80).Float32()), 1},
		{"e2m1 largest", float64(F4E2M1(15).Float32()), -6},
		{"e8m0 one", float64(F8E8M0(127).Float32()), 1},
		{"e8m0 smallest", float64(F8E8M0(0).Float32()), math.Ldexp(1, -127)},
		{"e8m0 largest", float64(F8E8M0(254).Float32()), math.Ldexp(1, 127)},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s is %g, want %g", tt.name, tt.got, tt.want)
		}
	}
	for _, f := range []float32{
		F8E4M3FN(0x7f).Float32(), F8E4M3FN(0xff).Float32(), F8E4M3FNUZ(0x80).Float32(), F8E5M2(0x7d).Float32(), F8E5M2FNUZ(0x80).Float32(),
		F8E8M0(255).Float32(), F16(0x7c01).Float32(),
	} {
		if f == f {
			t.Errorf("%g where NaN is defined", f)
		}
	}
}

func TestE8M0(t *testing.T) {
	one, nan := func(e int) float32 { return power2(e) }, int(nanE8M0)
	tests := []struct {
		name             string
		v                float32
		up, down, near   int // saturating
		exactlySaturated bool
	}{
		{"power", one(3), 130, 130, 130, false},
		{"above power", one(3) * 1.25, 131, 130, 130, false},
		{"halfway", one(3) * 1.5, 131, 130, 131, false},
		{"negative", -one(3) * 1.25, 131, 130, 130, false},
		{"smallest", one(-127), 0, 0, 0, false},
		{"above smallest", one(-127) * 1.25, 1, 0, 0, false},
		{"below smallest", one(-128), 0, 0, 0, true},
		{"zero", 0, 0, 0, 0, true},
		{"largest", one(127), 254, 254, 254, false},
		{"infinity", inf32, 254, 254, 254, true},
		{"nan", nan32, nan, nan, nan, false},
	}
	for _, tt := range tests {
		for mode, want := range []int{tt.up, tt.down, tt.near} {
			if got := int(ToF8E8M0(tt.v, Rounding(mode), true)); got != want {
				t.Errorf("%s, mode %d: %d, want %d", tt.name, mode, got, want)
			}
			if tt.exactlySaturated {
				want = nan
			}
			if got := int(ToF8E8M0(tt.v, Rounding(mode), false)); got != want {
				t.Errorf("%s, mode %d, not saturating: %d, want %d", tt.name, mode, got, want)
			}
		}
	}
	if got := ToF8E8M0(one(127)*1.25, Up, false); got != nanE8M0 {
		t.Errorf("above the largest, not saturating: %d", got)
	}
	for code := range 255 {
		for mode := Up; mode <= Nearest; mode++ {
			if got := ToF8E8M0(F8E8M0(code).Float32(), mode, false); int(got) != code {
				t.Errorf("code %d comes back as %d", code, got)
			}
		}
	}
}

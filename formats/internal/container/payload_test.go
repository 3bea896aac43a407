package container

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestPayload converts random and special numbers between all pairs of types, in more than one
// chunk, and compares with single conversions.
func TestPayload(t *testing.T) {
	types := []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.F8E4M3FN, tensor.F8E5M2}
	const n = chunk + 77
	r := rand.New(rand.NewPCG(5, 6))
	numbers := make([]float64, n)
	for i := range numbers {
		numbers[i] = math.Ldexp(r.Float64()*2-1, r.IntN(300)-150)
	}
	copy(numbers, []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e300, -1e300, 5e-324, 448, 464, 57344, 61440, 65519.999, 65520})
	wide, err := tensor.From(numbers, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range types {
		source := converted(t, wide, from)
		for _, to := range types {
			t.Run(fmt.Sprintf("%v to %v", from, to), func(t *testing.T) {
				got := converted(t, source, to)
				a, b := make([]float64, n), make([]float64, n)
				Decoder(from)(a, source.Bytes())
				Decoder(to)(b, got.Bytes())
				for i, v := range a {
					if want := single(to, v); b[i] != want && (b[i] == b[i] || want == want) || math.Signbit(b[i]) != math.Signbit(want) && want == want {
						t.Fatalf("element %d, %g, became %g, not %g", i, v, b[i], want)
					}
				}
			})
		}
	}
}

// single converts one number by way of its two neighbours.
func single(to tensor.DType, v float64) float64 {
	code := func(f float32) float64 {
		switch to {
		case tensor.F16:
			return float64(packed.ToF16(f).Float32())
		case tensor.BF16:
			return float64(packed.ToBF16(f).Float32())
		case tensor.F8E4M3FN:
			return float64(packed.ToF8E4M3FN(f, false).Float32())
		}
		return float64(packed.ToF8E5M2(f, false).Float32())
	}
	switch to {
	case tensor.F32:
		return float64(float32(v))
	case tensor.F64:
		return v
	}
	f := float32(v)
	if float64(f) == v || v != v || math.IsInf(v, 0) {
		return code(f)
	}
	// The neighbours in float32 become the same number, unless one of them is a tie.
	low, high := float32(v), float32(v)
	if float64(f) < v {
		high = math.Nextafter32(f, float32(math.Inf(1)))
	} else {
		low = math.Nextafter32(f, float32(math.Inf(-1)))
	}
	a, b := code(low), code(high)
	if a == b || math.Abs(v-a) < math.Abs(v-b) && !math.IsInf(a, 0) {
		return a
	}
	return b
}

func converted(t *testing.T, x *tensor.Tensor, to tensor.DType) *tensor.Tensor {
	t.Helper()
	p, err := Options{DType: to}.For(x)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := p.WriteTo(&b); err != nil || int64(b.Len()) != p.Len() {
		t.Fatalf("%d bytes of %d, %v", b.Len(), p.Len(), err)
	}
	y, err := tensor.FromBytes(to, x.Shape(), b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// TestPayloadClean writes booleans other than 0 and 1, and packed elements with unused bits in the
// last byte.
func TestPayloadClean(t *testing.T) {
	flags := make([]byte, chunk+3)
	want := make([]byte, len(flags))
	for i := range flags {
		flags[i] = byte(i)
		want[i] = min(flags[i], 1)
	}
	cases := []struct {
		dtype tensor.DType
		n     int
		in    []byte
		want  []byte
	}{
		{tensor.Bool, len(flags), flags, want},
		{tensor.Bool, 0, nil, nil},
		{tensor.U1, 11, []byte{0xb1, 0xfd}, []byte{0xb1, 0x05}},
		{tensor.U1, 8, []byte{0xff}, []byte{0xff}},
		{tensor.T2, 3, []byte{0xff}, []byte{0x3f}},
		{tensor.I4, 1, []byte{0xf8}, []byte{0x08}},
		{tensor.I4, 0, nil, nil},
		{tensor.I16, 1, []byte{0xff, 0xff}, []byte{0xff, 0xff}},
	}
	for _, c := range cases {
		x, err := tensor.FromBytes(c.dtype, tensor.Shape{c.n}, c.in)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Options{}.For(x)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		n, err := p.WriteTo(&b)
		if err != nil || n != p.Len() || !bytes.Equal(b.Bytes(), c.want) {
			t.Errorf("%v: %d bytes, %v", x, n, err)
		}
	}
}

func TestProblemsEnd(t *testing.T) {
	p := Problems{File: "f"}
	for i := range 2 * maxProblems {
		p.Add(i, nil, "wrong")
	}
	if n := len(p.All()); n != maxProblems+1 || p.First() != p.All()[0] {
		t.Errorf("%d problems", n)
	}
	var all Problems
	for range 3 {
		all.Join(&p)
	}
	if n := len(all.All()); n != maxProblems+1 {
		t.Errorf("%d problems of three files", n)
	}
}

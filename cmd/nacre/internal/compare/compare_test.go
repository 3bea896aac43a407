package compare

import (
	"math"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func of[T tensor.Element](t *testing.T, s ...T) *tensor.Tensor {
	t.Helper()
	x, err := tensor.From(s, len(s))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func words(t *testing.T, s ...string) *tensor.Tensor {
	t.Helper()
	x, err := tensor.FromStrings(s, len(s))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func TestTensors(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	int4 := func(codes ...int8) *tensor.Tensor {
		x := tensor.New(tensor.I4, len(codes))
		packed.Int4.Pack(x.Bytes(), codes)
		return x
	}
	tol := Tolerance{Rel: 1e-3, Abs: 1e-4}
	cases := []struct {
		name      string
		got, want *tensor.Tensor
		reason    string // substring; empty for a match
	}{
		{"equal", of[float32](t, 1, 2), of[float32](t, 1, 2), ""},
		{"within the relative part", of[float32](t, 1000.9), of[float32](t, 1000), ""},
		{"within the absolute part", of[float32](t, 0.00009), of[float32](t, 0), ""},
		{"beyond", of[float32](t, 1, 1002), of[float32](t, 1, 1000), "1 of 2 elements differ; element 1 is 1002, want 1000"},
		{"NaN and infinities", of(t, nan, inf, -inf), of(t, nan, inf, -inf), ""},
		{"NaN for a number", of(t, nan), of[float32](t, 1), "element 0 is NaN"},
		{"number for NaN", of[float32](t, 1), of(t, nan), "want NaN"},
		{"infinity of the other sign", of(t, -inf), of(t, inf), "differ"},
		{"number for infinity", of[float32](t, 1), of(t, inf), "want +Inf"},
		{"type", of[int32](t, 1), of[int64](t, 1), "got int32[1], want int64[1]"},
		{"shape", of[int32](t, 1), of[int32](t, 1, 2), "got int32[1], want int32[2]"},
		{"missing", nil, of[int32](t, 1), "there is none"},
		{"strings", words(t, "a", "b"), words(t, "a", "c"), `element 1 is "b", want "c"`},
		{"float16", of(t, packed.ToF16(1)), of(t, packed.ToF16(1.001)), ""},
		{"bools", of(t, true), of(t, false), "element 0 is 1, want 0"},
		{"complex", of[complex64](t, 1+1i), of[complex64](t, 1+2i), "1 of 1"},
		{"int4", int4(-8, 7, 1), int4(-8, 7, 2), "element 2 is 1, want 2"},
		{"float8", of(t, packed.F8E4M3FN(0x38)), of(t, packed.F8E4M3FN(0x39)), "element 0 is 1, want 1.125"},
		{"float8 NaN", of(t, packed.F8E5M2(0x7d)), of(t, packed.F8E5M2(0x7e)), ""},
		{"empty", of[float32](t), of[float32](t), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := Tensors(t.Context(), c.got, c.want, tol)
			if err != nil {
				t.Fatal(err)
			}
			if r.Match() != (c.reason == "") || !strings.Contains(r.Reason, c.reason) {
				t.Errorf("reason %q, want %q", r.Reason, c.reason)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	r, err := Tensors(t.Context(), of[float64](t, 1, 2.5, 0.5), of[float64](t, 1, 2, 0), Tolerance{Abs: 10})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Match() || r.MaxAbs != 0.5 || r.MaxRel != 0.25 || r.Share != 0.25 {
		t.Errorf("got %+v", r)
	}
}

func TestDecisions(t *testing.T) {
	half := 0.5
	tol := Tolerance{Threshold: &half}
	for _, tt := range []struct {
		got, want float32
		match     bool
	}{
		{0.51, 0.99, true}, {0.1, 0.5, true}, {0.51, 0.5, false}, {0.4, 0.6, false}, {float32(math.NaN()), 0.1, false}, {float32(math.NaN()), 0.9, false},
	} {
		if r, err := Tensors(t.Context(), of(t, tt.got), of(t, tt.want), tol); r.Match() != tt.match || err != nil {
			t.Errorf("%v for %v: %q", tt.got, tt.want, r.Reason)
		}
	}
}

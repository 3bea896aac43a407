package standard_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func castValue(x *tensor.Tensor, to tensor.DType, more ...any) (*tensor.Tensor, error) {
	out, err := evalNode("Cast", 25, 1, attrs(append([]any{"to", to.Code()}, more...)...), x)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// TestCastPairs casts small integers, which almost every type can hold, between all pairs of types,
// in whole blocks and odd tails.
func TestCastPairs(t *testing.T) {
	testenv.Need(t, bindings.Available())
	const n = 2*4096 + 3 // more than two blocks
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = float32(1 - i%2)
	}
	for _, from := range tensor.DTypes() {
		for _, to := range tensor.DTypes() {
			if from.Kind() == tensor.Complex || to.Kind() == tensor.Complex || from == tensor.Bool && to == tensor.String {
				continue // the text of a bool is no number
			}
			t.Run(fmt.Sprintf("%v to %v", from, to), func(t *testing.T) {
				x := f32s(ones...)
				for _, d := range []tensor.DType{from, to, tensor.F32} {
					var err error
					if x, err = castValue(x, d); err != nil {
						t.Fatal(err)
					}
				}
				for i, v := range tensor.View[float32](x) {
					// float8e8m0 has no zero. Its least value stands for it.
					if v != ones[i] && !(ones[i] == 0 && v < 1e-38) && from != tensor.F8E8M0 {
						t.Fatalf("element %d is %g, want %g", i, v, ones[i])
					}
				}
			})
		}
	}
}

func TestCast(t *testing.T) {
	minus := math.Inf(-1)
	edges := f32s(300, -300, 1.9, -1.9, float32(nan), float32(inf), float32(minus))
	tests := []struct {
		name string
		x    *tensor.Tensor
		to   tensor.DType
		more []any
		want []float64
	}{
		{"float to narrow integer", edges, tensor.I8, nil, []float64{127, -128, 1, -1, 0, 127, -128}},
		{"float to unsigned", edges, tensor.U8, nil, []float64{255, 0, 1, 0, 0, 255, 0}},
		{"float to int64", f32s(1e30, -1e30, 1<<40), tensor.I64, nil, []float64{math.MaxInt64, math.MinInt64, 1 << 40}},
		{"float to uint64", from([]float64{1e30, -1, 1 << 63}, 3), tensor.U64, nil, []float64{math.MaxUint64, 0, 1 << 63}},
		{"float to bool", f32s(0, float32(math.Copysign(0, -1)), 0.1, float32(nan)), tensor.Bool, nil, []float64{0, 0, 1, 1}},
		{"integer keeps low bits", i32s(200, -129, 256), tensor.I8, nil, []float64{-56, 127, 0}},
		{"bool to float", bools(true, false), tensor.F32, nil, []float64{1, 0}},
		{"bool to half", bools(true, false), tensor.F16, nil, []float64{1, 0}},
		{"half to int", f16s(-3.7, 100), tensor.I64, nil, []float64{-3, 100}},
		{"int to half", i64s(-3, 100000), tensor.F16, nil, []float64{-3, inf}},
		{"half to bfloat16", f16s(1.0009765625, 3), tensor.BF16, nil, []float64{1, 3}},
		{"double to half once", from([]float64{1 + 1./2048 + 1e-12}, 1), tensor.F16, nil, []float64{1 + 1./1024}},
		{"double to half even", from([]float64{1 + 1./2048}, 1), tensor.F16, nil, []float64{1}},
		{"text to float", texts("3.5", " 1e3", "-INF", "NaN", "inf"), tensor.F32, nil, []float64{3.5, 1000, minus, nan, inf}},
		{"text to int", texts("42", "-7", "100.5"), tensor.I32, nil, []float64{42, -7, 100}},
		{"text to uint64", texts("18446744073709551615"), tensor.U64, nil, []float64{math.MaxUint64}},
		{"text to bool", texts("True", "0", "2"), tensor.Bool, nil, []float64{1, 0, 1}},
	}
	testenv.Need(t, bindings.Available())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			y, err := castValue(tt.x, tt.to, tt.more...)
			if err != nil {
				t.Fatal(err)
			}
			if got := numbersOf(y); !closeLists(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// TestCastNarrow checks casts through float32, which holds every value of the narrow types.
func TestCastNarrow(t *testing.T) {
	tests := []struct {
		name string
		x    *tensor.Tensor
		to   tensor.DType
		more []any
		want []float64
	}{
		{"saturates", f32s(1000, -1000), tensor.F8E4M3FN, nil, []float64{448, -448}},
		{"does not saturate", f32s(1000, 1e9), tensor.F8E5M2, []any{"saturate", 0}, []float64{1024, inf}},
		{"no infinity", f32s(1e9), tensor.F8E4M3FNUZ, []any{"saturate", 0}, []float64{nan}},
		{"double rounds once", from([]float64{17 + 1e-9}, 1), tensor.F8E4M3FN, nil, []float64{18}},
		{"nibbles keep low bits", f32s(-9, 15, 7.9), tensor.I4, nil, []float64{7, -1, 7}},
		{"pairs of bits", i64s(5, -1, 2), tensor.U2, nil, []float64{1, 3, 2}},
		{"four bits of float", f32s(2.5, -9, 0.3), tensor.F4E2M1, nil, []float64{2, -6, 0.5}},
		{"powers up", f32s(3, 4), tensor.F8E8M0, nil, []float64{4, 4}},
		{"powers down", f32s(3, 4), tensor.F8E8M0, []any{"round_mode", "down"}, []float64{2, 4}},
		{"powers nearest", f32s(2.9, 3), tensor.F8E8M0, []any{"round_mode", "nearest"}, []float64{2, 4}},
	}
	testenv.Need(t, bindings.Available())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			y, err := castValue(tt.x, tt.to, tt.more...)
			if err == nil {
				y, err = castValue(y, tensor.F32)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := numbersOf(y); !closeLists(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestCastText(t *testing.T) {
	tests := []struct {
		name string
		x    *tensor.Tensor
		want []string
	}{
		{"float32", f32s(314.1592, 0.1, 1, 1e-7, 1e20, float32(nan), float32(math.Inf(-1)), float32(inf)),
			[]string{"314.1592", "0.1", "1.0", "1e-07", "1e+20", "nan", "-inf", "inf"}},
		{"float64", from([]float64{0.1, 1. / 3}, 2), []string{"0.1", "0.3333333333333333"}},
		{"half", f16s(0.1, 65504), []string{"0.1", "65500.0"}},
		{"bfloat16", bf16s(0.1), []string{"0.1"}},
		{"int8", i8s(-128), []string{"-128"}},
		{"uint64", from([]uint64{math.MaxUint64}, 1), []string{"18446744073709551615"}},
		{"bool", bools(true, false), []string{"True", "False"}},
	}
	testenv.Need(t, bindings.Available())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			y, err := castValue(tt.x, tensor.String)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(y.Strings(), tt.want) {
				t.Errorf("got %q, want %q", y.Strings(), tt.want)
			}
		})
	}
}

func TestCastVersions(t *testing.T) {
	x := f32s(1.5, -2)
	runEvalCases(t, []evalCase{
		{"by name", "Cast", 1, attrs("to", "INT32"), in(x), tensor.Shape{2}, []float64{1, -2}},
		{"by name of float32", "Cast", 5, attrs("to", "FLOAT"), in(i32s(7)), tensor.Shape{1}, []float64{7}},
		{"by number", "Cast", 6, attrs("to", 11), in(x), tensor.Shape{2}, []float64{1.5, -2}},
		{"like", "CastLike", 15, nil, in(x, i64s(0)), tensor.Shape{2}, []float64{1, -2}},
		{"same type", "Cast", 13, attrs("to", 1), in(x), tensor.Shape{2}, []float64{1.5, -2}},
		{"empty", "Cast", 13, attrs("to", 7), in(tensor.New(tensor.F16, 0)), tensor.Shape{0}, []float64{}},
	})
	refused(t, []evalCase{
		{name: "no type", op: "Cast", version: 13, in: in(x)},
		{name: "code too large", op: "Cast", version: 13, attrs: attrs("to", 99), in: in(x)},
		{name: "unknown name", op: "Cast", version: 1, attrs: attrs("to", "REAL"), in: in(x)},
		{name: "complex", op: "Cast", version: 13, attrs: attrs("to", 14), in: in(x)},
		{name: "mode", op: "Cast", version: 25, attrs: attrs("to", 24, "round_mode", "sideways"), in: in(x)},
		{name: "text", op: "Cast", version: 13, attrs: attrs("to", 1), in: in(texts("hello"))},
		{name: "attribute of a later version", op: "Cast", version: 13, attrs: []*graph.Attr{intAttr("to", 1), intAttr("saturate", 1)}, in: in(x)},
		{name: "like nothing", op: "CastLike", version: 15, in: in(x, nil)},
	})
}

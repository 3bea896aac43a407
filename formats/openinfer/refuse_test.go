package openinfer

import (
	"strings"
	"testing"
)

// TestCheck checks calls, most of them invalid. Each error names its cause.
func TestCheck(t *testing.T) {
	x := func(d dtype, dims ...int) operand { return operand{"x", d, dims} }
	y := func(d dtype, dims ...int) operand { return operand{"y", d, dims} }
	in := func(list ...operand) []operand { return list }
	for _, c := range []struct {
		op    string
		attrs []attr
		in    []operand
		out   operand
		want  string // in the error; empty for none
	}{
		{"add", nil, in(x(dtI4, 3), x(dtI4, 2, 3)), y(dtI4, 2, 3), ""},
		{"add", nil, in(x(dtI4, 3)), y(dtI4, 3), "takes 2 inputs, not 1"},
		{"add", nil, in(x(dtI4, 3), x(dtU4, 3)), y(dtI4, 3), "of one type"},
		{"add", nil, in(x(dtT1, 3), x(dtT1, 3)), y(dtT1, 3), "does not take elements of type t1"},
		{"add", nil, in(x(dtI4, 3), x(dtI4, 2)), y(dtI4, 3), "do not broadcast"},
		{"add", nil, in(x(dtI4, 3), x(dtI4, 3)), y(dtI8, 3), "the result is of type i4"},
		{"add", nil, in(x(dtI4, 3), x(dtI4, 3)), y(dtI4, 1, 3), "the result has shape [3]"},
		{"add", []attr{{"acc", dtI8}}, in(x(dtI4, 3), x(dtI4, 3)), y(dtI8, 3), ""},
		{"add", []attr{{"acc", dtU8}}, in(x(dtI4, 3), x(dtI4, 3)), y(dtU8, 3), "does not widen"},
		{"add", []attr{{"acc", dtF64}}, in(x(dtF32, 3), x(dtF32, 3)), y(dtF64, 3), "does not widen"},
		{"add", []attr{{"acc", dtI8}, {"acc", dtI8}}, in(x(dtI4, 3), x(dtI4, 3)), y(dtI8, 3), "given twice"},
		{"add", []attr{{"alpha", 1.0}}, in(x(dtI4, 3), x(dtI4, 3)), y(dtI4, 3), `"alpha" is not one of [acc]`},
		{"add", []attr{{"acc", "i8"}}, in(x(dtI4, 3), x(dtI4, 3)), y(dtI8, 3), "an element type"},
		{"min", nil, in(x(dtI4, 3), x(dtI4, 2, 3)), y(dtI4, 2, 3), "does not broadcast"},
		{"eq", nil, in(x(dtBool, 3), x(dtBool, 3)), operand{"x", dtBool, []int{3}}, "the output is an input"},
		{"not", nil, in(x(dtBool, 3)), operand{"x", dtBool, []int{3}}, ""},
		{"matmul", nil, in(x(dtU1, 3), x(dtU1, 3)), y(dtU1), "two axes or more"},
		{"matmul", nil, in(x(dtU1, 2, 3), x(dtU1, 2, 3)), y(dtU1, 2, 3), "do not multiply"},
		{"matmul", nil, in(x(dtU1, 4, 2, 3), x(dtU1, 3, 5)), y(dtU1, 4, 2, 5), ""},
		{"relu", []attr{{"alpha", 0.5}}, in(x(dtI8, 3)), y(dtI8, 3), "need an integer"},
		{"relu", []attr{{"alpha", operand{"a", dtF32, nil}}}, in(x(dtI8, 3)), y(dtI8, 3), "need an integer"},
		{"relu", []attr{{"alpha", operand{"a", dtF32, []int{1}}}}, in(x(dtF32, 3)), y(dtF32, 3), "must be a scalar"},
		{"relu", []attr{{"alpha", operand{"a", dtF16, nil}}}, in(x(dtF32, 3)), y(dtF32, 3), ""},
		{"relu", []attr{{"alpha", "x"}}, in(x(dtF32, 3)), y(dtF32, 3), "must be a number"},
		{"div", []attr{{"div_by_zero_mask", int64(-1)}}, in(x(dtU8, 3), x(dtU8, 3)), y(dtU8, 3), "not negative"},
		{"shl", nil, in(x(dtU8, 3)), y(dtU8, 3), `"bits" is missing`},
		{"sum_axis", []attr{{"axes", []int64{}}}, in(x(dtU8, 3)), y(dtU8), "empty list"},
		{"sum_axis", []attr{{"axes", []int64{1}}}, in(x(dtU8, 3)), y(dtU8), "not one of the 1 axes"},
		{"sum_axis", []attr{{"axes", []int64{0, -1}}, {"keepdims", true}}, in(x(dtU8, 3)), y(dtU8, 1), ""},
		{"sum_axis", []attr{{"axes", []int64{0}}, {"keepdims", int64(1)}}, in(x(dtU8, 3)), y(dtU8), "true or false"},
		{"argmax_axis", []attr{{"axis", 1.5}}, in(x(dtU8, 3)), y(dtI64), "an integer that is known"},
		{"cast", nil, in(x(dtU8, 3)), y(dtU16, 3), `"to" is missing`},
		{"cast", []attr{{"to", dtI16}}, in(x(dtU8, 3)), y(dtI16, 3), "no cast from u8 to i16"},
		{"cast", []attr{{"to", dtU8}}, in(x(dtU8, 3)), y(dtU8, 3), "no cast from u8 to u8"},
		{"cast", []attr{{"to", dtI4}}, in(x(dtF32, 3)), y(dtI4, 3), "no type to cast to"},
		{"cast", []attr{{"to", dtI8}, {"rounding_mode", "even"}}, in(x(dtF32, 3)), y(dtI8, 3), "must be one of"},
		{"cast", []attr{{"to", dtI8}, {"rounding_mode", "ceil"}, {"saturate", false}}, in(x(dtF32, 3)), y(dtI8, 3), ""},
		{"is_finite", nil, in(x(dtF8, 3)), y(dtBool, 3), "the result has shape []"},
	} {
		row, ok := lookupOp(c.op)
		if !ok {
			t.Fatalf("no operator %s", c.op)
		}
		err := row.check(c.attrs, c.in, c.out)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s(%v, %v) >> %v: %v, want %q", c.op, c.in, c.attrs, c.out, err, c.want)
		}
		if err != nil && !strings.HasPrefix(err.Error(), c.op) {
			t.Errorf("the error does not name the operator %s: %v", c.op, err)
		}
	}
	if _, ok := lookupOp("softmax"); ok {
		t.Error("softmax is an operator")
	}
}

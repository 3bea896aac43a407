package optimize_test

import (
	"bytes"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestTransposedCodes checks products of quantised rows with codes that a Transpose turns.
func TestTransposedCodes(t *testing.T) {
	rows := func(b *net) string {
		zero := b.constant(cases.NewSource("zero").Between(tensor.U8, 128, 128))
		codes := b.op("QuantizeLinear", b.in("x", "tokens", 24), b.c(0.0625), zero)
		return b.op("DequantizeLinear", codes, b.c(0.0625), zero)
	}
	one := []tensor.DType{tensor.F32}
	check(t, []pattern{
		{name: "columns", types: one, want: []string{"QuantizeLinear", "MatMulIntegerToFloat"}, build: func(b *net) {
			w := b.codes(tensor.I8, false, []int{10}, []int{10, 24}, attrInt("axis", 0))
			b.out(b.op("MatMul", rows(b), b.op("Transpose", w)))
		}},
		{name: "Gemm", types: one, want: []string{"QuantizeLinear", "MatMulIntegerToFloat"}, build: func(b *net) {
			w := b.codes(tensor.I8, false, []int{10}, []int{24, 10}, attrInt("axis", 1))
			b.out(b.op("Gemm", rows(b), b.op("Transpose", w), b.weight(10), attrInt("transB", 1)))
		}},
	})
}

// TestScaledConv checks that integer convolutions with float results equal the nodes that they
// replace to the last bit.
func TestScaledConv(t *testing.T) {
	build := func(named, biased bool, scales ...int) *net {
		b := newNet(tensor.F32, named)
		s := cases.NewSource("scaled")
		filters := 21
		x := b.op("DynamicQuantizeLinear", b.in("x", "batch", 13, 150))
		quantize := b.g.Nodes[0]
		quantize.Outputs = append(quantize.Outputs, "x_scale", "x_zero")
		w := b.constant(s.Any(tensor.I8, filters, 13, 5))
		sums := b.op("ConvInteger", x, w, "x_zero", b.constant(s.Any(tensor.I8)), attrInts("dilations", 3), attrInts("pads", 6, 6))
		scale := b.op("Mul", "x_scale", b.weight(scales...))
		if biased {
			codes := b.op("Cast", b.op("Floor", b.op("Div", b.weight(filters), b.c(0.001))), attrInt("to", 6))
			sums = b.op("Add", sums, b.op("Reshape", codes, b.ints(1, -1, 1)))
		}
		b.out(b.op("Mul", b.op("Cast", sums, attrInt("to", 1)), scale))
		return b
	}
	for _, named := range []bool{false, true} {
		for _, biased := range []bool{false, true} {
			for _, scales := range [][]int{nil, {1}, {21, 1}, {1, 21, 1}} {
				b := build(named, biased, scales...)
				if got := applied(b.optimized(t)); got[len(got)-1] != "ConvIntegerToFloat" {
					t.Errorf("named %v, biased %v, scales %v: got %q", named, biased, scales, got)
				}
				if !bytes.Equal(b.run(t, true)[0].Bytes(), b.run(t, false)[0].Bytes()) {
					t.Errorf("named %v, biased %v, scales %v: other bits", named, biased, scales)
				}
			}
		}
	}
}

package optimize_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// codes adds a constant of codes of type d, and the DequantizeLinear that makes floats of them.
func (b *net) codes(d tensor.DType, zeros bool, scales []int, shape []int, more ...any) string {
	s := cases.NewSource(fmt.Sprint(d, shape))
	all := map[int]float64{2: 1, 4: 7, 8: 127}[d.Bits()]
	low, high := -all-1, all
	if d.Kind() == tensor.Unsigned {
		low, high = 0, 2*all+1
	}
	args := []any{b.constant(s.Between(d, low, high, shape...)), b.constant(s.Between(b.dtype, 0.25/all, 0.5/all, scales...))}
	if zeros {
		args = append(args, b.constant(s.Between(d, low, high, scales...)))
	}
	return b.op("DequantizeLinear", append(args, more...)...)
}

func TestKeepCodes(t *testing.T) {
	var list []pattern
	// add adds a pattern in the operator set of blocks.
	add := func(name string, f func(b *net) string, want ...string) {
		list = append(list, pattern{name: name, want: want, build: func(b *net) {
			b.opset = 21
			b.out(f(b))
		}})
	}
	x := func(b *net, k int) string { return b.in("x", "batch", "tokens", k) }
	axis, block := func(i int) any { return attrInt("axis", int64(i)) }, func(n int) any { return attrInt("block_size", int64(n)) }
	const one = "MatMulNBits"
	for _, d := range []tensor.DType{tensor.I2, tensor.U2, tensor.I4, tensor.U4, tensor.I8, tensor.U8} {
		for _, zeros := range []bool{false, true} {
			name := fmt.Sprint(d, " zeros ", zeros)
			add(name+" of all", func(b *net) string {
				return b.op("MatMul", x(b, 35), b.codes(d, zeros, nil, []int{35, 12}))
			}, one)
			add(name+" of columns", func(b *net) string {
				return b.op("MatMul", x(b, 40), b.codes(d, zeros, []int{7}, []int{40, 7}, axis(-1)))
			}, one)
			add(name+" of blocks of columns", func(b *net) string {
				return b.op("MatMul", x(b, 144), b.codes(d, zeros, []int{5, 140}, []int{144, 140}, axis(0), block(32)))
			}, one)
			add(name+" of blocks of rows", func(b *net) string {
				w := b.codes(d, zeros, []int{11, 4}, []int{11, 64}, axis(1), block(16))
				return b.op("Gemm", b.in("x", "tokens", 64), w, b.weight(11), attrInt("transB", 1))
			}, one)
			add(name+" of odd rows", func(b *net) string {
				return b.op("Gemm", b.in("x", "tokens", 33), b.codes(d, zeros, []int{9, 2}, []int{9, 33}, axis(1), block(32)), attrInt("transB", 1))
			}, one)
			add(name+" transposed", func(b *net) string {
				w := b.codes(d, zeros, []int{10, 2}, []int{10, 96}, axis(-1), block(48))
				return b.op("MatMul", x(b, 96), b.op("Transpose", w))
			}, one)
			add(name+" of a table", func(b *net) string {
				w := b.codes(d, zeros, []int{10, 2}, []int{10, 32}, axis(-1), block(16))
				return b.op("Gather", w, b.given("i", integers(3, 0, 7, 3), 2, 2))
			}, gathered(zeros)...)
			add(name+" of rows of a table", func(b *net) string {
				return b.op("Gather", b.codes(d, zeros, []int{10}, []int{10, 5}, axis(0)), b.given("i", integers(3, 0, -7, 3), 2, 2))
			}, gathered(zeros)...)
			add(name+" of a whole table", func(b *net) string {
				return b.op("Gather", b.codes(d, zeros, nil, []int{10, 8}), b.given("i", integers(3, 0, 7, 3), 2, 2))
			}, "Gather", "DequantizeLinear")
		}
	}
	for _, d := range []tensor.DType{tensor.I2, tensor.T2, tensor.I4, tensor.U8} {
		add(fmt.Sprint(d, " that is cast"), func(b *net) string {
			w := b.op("Cast", b.constant(cases.NewSource("whole").Between(d, -1, 1, 20, 64)), attrInt("to", int64(b.dtype.Code())))
			return b.op("Gemm", b.in("x", "tokens", 64), w, attrInt("transB", 1))
		}, one)
	}
	add("floats that are cast", func(b *net) string {
		return b.op("Gemm", b.op("Cast", b.in("x", "tokens", 64), attrInt("to", 11)), b.op("Cast", b.weight(64, 20), attrInt("to", 11)))
	}, "Cast", "Gemm")
	const dq = "DequantizeLinear"
	w := func(b *net) string { return b.codes(tensor.I4, false, []int{2, 32}, []int{64, 32}, axis(0), block(32)) }
	add("an addition after it", func(b *net) string { return b.op("Add", b.weight(32), b.op("MatMul", x(b, 64), w(b))) }, one)
	add("an addition of another shape", func(b *net) string { return b.op("Add", b.op("MatMul", x(b, 64), w(b)), b.weight(5, 1)) }, one, "Add")
	add("one row", func(b *net) string { return b.op("MatMul", b.in("x", 64), w(b)) }, one)
	add("a factor", func(b *net) string {
		return b.op("Gemm", b.in("x", "tokens", 64), w(b), attrFloat("alpha", 0.5))
	}, "Gemm")
	add("read twice", func(b *net) string {
		v := w(b)
		b.out(b.op("MatMul", x(b, 64), v))
		return b.op("Add", v, b.in("y", 64, 32))
	}, one, "Add")
	add("scales of rows", func(b *net) string {
		return b.op("MatMul", x(b, 32), b.codes(tensor.I8, false, []int{32}, []int{32, 8}, axis(0)))
	}, "MatMul")
	add("blocks of columns in rows", func(b *net) string {
		return b.op("MatMul", x(b, 32), b.codes(tensor.I8, false, []int{32, 2}, []int{32, 32}, axis(1), block(16)))
	}, "MatMul")
	add("blocks that no power of two divides", func(b *net) string {
		return b.op("MatMul", x(b, 40), b.codes(tensor.I8, false, []int{2, 8}, []int{40, 8}, axis(0), block(20)))
	}, "MatMul")
	add("codes of 16 bits", func(b *net) string {
		return b.op("MatMul", x(b, 32), b.op(dq, b.constant(cases.NewSource("wide").Any(tensor.I16, 32, 8)), b.c(0.5)))
	}, "MatMul")
	add("scales of an input", func(b *net) string {
		return b.op("MatMul", x(b, 32), b.op(dq, b.constant(cases.NewSource("codes").Any(tensor.I8, 32, 8)), b.in("s")))
	}, dq, "MatMul")
	check(t, list)
}

// gathered lists the nodes of a Gather of codes.
func gathered(zeros bool) []string {
	if zeros {
		return []string{"Gather", "Gather", "Gather", "DequantizeLinear"}
	}
	return []string{"Gather", "Gather", "DequantizeLinear"}
}

// TestKeepFilterCodes lists the constants with codes as their source after all passes.
func TestKeepFilterCodes(t *testing.T) {
	const filters, channels = 80, 64
	axis, block := func(i int) any { return attrInt("axis", int64(i)) }, func(n int) any { return attrInt("block_size", int64(n)) }
	x := func(b *net) string { return b.in("x", 2, channels, 7, 7) }
	shape := []int{filters, channels, 3, 1}
	of := func(d tensor.DType, zeros bool, scales []int, more ...any) func(b *net) string {
		return func(b *net) string { return b.op("Conv", x(b), b.codes(d, zeros, scales, shape, more...)) }
	}
	scaled := func(y func(b *net) string) func(b *net) string {
		return func(b *net) string { return b.op("Mul", y(b), b.weight(filters, 1, 1)) }
	}
	for _, tt := range []struct {
		name  string
		build func(b *net) string
		want  int // constants with codes
	}{
		{"one scale", of(tensor.I8, true, nil), 1},
		{"a scale for each filter", of(tensor.U4, true, []int{filters}, axis(0)), 1},
		{"a scale for each channel", of(tensor.I2, false, []int{channels}, axis(-3)), 1},
		{"blocks", of(tensor.I4, true, []int{filters, 4, 3, 1}, axis(1), block(16)), 1},
		{"one scale and a factor", scaled(of(tensor.I4, true, nil)), 1},
		{"filters and a factor", scaled(of(tensor.I8, true, []int{filters}, axis(0))), 1},
		{"blocks and a factor", scaled(of(tensor.U2, true, []int{filters, 2, 3, 1}, axis(1), block(32))), 1},
		{"channels and a factor", scaled(of(tensor.I8, false, []int{channels}, axis(1))), 0},
		{"blocks of filters and a factor", scaled(of(tensor.I8, false, []int{4, channels, 3, 1}, axis(0), block(20))), 0},
		{"weights of two", func(b *net) string {
			w := b.codes(tensor.I8, false, []int{filters}, shape, axis(0))
			return b.op("Add", b.op("Conv", x(b), w), b.op("Conv", b.in("y", 2, channels, 7, 7), w))
		}, 1},
		{"few weights", func(b *net) string {
			return b.op("Conv", x(b), b.codes(tensor.I8, false, nil, []int{60, channels, 1, 1}))
		}, 0},
		{"depthwise", func(b *net) string {
			return b.op("Conv", x(b), b.codes(tensor.I8, false, nil, []int{channels, 1, 9, 9}), attrInt("group", channels), attrInts("pads", 4, 4, 4, 4))
		}, 0},
		{"codes of 16 bits", func(b *net) string {
			return b.op("Conv", x(b), b.op("DequantizeLinear", b.constant(cases.NewSource("wide").Any(tensor.I16, shape...)), b.c(0.5)))
		}, 0},
	} {
		b := newNet(tensor.F32, false)
		b.opset = 21
		b.out(tt.build(b))
		m, n := b.optimized(t), 0
		for _, init := range m.Graph.Initializers {
			if kit.CodesOf(init.Tensor) != nil {
				n++
			}
		}
		if n != tt.want || slices.Contains(applied(m), "DequantizeLinear") {
			t.Errorf("%s: %d constants are codes, not %d, and nodes are %v", tt.name, n, tt.want, applied(m))
		}
		b.same(t)
	}
}

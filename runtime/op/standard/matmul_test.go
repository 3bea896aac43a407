package standard_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/cpu"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/op/standard"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// evalPrepared is evalNode with one output. Only input constant is constant.
func evalPrepared(
	name string, version, constant int, pool *bindings.Pool, list []*graph.Attr, in ...*tensor.Tensor,
) (*tensor.Tensor, error) {
	n := &graph.Node{Op: name, Version: version, Attrs: list, Outputs: []string{"out"}}
	for i, t := range in {
		n.Inputs = append(n.Inputs, "")
		if t != nil {
			n.Inputs[i] = fmt.Sprint("in", i)
		}
	}
	got, err := cpu.EvalVariable(standard.Registry(), n, bindings.DetectISA(), pool, in,
		func(i int) bool { return i == constant })
	if err != nil {
		return nil, err
	}
	return got[0], nil
}

// smallInts returns a tensor of small integers, exact in every type, with its bytes at an odd
// address.
func smallInts(r *rand.Rand, d tensor.DType, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	for i := range t.Len() {
		v := r.IntN(4)
		switch d {
		case tensor.F32:
			tensor.View[float32](t)[i] = float32(v)
		case tensor.F64:
			tensor.View[float64](t)[i] = float64(v)
		case tensor.F16:
			tensor.View[packed.F16](t)[i] = packed.ToF16(float32(v))
		case tensor.BF16:
			tensor.View[packed.BF16](t)[i] = packed.ToBF16(float32(v))
		case tensor.I32:
			tensor.View[int32](t)[i] = int32(-v)
		case tensor.U32:
			tensor.View[uint32](t)[i] = uint32(v)
		case tensor.I64:
			tensor.View[int64](t)[i] = int64(-v)
		case tensor.U64:
			tensor.View[uint64](t)[i] = uint64(v)
		}
	}
	odd := append(make([]byte, 1, 1+len(t.Bytes())), t.Bytes()...)[1:]
	t, err := tensor.FromBytes(d, t.Shape(), odd)
	if err != nil {
		panic(err)
	}
	return t
}

// matmulByFormula multiplies operands of at least two axes.
func matmulByFormula(a, b *tensor.Tensor, shape tensor.Shape) []float64 {
	x, y := numbersOf(a.Aligned()), numbersOf(b.Aligned())
	m, k, n := kit.FromEnd(a.Shape(), 2), kit.FromEnd(a.Shape(), 1), kit.FromEnd(b.Shape(), 1)
	out := make([]float64, 0, shape.Len())
	for q := range shape.Len() / max(m*n, 1) {
		qa, qb, rest, stepA, stepB := 0, 0, q, 1, 1
		for i := 3; i <= len(shape); i++ {
			at := rest % kit.FromEnd(shape, i)
			rest /= kit.FromEnd(shape, i)
			qa += min(at, kit.FromEnd(a.Shape(), i)-1) * stepA
			qb += min(at, kit.FromEnd(b.Shape(), i)-1) * stepB
			stepA, stepB = stepA*kit.FromEnd(a.Shape(), i), stepB*kit.FromEnd(b.Shape(), i)
		}
		for i := range m {
			for j := range n {
				sum := 0.0
				for p := range k {
					sum += x[(qa*m+i)*k+p] * y[(qb*k+p)*n+j]
				}
				out = append(out, sum)
			}
		}
	}
	return out
}

func TestMatMulBroadcast(t *testing.T) {
	testenv.Need(t, bindings.Available())
	pool, err := bindings.NewPool(2)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		a, b, out tensor.Shape
	}{
		{tensor.Shape{3, 4}, tensor.Shape{4, 5}, tensor.Shape{3, 5}},
		{tensor.Shape{2, 3, 4}, tensor.Shape{4, 5}, tensor.Shape{2, 3, 5}},
		{tensor.Shape{3, 4}, tensor.Shape{2, 4, 5}, tensor.Shape{2, 3, 5}},
		{tensor.Shape{2, 1, 3, 4}, tensor.Shape{3, 4, 9}, tensor.Shape{2, 3, 3, 9}},
		{tensor.Shape{2, 3, 1, 4}, tensor.Shape{1, 3, 4, 9}, tensor.Shape{2, 3, 1, 9}},
		{tensor.Shape{2, 1, 2, 3, 4}, tensor.Shape{3, 1, 4, 10}, tensor.Shape{2, 3, 2, 3, 10}},
		{tensor.Shape{2, 3, 4, 7}, tensor.Shape{2, 3, 7, 40}, tensor.Shape{2, 3, 4, 40}},
		{tensor.Shape{4, 1, 1, 7}, tensor.Shape{1, 2, 7, 1}, tensor.Shape{4, 2, 1, 1}},
		{tensor.Shape{0, 3, 4}, tensor.Shape{1, 4, 5}, tensor.Shape{0, 3, 5}},
		{tensor.Shape{2, 3, 0}, tensor.Shape{2, 0, 5}, tensor.Shape{2, 3, 5}},
		{tensor.Shape{70, 65}, tensor.Shape{65, 67}, tensor.Shape{70, 67}},
	} {
		for _, d := range productElements(t) {
			a, b := smallInts(r, d, c.a...), smallInts(r, d, c.b...)
			want := matmulByFormula(a, b, c.out)
			for _, constant := range []int{-1, 0, 1} {
				out, err := evalPrepared("MatMul", 13, constant, pool, nil, a, b)
				if err != nil {
					t.Errorf("%v %v: %v", a, b, err)
					continue
				}
				if !out.Shape().Equal(c.out) || !closeLists(numbersOf(out), want) {
					t.Errorf("%v %v, constant %d: %v %v, not %v", a, b, constant, out, numbersOf(out), want)
				}
			}
		}
	}
}

func TestGemmCases(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var list []evalCase
	for _, d := range productElements(t) {
		for _, shape := range []tensor.Shape{nil, {}, {1}, {5}, {1, 5}, {4, 1}, {4, 5}, {1, 1}} {
			for _, trans := range []int{0, 1} {
				a, b := smallInts(r, d, 4, 3), smallInts(r, d, 3, 5)
				want := matmulByFormula(a, b, tensor.Shape{4, 5})
				in := []*tensor.Tensor{a.Aligned(), b.Aligned()}
				if trans == 1 {
					in = []*tensor.Tensor{turned(in[0]), turned(in[1])}
				}
				if shape != nil {
					c := smallInts(r, d, shape...).Aligned()
					in = append(in, c)
					for i := range want {
						rows, cols := kit.FromEnd(shape, 2), kit.FromEnd(shape, 1)
						want[i] = 2*want[i] + 3*numbersOf(c)[min(i/5, rows-1)*cols+min(i%5, cols-1)]
					}
				} else {
					for i := range want {
						want[i] *= 2
					}
				}
				set := []*graph.Attr{floatAttr("alpha", 2), floatAttr("beta", 3), intAttr("transA", int64(trans)),
					intAttr("transB", int64(trans))}
				list = append(list, evalCase{fmt.Sprint(d, shape, trans), "Gemm", 13, set, in, tensor.Shape{4, 5}, want})
			}
		}
	}
	one := in(counted(2, 1), counted(1, 2), f32s(10, 20))
	list = append(list,
		evalCase{"version 1", "Gemm", 1, []*graph.Attr{intAttr("broadcast", 1)}, one, tensor.Shape{2, 2}, []float64{10, 20, 10, 21}},
		evalCase{"beta 0 leaves NaN out", "Gemm", 11, []*graph.Attr{floatAttr("beta", 0)}, in(counted(1, 1), counted(1, 1), f32s(float32(nan))), tensor.Shape{1, 1}, []float64{0}},
		evalCase{"no terms", "Gemm", 13, nil, in(tensor.New(tensor.F32, 2, 0), tensor.New(tensor.F32, 0, 2), f32s(3, 4)), tensor.Shape{2, 2}, []float64{3, 4, 3, 4}},
		evalCase{"one column", "Gemm", 13, nil, in(counted(3, 2), counted(2, 1), from([]float32{1, 2, 3}, 3, 1)), tensor.Shape{3, 1}, []float64{2, 5, 8}},
	)
	runEvalCases(t, list)
}

// turned returns the transpose of a matrix.
func turned(t *tensor.Tensor) *tensor.Tensor {
	rows, cols, size := t.Shape()[0], t.Shape()[1], t.DType().Bits()/8
	out := tensor.New(t.DType(), cols, rows)
	for i := range rows {
		for j := range cols {
			copy(out.Bytes()[(j*rows+i)*size:][:size], t.Bytes()[(i*cols+j)*size:][:size])
		}
	}
	return out
}

func TestProductErrors(t *testing.T) {
	refused(t, []evalCase{
		{name: "scalar", op: "MatMul", version: 13, in: in(counted(), counted(2))},
		{name: "inner extents", op: "MatMul", version: 13, in: in(counted(2, 3), counted(4, 2))},
		{name: "batch extents", op: "MatMul", version: 13, in: in(counted(2, 2, 3), counted(3, 3, 2))},
		{name: "types", op: "MatMul", version: 13, in: in(counted(2, 2), tensor.New(tensor.F64, 2, 2))},
		{name: "int8", op: "MatMul", version: 13, in: in(i8s(1), i8s(1))},
		{name: "Gemm of three axes", op: "Gemm", version: 13, in: in(counted(1, 2, 2), counted(2, 2))},
		{name: "Gemm inner extents", op: "Gemm", version: 13, attrs: attrs("transA", 1), in: in(counted(2, 3), counted(3, 2))},
		{name: "C does not broadcast", op: "Gemm", version: 13, in: in(counted(2, 2), counted(2, 2), counted(3))},
		{name: "C has three axes", op: "Gemm", version: 13, in: in(counted(2, 2), counted(2, 2), counted(1, 2, 2))},
		{name: "no C before version 11", op: "Gemm", version: 9, in: in(counted(2, 2), counted(2, 2))},
	})
}

func TestProductDims(t *testing.T) {
	for _, c := range []struct {
		name string
		op   string
		set  []*graph.Attr
		in   []*op.Value
		want string
	}{
		{"symbols", "MatMul", nil, []*op.Value{of(tensor.F32, sym("batch", "seq", 768)), of(tensor.F32, sym(768, 3072))}, "float32[batch,seq,3072]"},
		{"vector by matrix", "MatMul", nil, []*op.Value{of(tensor.F32, sym(3)), of(tensor.F32, sym("b", 3, "n"))}, "float32[b,n]"},
		{"matrix by vector", "MatMul", nil, []*op.Value{of(tensor.F32, sym("b", "m", 3)), of(tensor.F32, sym("k"))}, "float32[b,m]"},
		{"vectors", "MatMul", nil, []*op.Value{of(tensor.F32, sym("k")), of(tensor.F32, sym("k"))}, "float32[]"},
		{"rank unknown", "MatMul", nil, []*op.Value{of(tensor.F16, nil), of(tensor.F16, sym(2, 2))}, "float16[...]"},
		{"Gemm", "Gemm", attrs("transA", 1, "transB", 1), []*op.Value{of(tensor.F32, sym("k", "m")), of(tensor.F32, sym("n", "k"))}, "float32[m,n]"},
		{"Gemm of unknowns", "Gemm", nil, []*op.Value{of(tensor.F32, nil), of(tensor.F32, sym(4, 5)), of(tensor.F32, nil)}, "float32[?,5]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &graph.Node{Op: c.op, Version: 13, Attrs: c.set, Inputs: []string{"a", "b", "c"}[:len(c.in)],
				Outputs: []string{"y"}}
			o, _, err := standard.Registry().New(n)
			if err != nil {
				t.Fatal(err)
			}
			out, err := kit.InferOutputs(o, n, c.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := out[0].Type.String(); got != c.want {
				t.Errorf("%s, not %s", got, c.want)
			}
		})
	}
}

// productElements lists the element types that products take.
func productElements(t *testing.T) op.Types {
	row, _, err := standard.Registry().Find(&graph.Node{Op: "MatMul", Version: 13})
	if err != nil {
		t.Fatal(err)
	}
	return row.Types
}

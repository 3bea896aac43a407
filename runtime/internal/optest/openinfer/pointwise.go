package openinfer

import (
	"math"
	"math/big"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// definition computes an operator on elements. A function is nil if the operator does not take such
// elements.
type definition struct {
	ints   func(bits int, x []*big.Int) *big.Int
	floats func(d tensor.DType, x []float64) float64
	// result is the type of the output; Invalid for the operands' type.
	result tensor.DType
}

// computed returns the output of a definition on tensors that broadcast.
func computed(f definition, out tensor.DType, list ...*tensor.Tensor) *tensor.Tensor {
	shape := tensor.Shape{}
	for _, t := range list {
		shape = cases.BroadcastShape(shape, t.Shape())
	}
	y, d := tensor.New(out, shape...), list[0].DType()
	whole, real := make([]*big.Int, len(list)), make([]float64, len(list))
	cases.Each(shape, func(i int, at []int) {
		for k, t := range list {
			from := cases.Flat(t.Shape(), cases.BroadcastIndex(t.Shape(), at)...)
			if d.IsFloat() {
				real[k] = floatAt(t, from)
			} else {
				whole[k] = intAt(t, from)
			}
		}
		switch {
		case !d.IsFloat():
			putInt(y, i, f.ints(d.Bits(), whole))
		case out.IsFloat():
			putFloat(y, i, narrow(d, f.floats(d, real)))
		default:
			putInt(y, i, big.NewInt(int64(f.floats(d, real))))
		}
	})
	return y
}

// wider lists the types to which acc may widen elements.
func wider(d tensor.DType) (list []tensor.DType) {
	for _, to := range cases.Integers {
		if d.IsInteger() && to.Kind() == d.Kind() && to.Bits() > d.Bits() {
			list = append(list, to)
		}
	}
	return list
}

// flushed is the error, by element type, in parts of a unit in the last place, that lets only
// subnormal results be 0. Some devices flush them.
var flushed = map[tensor.DType]float64{tensor.F32: 0x1p-103, tensor.BF16: 0x1p-119}

func truth(v bool) *big.Int { return big.NewInt(int64(cases.Truth(v))) }

// compared returns the definition of a comparison. f gives its result for the orders -1, 0 and 1,
// nan for a NaN.
func compared(f func(order int) bool, nan bool) definition {
	return definition{result: tensor.Bool,
		ints: func(_ int, x []*big.Int) *big.Int { return truth(f(x[0].Cmp(x[1]))) },
		floats: func(_ tensor.DType, x []float64) float64 {
			switch a, b := x[0], x[1]; {
			case a != a || b != b:
				return cases.Truth(nan)
			case a < b:
				return cases.Truth(f(-1))
			case a > b:
				return cases.Truth(f(1))
			}
			return cases.Truth(f(0))
		}}
}

// ofBits returns the definition of an operator on the bits of integers.
func ofBits(f func(z, x, y *big.Int) *big.Int) definition {
	return definition{ints: func(_ int, x []*big.Int) *big.Int { return f(new(big.Int), x[0], x[1]) }}
}

// ofTwo returns the definition of an arithmetic operator.
func ofTwo(whole func(z, x, y *big.Int) *big.Int, real func(a, b float64) float64) definition {
	f := ofBits(whole)
	f.floats = func(_ tensor.DType, x []float64) float64 { return real(x[0], x[1]) }
	return f
}

// pick returns the definition of the smaller (-1) or greater (1) of two elements.
func pick(order int) definition {
	return definition{
		ints: func(_ int, x []*big.Int) *big.Int {
			if x[0].Cmp(x[1]) == order {
				return x[0]
			}
			return x[1]
		},
		floats: func(_ tensor.DType, x []float64) float64 {
			a, b := x[0], x[1]
			if a != a || float64(order)*(b-a) > 0 || math.IsInf(b, order) || math.IsInf(a, -order) {
				if b != b {
					return a
				}
				return b
			}
			return a
		}}
}

var pairs = map[string]definition{
	"add": ofTwo((*big.Int).Add, func(a, b float64) float64 { return a + b }),
	"sub": ofTwo((*big.Int).Sub, func(a, b float64) float64 { return a - b }),
	"mul": ofTwo((*big.Int).Mul, func(a, b float64) float64 { return a * b }),
	"rem": {ints: func(_ int, x []*big.Int) *big.Int {
		if x[1].Sign() == 0 {
			return new(big.Int)
		}
		return new(big.Int).Rem(x[0], x[1])
	}},
	"and": ofBits((*big.Int).And),
	"or":  ofBits((*big.Int).Or),
	"xor": ofBits((*big.Int).Xor),
	"min": pick(-1),
	"max": pick(1),
	"eq":  compared(func(o int) bool { return o == 0 }, false),
	"ne":  compared(func(o int) bool { return o != 0 }, true),
	"lt":  compared(func(o int) bool { return o < 0 }, false),
	"le":  compared(func(o int) bool { return o <= 0 }, false),
	"gt":  compared(func(o int) bool { return o > 0 }, false),
	"ge":  compared(func(o int) bool { return o >= 0 }, false),
}

// takes returns the element types of a definition.
func (f definition) takes() (list []tensor.DType) {
	if f.floats != nil {
		list = append(list, floats...)
	}
	if f.ints != nil {
		list = append(list, integers...)
	}
	return list
}

func (f definition) makes(d tensor.DType) tensor.DType {
	if f.result != tensor.Invalid {
		return f.result
	}
	return d
}

func pairCases(s *cases.Suite) {
	for _, name := range names(pairs) {
		f := pairs[name]
		types := f.takes()
		switch name {
		case "and", "or", "xor", "eq", "ne":
			types = append(types, tensor.Bool)
		}
		for _, d := range types {
			pairCase(s, name, f, d, crossed)
			shapes := cases.ShapePairs
			if name != "add" { // all operators read their operands alike
				shapes = shapes[1:3]
			}
			for _, shapes := range shapes {
				pairCase(s, name, f, d, func(*cases.Suite, tensor.DType) (a, b *tensor.Tensor) {
					return some(s, d, shapes[0]...), some(s, d, shapes[1]...)
				})
			}
		}
	}
	a := some(s, tensor.I2, 3*1024+5)
	s.Add(cases.Case{Domain: domain, Op: "add", Version: 1, Note: "blocks", In: cases.In(a, a),
		Want: cases.Want(computed(pairs["add"], tensor.I2, a, a))})
	filterCases(s)
}

func pairCase(
	s *cases.Suite, name string, f definition, d tensor.DType,
	operands func(*cases.Suite, tensor.DType) (a, b *tensor.Tensor),
) {
	a, b := operands(s, d)
	s.Add(cases.Case{Domain: domain, Op: name, Version: 1, In: cases.In(a, b),
		Want: cases.Want(computed(f, f.makes(d), a, b)), Ulps: flushed[d]})
	if name != "add" && name != "sub" && name != "mul" {
		return
	}
	for _, acc := range wider(d) {
		s.Add(cases.Case{Domain: domain, Op: name, Version: 1, Note: "acc", Attrs: cases.Attrs("acc", acc.String()),
			In: cases.In(a, b), Want: cases.Want(computed(f, acc, a, b))})
	}
}

// filterCases adds the operators with three operands.
func filterCases(s *cases.Suite) {
	filter := definition{
		ints: func(_ int, x []*big.Int) *big.Int {
			if x[2].Sign() != 0 {
				return x[0]
			}
			return x[1]
		},
		floats: func(_ tensor.DType, x []float64) float64 {
			if x[2] != 0 {
				return x[0]
			}
			return x[1]
		},
	}
	for _, d := range all {
		for _, shape := range [][]int{{3, 7}, {}, {0}, {1030}} {
			a, b, c := some(s, d, shape...), some(s, d, shape...), some(s, d, shape...)
			s.Add(cases.Case{Domain: domain, Op: "filter", Version: 1, In: cases.In(a, b, c),
				Want: cases.Want(computed(filter, d, a, b, c))})
			if d.IsFloat() {
				s.Add(cases.Case{Domain: domain, Op: "fma", Version: 1, In: cases.In(a, b, c),
					Want: cases.Want(computed(definition{floats: fused}, d, a, b, c))})
			}
		}
	}
}

// fused returns x0·x1 + x2, rounded once.
func fused(d tensor.DType, x []float64) float64 {
	plain := x[0]*x[1] + x[2]
	for _, v := range append(x, x[0]*x[1]) {
		if v-v != 0 {
			return plain
		}
	}
	product := new(big.Float).SetPrec(4096).Mul(big.NewFloat(x[0]), big.NewFloat(x[1]))
	sum := product.Add(product, big.NewFloat(x[2]))
	if sum.Sign() == 0 {
		return plain
	}
	if d == tensor.F64 {
		v, _ := sum.Float64()
		return v
	}
	v, _ := sum.Float32()
	return float64(v)
}

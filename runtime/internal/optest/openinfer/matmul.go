package openinfer

import (
	"math"
	"math/big"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var products = [][2][]int{
	{{2, 3}, {3, 4}}, {{1, 1}, {1, 1}}, {{3, 0}, {0, 2}}, {{0, 3}, {3, 2}}, {{2, 3, 5}, {5, 7}}, {{3, 5}, {2, 1, 5, 3}}, {{2, 1, 2, 3}, {3, 3, 2}},
	{{35, 67}, {67, 5}}, {{3, 2}, {2, 259}},
}

func matmulCases(s *cases.Suite) {
	for _, d := range all {
		for i, shapes := range products {
			a, b := some(s, d, shapes[0]...), some(s, d, shapes[1]...)
			if d.IsFloat() {
				a, b = s.Between(tensor.F32, -3, 3, shapes[0]...), s.Between(tensor.F32, -3, 3, shapes[1]...)
				a, b = asType(d, a), asType(d, b)
			}
			matmulCase(s, a, b, d)
			for _, acc := range wider(d) {
				if i%2 == 0 {
					matmulCase(s, a, b, acc)
				}
			}
		}
	}
	x := some(s, tensor.I4, 2, 3)
	s.Add(cases.Case{Domain: domain, Op: "matmul", Version: 1, Note: "rows", In: cases.In(x, x), Fails: graph.ErrShape})
	s.Add(cases.Case{Domain: domain, Op: "matmul", Version: 1, Note: "vector", In: cases.In(x, some(s, tensor.I4, 3)),
		Fails: graph.ErrShape})
}

func asType(d tensor.DType, x *tensor.Tensor) *tensor.Tensor {
	t := tensor.New(d, x.Shape()...)
	for i := range t.Len() {
		putFloat(t, i, cases.Number(x, i))
	}
	return t
}

func matmulCase(s *cases.Suite, a, b *tensor.Tensor, out tensor.DType) {
	d, as, bs := a.DType(), a.Shape(), b.Shape()
	i, j := len(as)-2, len(bs)-2
	lead := cases.BroadcastShape(as[:i], bs[:j])
	y := tensor.New(out, append(lead.Clone(), as[i], bs[j+1])...)
	cases.Each(y.Shape(), func(flat int, at []int) {
		row, column := at[len(lead)], at[len(lead)+1]
		la, lb := cases.BroadcastIndex(as[:i], at[:len(lead)]), cases.BroadcastIndex(bs[:j], at[:len(lead)])
		whole, real := new(big.Int), 0.0
		for k := range as[i+1] {
			p, q := cases.Flat(as, append(la[:i:i], row, k)...), cases.Flat(bs, append(lb[:j:j], k, column)...)
			if d.IsFloat() {
				real = narrow(d, real+narrow(d, floatAt(a, p)*floatAt(b, q)))
			} else {
				whole.Add(whole, new(big.Int).Mul(intAt(a, p), intAt(b, q)))
			}
		}
		if d.IsFloat() {
			putFloat(y, flat, real)
		} else {
			putInt(y, flat, whole)
		}
	})
	var attrs cases.AttrList
	if out != d {
		attrs = cases.Attrs("acc", out.String())
	}
	s.Add(cases.Case{Domain: domain, Op: "matmul", Version: 1, Attrs: attrs, In: cases.In(a, b), Want: cases.Want(y)})
}

// castMakes lists the types to which elements can be cast.
func castMakes(d tensor.DType) []tensor.DType {
	if d.IsFloat() {
		return append(append([]tensor.DType{}, floats...), cases.Integers...)
	}
	return append(append([]tensor.DType{}, floats...), wider(d)...)
}

var roundings = map[string]func(float64) float64{"": math.Trunc, "trunc": math.Trunc, "floor": math.Floor,
	"ceil": math.Ceil, "nearest": math.Round}

func castCases(s *cases.Suite) {
	for _, d := range numbers {
		for _, to := range castMakes(d) {
			for _, mode := range names(roundings) {
				attrs := cases.Attrs("to", to.String())
				if mode != "" {
					attrs = append(attrs, cases.Attrs("rounding_mode", mode)...)
				}
				for _, x := range []*tensor.Tensor{edges(s, d), some(s, d, 3, 5)} {
					s.Add(cases.Case{Domain: domain, Op: "cast", Version: 1, Attrs: attrs, In: cases.In(x),
						Want: cases.Want(castTo(x, to, roundings[mode]))})
				}
			}
		}
	}
}

func castTo(x *tensor.Tensor, to tensor.DType, round func(float64) float64) *tensor.Tensor {
	y := tensor.New(to, x.Shape()...)
	for i := range x.Len() {
		switch d := x.DType(); {
		case d.IsInteger() && to.IsInteger():
			putInt(y, i, intAt(x, i))
		case d.IsInteger(): // through float64
			v, _ := new(big.Float).SetInt(intAt(x, i)).Float64()
			putFloat(y, i, v)
		case to.IsFloat():
			putFloat(y, i, floatAt(x, i))
		default:
			putInt(y, i, nearestInt(round(floatAt(x, i)), to))
		}
	}
	return y
}

// nearestInt returns the integer of type d nearest to a whole number, or 0 for NaN.
func nearestInt(v float64, d tensor.DType) *big.Int {
	low, high := limits(d)
	switch {
	case v != v:
		return new(big.Int)
	case math.IsInf(v, 1):
		return high
	case math.IsInf(v, -1):
		return low
	}
	whole, _ := big.NewFloat(v).Int(nil)
	return limited(whole, low, high)
}

// refusedCases adds attributes and types that no operator takes.
func refusedCases(s *cases.Suite) {
	x, y := some(s, tensor.I4, 3), some(s, tensor.F32, 3)
	refuse := func(op, note string, kind error, attrs cases.AttrList, in ...*tensor.Tensor) {
		s.Add(cases.Case{Domain: domain, Op: op, Version: 1, Note: note, Attrs: attrs, In: in, Fails: kind})
	}
	refuse("add", "types", graph.ErrShape, nil, x, y)
	refuse("add", "shapes", graph.ErrShape, nil, x, some(s, tensor.I4, 2))
	refuse("add", "acc", graph.ErrUnsupported, cases.Attrs("acc", "uint8"), x, x)
	refuse("add", "acc", graph.ErrFormat, cases.Attrs("acc", "int4"), x, x)
	refuse("sum_axis", "acc", graph.ErrUnsupported, cases.Attrs("axes", []int{0}, "acc", "int8"), y)
	refuse("sum_axis", "axis", graph.ErrShape, cases.Attrs("axes", []int{1}), x)
	refuse("sum_axis", "twice", graph.ErrShape, cases.Attrs("axes", []int{0, -1}), x)
	refuse("matmul", "acc", graph.ErrUnsupported, cases.Attrs("acc", "uint8"), some(s, tensor.I4, 2, 2),
		some(s, tensor.I4, 2, 2))
	refuse("argmax_axis", "axes", graph.ErrFormat, cases.Attrs("axes", []int{0, 0}), x)
	refuse("cast", "to", graph.ErrFormat, nil, x)
	refuse("cast", "to", graph.ErrUnsupported, cases.Attrs("to", "uint8"), x)
	refuse("cast", "mode", graph.ErrFormat, cases.Attrs("to", "int8", "rounding_mode", "even"), y)
	refuse("shl", "bits", graph.ErrFormat, nil, x)
	refuse("fill", "value", graph.ErrFormat, nil, x)
	refuse("fill", "value", graph.ErrShape, nil, x, cases.Ints(1, 2))
	refuse("floor", "type", graph.ErrUnsupported, nil, x)
	refuse("is_finite", "type", graph.ErrUnsupported, nil, x)
}

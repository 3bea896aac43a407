package openinfer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// source makes operands with elements on which implementations are likely to differ.
type source struct {
	*rand.Rand
	tame bool // sums and products of floats are finite
}

func (s source) tensor(d dtype, dims ...int) *tensor.Tensor {
	t := tensor.New(d.tensor(), dims...)
	for i := range t.Len() {
		s.set(t, d, i)
	}
	if used := t.Len() * d.bits() % 8; used > 0 {
		t.Bytes()[len(t.Bytes())-1] &= 1<<used - 1
	}
	return t
}

// set sets an element to random bits or to a value at the ends of the type.
func (s source) set(t *tensor.Tensor, d dtype, i int) {
	switch {
	case d.isPacked():
		t.Bytes()[i*d.bits()/8] = byte(s.Uint32())
	case d == dtF8:
		t.Bytes()[i] = byte(s.Uint32())
	case d == dtBool:
		t.Bytes()[i] = byte(s.IntN(2))
	case d.isFloat():
		list := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 1.5, -2.5, 0.49999997, 3.7, -3.7, 127.5, -129, 1e10, -1e19, 1e30, math.NaN(), math.Inf(1), math.Inf(-1), s.NormFloat64(), s.NormFloat64() * 100}
		if s.tame {
			list = list[len(list)-2:]
		}
		one := tensor.New(d.tensor())
		setScalar(one, list[s.IntN(len(list))])
		copy(t.Bytes()[i*d.bits()/8:], one.Bytes())
	default:
		top := uint64(1) << (d.bits() - 1)
		list := []uint64{0, 1, 2, ^uint64(0), ^uint64(6), top, top - 1, top + 1, s.Uint64(), s.Uint64(), s.Uint64()}
		one := tensor.New(d.tensor())
		setScalar(one, list[s.IntN(len(list))])
		copy(t.Bytes()[i*d.bits()/8:], one.Bytes())
	}
}

// attrSets returns attributes to try an operator with, including the required ones.
func attrSets(row *opRow, d dtype) [][]attr {
	number := func(v any) any {
		if i, ok := v.(int64); ok && d.isFloat() {
			return float64(i) + 0.25
		}
		return v
	}
	switch row.word {
	case "div", "recip", "floor_div":
		return [][]attr{nil, {{"div_by_zero_mask", number(int64(3))}}, {{"div_by_zero_mask", variable(d)}}}
	case "relu":
		return [][]attr{nil, {{"alpha", number(int64(2))}}, {{"clamp_max", number(int64(3))}},
			{{"alpha", number(int64(-1))}, {"clamp_max", variable(d)}}, {{"alpha", variable(d)}}}
	case "clamp":
		return [][]attr{nil, {{"min", number(int64(0))}}, {{"max", number(int64(1))}}, {{"min", number(int64(2))}, {"max", variable(d)}}, {{"min", int64(-1)}, {"max", uint64(1 << 40)}}}
	case "shl", "shr":
		return [][]attr{{{"bits", int64(1)}}, {{"bits", uint64(9)}}, {{"bits", variable(dtI32)}}}
	case "fill":
		return [][]attr{{{"value", number(int64(1))}}, {{"value", true}}, {{"value", uint64(math.MaxUint64)}}, {{"value", int64(-1)}}, {{"value", variable(d)}}, {{"value", 2.75}}}
	case "argmax_axis", "argmin_axis":
		return [][]attr{{{"axis", int64(1)}}, {{"axis", int64(-3)}, {"keepdims", true}}, {{"axis", uint64(2)}, {"select_first", false}}}
	case "sum_axis", "mean_axis", "prod_axis", "max_axis", "min_axis":
		return [][]attr{{{"axes", []int64{1}}}, {{"axes", []int64{-1, 0, 2}}, {"keepdims", true}}, {{"keepdims", false}, {"axes", []int64{0}}}}
	case "cast":
		var sets [][]attr
		for _, to := range (floats | integers).list() {
			if castable(d, to) != nil {
				continue
			}
			for _, mode := range []string{"trunc", "floor", "ceil", "nearest"} {
				if mode != "trunc" && !(d.isFloat() && to.isInt()) {
					continue
				}
				sets = append(sets, []attr{{"to", to}, {"rounding_mode", mode}, {"saturate", mode == "floor"}})
			}
		}
		return sets
	}
	return [][]attr{nil}
}

// variable returns a scalar input of a graph. Its type suits elements of type d.
func variable(d dtype) operand {
	switch {
	case d == dtF8:
		d = dtF16
	case d.isPacked():
		d = dtI8
	}
	return operand{dtype: d}
}

// shapesOf returns the shapes to try an operator with.
func shapesOf(row *opRow) [][][]int {
	switch {
	case row.word == "matmul":
		return [][][]int{{{3, 5}, {5, 7}}, {{2, 1, 3, 4}, {3, 4, 2}}}
	case row.attrs != nil && (row.attrs[0].kind == kindAxes || row.attrs[0].kind == kindAxis):
		return [][][]int{{{3, 5, 7}}, {{2, 1, 3}}}
	case row.inputs == 2 && row.has(inPlace) && row.types.has(dtF32):
		c := &call{opRow: row, inputs: []operand{{dims: []int{3}}, {dims: []int{1}}}}
		if _, err := row.extents(c); err == nil {
			return [][][]int{{{4, 33}, {4, 33}}, {{5, 1, 3}, {7, 1}}, {{}, {9}}}
		}
	}
	same := func(dims ...int) [][]int { return [][]int{dims, dims, dims}[:row.inputs] }
	return [][][]int{same(7, 19), same(), same(0, 2)}
}

// trialsOf returns calls of an operator on elements of a type.
func trialsOf(t *testing.T, s source, row *opRow, d dtype) (list []trial) {
	for _, attrs := range attrSets(row, d) {
		for _, shapes := range shapesOf(row) {
			tr := trial{name: fmt.Sprint(row.word, " ", d, shapes, attrs), word: row.word, attrs: attrs, in: d, vars: map[string]*tensor.Tensor{}}
			c := &call{opRow: row, attrs: map[string]any{}}
			for _, dims := range shapes {
				x := s.tensor(d, dims...)
				tr.inputs = append(tr.inputs, x)
				c.inputs = append(c.inputs, operand{"", d, dims})
			}
			for _, a := range attrs {
				c.attrs[a.name] = a.value
				if v, ok := a.value.(operand); ok {
					tr.vars[a.name] = tensor.New(v.dtype.tensor())
					setScalar(tr.vars[a.name], map[bool]any{true: 2.5, false: int64(2)}[v.dtype.isFloat()])
				}
			}
			dims, err := row.extents(c)
			if err != nil {
				t.Fatal(tr.name, err)
			}
			tr.dims, tr.out = dims, d
			if row.result != noType {
				tr.out = row.result
			} else if to, ok := c.attrs["to"].(dtype); ok {
				tr.out = to
			}
			list = append(list, tr)
		}
	}
	return list
}

// loose lists the operators with float results that depend on the order of additions.
var loose = map[string]bool{"matmul": true, "sum_axis": true, "mean_axis": true, "prod_axis": true, "fma": true}

// TestLowered compares the standard nodes of calls with nodes of the domain openinfer. The
// operators' own tests check the latter.
func TestLowered(t *testing.T) {
	s := source{Rand: rand.New(rand.NewPCG(7, 11))}
	for i := range ops {
		row := &ops[i]
		if row.lowered == nil || row.word == "is_nan" || row.word == "is_inf" {
			continue
		}
		s.tame = row.word == "matmul"
		t.Run(row.word, func(t *testing.T) {
			var lowered, own []trial
			for _, d := range row.types.list() {
				if d == dtBitset || d == dtBool && (row.word == "add" || row.word == "mul") {
					continue // the same as u8, or, and and
				}
				for _, tr := range trialsOf(t, s, row, d) {
					lowered = append(lowered, tr)
					tr.own = true
					own = append(own, tr)
				}
			}
			got, want := run(t, lowered), run(t, own)
			for k, tr := range lowered {
				by := exact
				if loose[row.word] {
					by = map[dtype]tolerance{dtF32: {1e-5, 1e-5}, dtF64: {1e-12, 1e-12}, dtF16: {0, 2e-3}, dtBF16: {0, 1.6e-2}}[tr.out]
				}
				if where := differs(tr.out, got[k], want[k], by); where != "" {
					t.Errorf("%s: %s", tr.name, where)
				}
			}
		})
	}
}

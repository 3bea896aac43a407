package attention

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// codesCases adds the operators that extend caches of int8 and read them, with new rows, queries or
// results of type d.
func codesCases(s *cases.Suite, d tensor.DType) {
	for _, past := range []int{0, 5} {
		for _, axis := range []int{0, 1, 2} {
			appendedCodes(s, d, past, axis)
		}
	}
	const batch, heads, size = 2, 3, 36
	codes := pastOf(tensor.I8, byHead(s.Any(d, batch, heads, 7, size)), batch, heads, 7, size)
	wide := fromCache(codes)
	floats := cases.Filled(d, func(at []int) float64 { return wide(at[0], at[1], at[2], at[3]) }, batch, heads, 7, size)
	s.Add(cases.Case{Domain: "nacre", Op: "WidenCodes", Version: 1, In: cases.In(codes), Want: cases.Want(floats),
		Attrs: cases.Attrs("to", d.Code())})
	for _, queries := range []int{1, 30} {
		codedAttention(s, d, queries)
	}
}

// appendedCodes adds a case of new rows along an axis of a cache [2,3,4,row].
func appendedCodes(s *cases.Suite, d tensor.DType, past, axis int) {
	const size = 36
	before, rows, all := []int{2, 3, 4}, []int{2, 3, 4}, []int{2, 3, 4}
	before[axis] = past
	all[axis] += past
	x := s.Any(d, append(rows[:3:3], size)...)
	codes := pastOf(tensor.I8, byHead(s.Any(d, append(before[:3:3], size)...)), before[0], before[1], before[2], size)
	old := fromCache(codes)
	want := cacheOf(tensor.I8, func(b, h, r, i int) float64 {
		at := []int{b, h, r}
		if at[axis] < past {
			return old(b, h, r, i)
		}
		at[axis] -= past
		return byHead(x)(at[0], at[1], at[2], i)
	}, all[0], all[1], all[2], size)
	s.Add(cases.Case{Domain: "nacre", Op: "AppendCodes", Version: 1, In: cases.In(codes, x), Want: cases.Want(want),
		Attrs: cases.Attrs("axis", axis-4)})
}

// codedAttention adds cases of attention with keys and values of int8.
func codedAttention(s *cases.Suite, d tensor.DType, queries int) {
	const batch, heads, keys, size = 2, 2, 41, 40
	q := s.Any(d, batch, heads, queries, size)
	var codes [2]*tensor.Tensor
	for i := range codes {
		codes[i] = pastOf(tensor.I8, byHead(s.Any(d, batch, heads, keys, size)), batch, heads, keys, size)
	}
	a := &Attention{Batch: batch, Heads: heads, KVHeads: heads, Queries: queries, Keys: keys, D: size, DV: size,
		Q: byHead(q), K: fromCache(codes[0]), V: fromCache(codes[1]), Scale: 0.125,
		Score: func(_, _, _, _ int) float64 { return 0 }}
	out, _ := a.Run()
	list := cases.In(q, codes[0], codes[1])
	want := cases.Want(cases.Filled(d, func(at []int) float64 { return out(at[0], at[1], at[2], at[3]) }, q.Shape()...))
	s.Add(cases.Case{Domain: "nacre", Op: "ComposedAttention", Version: 1, Note: "codes", In: list, Want: want, Ulps: 64,
		Attrs: cases.Attrs("scale", 0.125)})
	s.Add(cases.Case{Domain: "nacre", Op: "NarrowAttention", Version: 23, Note: "codes", In: list, Want: want, Ulps: 64,
		Attrs: cases.Attrs("scale", 0.125)})
	s.Add(cases.Case{Op: "Attention", Version: 23, Note: "codes", In: list, Fails: graph.ErrUnsupported})
	s.Add(cases.Case{Domain: "nacre", Op: "NarrowMultiHeadAttention", Version: 1, Note: "codes", In: list, Ulps: 64,
		Want:  cases.Want(PackedRows(d, out, batch, heads, queries, size)),
		Attrs: cases.Attrs("num_heads", heads, "scale", 0.125)})
	oneHead(s, a, d, q, codes)
}

// oneHead adds a case of the operands of a as one head each, without an axis of heads.
func oneHead(s *cases.Suite, a *Attention, d tensor.DType, q *tensor.Tensor, codes [2]*tensor.Tensor) {
	merged := func(t *tensor.Tensor) *tensor.Tensor {
		s := t.Shape()
		y, err := t.Reshape(tensor.Shape{s[0] * s[1], s[2], s[3]})
		if err != nil {
			panic(err)
		}
		return y
	}
	out, _ := a.Run()
	want := cases.Filled(d, func(at []int) float64 { return out(at[0]/a.Heads, at[0]%a.Heads, at[1], at[2]) },
		a.Batch*a.Heads, a.Queries, a.DV)
	s.Add(cases.Case{Domain: "nacre", Op: "ComposedAttention", Version: 1, Note: "codes of one head", Ulps: 64,
		In: cases.In(merged(q), merged(codes[0]), merged(codes[1])), Want: cases.Want(want),
		Attrs: cases.Attrs("scale", 0.125, "q_num_heads", 1, "kv_num_heads", 1)})
}

// codesRefused adds nodes that do not take their codes.
func codesRefused(s *cases.Suite) {
	codes := tensor.New(tensor.I8, 1, 2, 3, 34)
	for _, x := range []struct {
		note string
		rows *tensor.Tensor
		axis int
	}{
		{"rows of another size", s.Any(tensor.F32, 1, 2, 1, 33), -2}, {"another batch", s.Any(tensor.F32, 2, 2, 1, 32), -2},
		{"another rank", s.Any(tensor.F32, 2, 1, 32), -2}, {"along a row", s.Any(tensor.F32, 1, 2, 3, 32), 3},
	} {
		s.Add(cases.Case{Domain: "nacre", Op: "AppendCodes", Version: 1, Note: x.note, In: cases.In(codes, x.rows),
			Fails: graph.ErrShape, Attrs: cases.Attrs("axis", x.axis)})
	}
	s.Add(cases.Case{Domain: "nacre", Op: "WidenCodes", Version: 1, Note: "no whole scales", Fails: graph.ErrShape,
		In: cases.In(tensor.New(tensor.I8, 2, 35))})
	s.Add(cases.Case{Domain: "nacre", Op: "WidenCodes", Version: 1, Note: "to integers", Fails: graph.ErrUnsupported,
		In: cases.In(codes), Attrs: cases.Attrs("to", tensor.I32.Code())})
	s.Add(cases.Case{Domain: "nacre", Op: "NarrowMultiHeadAttention", Version: 1, Note: "codes and a bias",
		Fails: graph.ErrUnsupported,
		In: cases.In(s.Any(tensor.F32, 1, 2, 32), tensor.New(tensor.I8, 1, 3, 34), tensor.New(tensor.I8, 1, 3, 34),
			s.Any(tensor.F32, 96)), Attrs: cases.Attrs("num_heads", 1)})
}

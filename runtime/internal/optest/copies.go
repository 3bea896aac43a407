package optest

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// copied says which version of a standard operator one of com.microsoft is.
var copied = map[string]int{"Pad": 13, "Range": 11, "Trilu": 14, "GatherND": 11, "GridSample": 16}

// copies are the cases of such operators, for com.microsoft.
func copies(list []*Case) []*Case {
	var out []*Case
	for _, c := range list {
		v := copied[c.Op]
		if c.Domain != "" || v == 0 || c.Version > v || c.Until != 0 && c.Until <= v || !Rows()[rowKey(microsoft, c.Op)].Types.Has(c.In[0].DType()) {
			continue
		}
		if c.Op == "GridSample" && slices.ContainsFunc(c.Attrs, func(a *graph.Attr) bool { return string(a.Str) == "bicubic" }) {
			continue // places beyond the border differ
		}
		same := *c
		same.Domain, same.Version, same.Until = microsoft, 1, 0
		out = append(out, &same)
	}
	return out
}

// copyCases are small operators of com.microsoft.
func copyCases(s *suite) {
	s.add(Case{Domain: microsoft, Op: "Range", Version: 1, Note: "by one", In: in(scalar(tensor.I64, 3), scalar(tensor.I64, 6)), Want: want(ints(3, 4, 5))})
	x := s.any(tensor.F32, 2, 3)
	one := func(i int) *tensor.Tensor { return scalar(tensor.I32, float64(i)) }
	for _, d := range tensor.DTypes() {
		x := s.any(d, 2, 3)
		s.add(Case{Domain: microsoft, Op: "ExpandDims", Version: 1, In: in(x, one(1)), Want: want(seen(x, 2, 1, 3))})
	}
	s.add(Case{Domain: microsoft, Op: "ExpandDims", Version: 1, Note: "from the end", In: in(x, one(-1)), Want: want(seen(x, 2, 3, 1))})
	s.add(Case{Domain: microsoft, Op: "ExpandDims", Version: 1, Note: "beyond", In: in(x, one(3)), Fails: graph.ErrShape})
	s.add(Case{Domain: microsoft, Op: "ExpandDims", Version: 1, Note: "two", In: in(x, ints(0, 1)), Fails: graph.ErrShape})
	for _, d := range append(slices.Clone(numeric), tensor.Bool) {
		given := s.between(d, 0, 1, 9)
		setNumber(given, 0, 1)
		setNumber(given, 1, 0)
		list := numbers(given)
		of, counts := make([]int, 9), make([]int, 2)
		for i, v := range list {
			of[i] = 1 - int(math.Round(v))
			setNumber(given, i, float64(1-of[i]))
			counts[of[i]]++
		}
		s.add(Case{Domain: microsoft, Op: "Unique", Version: 1, In: in(given), Want: want(vector(d, 1, 0), ints(of...), ints(counts...))})
	}
	text, _ := tensor.FromStrings([]string{"b", "a", "b"}, 3)
	short, _ := tensor.FromStrings([]string{"b", "a"}, 2)
	s.add(Case{Domain: microsoft, Op: "Unique", Version: 1, In: in(text), Want: want(short, ints(0, 1, 0), ints(2, 1))})
	s.add(Case{Domain: microsoft, Op: "Unique", Version: 1, Note: "two axes", In: in(x), Fails: graph.ErrFormat})
	for _, d := range floats {
		inverses(s, d)
		a, b := s.any(d, 4, 3), s.any(d, 5, 4)
		y := filled(d, func(at []int) float64 {
			sum := 0.0
			for p := range 4 {
				sum += number(a, p*3+at[0]) * number(b, at[1]*4+p)
			}
			return sum / 2
		}, 3, 5)
		s.add(Case{Domain: microsoft, Op: "TransposeMatMul", Version: 1, Attrs: attrs("alpha", 0.5, "transA", 1, "transB", 1), In: in(a, b), Want: want(y), Ulps: 32})
	}
	for _, d := range []tensor.DType{tensor.F32, tensor.F64} {
		a, b := s.any(d, 3, 17), s.any(d, 5, 17)
		for metric, f := range map[string]func(x float64) float64{"euclidean": math.Sqrt, "sqeuclidean": func(x float64) float64 { return x }} {
			y := filled(d, func(at []int) float64 {
				sum := 0.0
				for p := range 17 {
					sum += math.Pow(number(a, at[0]*17+p)-number(b, at[1]*17+p), 2)
				}
				return f(sum)
			}, 3, 5)
			s.add(Case{Domain: microsoft, Op: "CDist", Version: 1, Note: metric, Attrs: attrs("metric", metric), In: in(a, b), Want: want(y), Ulps: 32})
		}
		s.add(Case{Domain: microsoft, Op: "CDist", Version: 1, Note: "rows", In: in(a, s.any(d, 5, 16)), Fails: graph.ErrShape})
		s.add(Case{Domain: microsoft, Op: "CDist", Version: 1, Note: "metric", Attrs: attrs("metric", "cosine"), In: in(a, b), Fails: graph.ErrUnsupported})
	}
	tokens, scores := seen(ints(1, 2, 0, 1, 2, 3, 3, 3, 3, 3), 2, 5), s.any(tensor.F32, 2, 4)
	y := scores.Clone()
	setNumber(y, 0, math.Inf(-1))
	setNumber(y, 7, math.Inf(-1))
	s.add(Case{Domain: microsoft, Op: "NGramRepeatBlock", Version: 1, Attrs: attrs("ngram_size", 3), In: in(tokens, scores), Want: want(y)})
	s.add(Case{Domain: microsoft, Op: "NGramRepeatBlock", Version: 1, Note: "no size", In: in(tokens, scores), Fails: graph.ErrFormat})
	s.add(Case{Domain: microsoft, Op: "NGramRepeatBlock", Version: 1, Note: "outside", Attrs: attrs("ngram_size", 1),
		In: in(seen(ints(0, 4), 2, 1), scores), Fails: graph.ErrShape})
}

// inverses are of matrices whose inverses are known.
func inverses(s *suite, d tensor.DType) {
	const n = 6
	x, y := tensor.New(d, 3, n, n), tensor.New(d, 3, n, n)
	for b := range 3 {
		for i := range n {
			// A permutation, scaled: its inverse goes back and scales back.
			to := (i*5 + b) % n
			setNumber(x, (b*n+i)*n+to, float64(int(2)<<i))
			setNumber(y, (b*n+to)*n+i, 1/float64(int(2)<<i))
		}
	}
	s.add(Case{Domain: microsoft, Op: "Inverse", Version: 1, In: in(x), Want: want(y), Ulps: 1})
	m, inv := fromNumbers(d, []float64{4, 2, 7, 6}, 2, 2), fromNumbers(d, []float64{0.6, -0.2, -0.7, 0.4}, 2, 2)
	s.add(Case{Domain: microsoft, Op: "Inverse", Version: 1, Note: "two", In: in(m), Want: want(inv), Ulps: 4})
	s.add(Case{Domain: microsoft, Op: "Inverse", Version: 1, Note: "not square", In: in(s.any(d, 2, 3)), Fails: graph.ErrShape})
}

package attention

import (
	"fmt"
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func attentionCases(s *cases.Suite) {
	for _, d := range cases.Floats {
		standardAttention(s, d)
		for _, queries := range []int{3, 30} {
			composedAttention(s, d, queries, 0)
			composedAttention(s, d, queries, 1)
		}
		gatedCases(s, d)
	}
	attentionShapes(s)
	for _, d := range cases.NarrowFloats {
		codesCases(s, d)
		rotaryCases(s, d, "", 23)
		rotaryCases(s, d, "com.microsoft", 1)
		linearAttentionCases(s, d, "", 27)
		linearAttentionCases(s, d, "com.microsoft", 1)
		causalConvCases(s, d, "", 27)
		causalConvCases(s, d, "com.microsoft", 1)
	}
	codesRefused(s)
	tensorScatterCases(s)
}

// Headed reads element [batch,head,row,i] of a tensor in any layout.
type Headed func(b, h, r, i int) float64

// byHead reads [batch,heads,rows,size].
func byHead(t *tensor.Tensor) Headed {
	return func(b, h, r, i int) float64 { return cases.Number(t, cases.Flat(t.Shape(), b, h, r, i)) }
}

// byRow reads [batch,rows,heads*size].
func byRow(t *tensor.Tensor, heads int) Headed {
	size := t.Shape()[2] / heads
	return func(b, h, r, i int) float64 { return cases.Number(t, cases.Flat(t.Shape(), b, r, h*size+i)) }
}

// Attention describes attention. Score returns the term added to the score of query i and key j,
// -inf to mask the key.
type Attention struct {
	Batch, Heads, KVHeads, Queries, Keys, D, DV int
	Q, K, V                                     Headed
	Scale, cap                                  float64
	Score                                       func(b, h, i, j int) float64
	sink                                        func(h int) float64 // nil for none
}

// Run returns the output [batch,heads,queries,dv] and the scores of the four stages.
func (a *Attention) Run() (out func(b, h, i, e int) float64, stages [4]func(b, h, i, j int) float64) {
	at := func(b, h, i int) int { return (b*a.Heads+h)*a.Queries + i }
	rows := make([][4][]float64, a.Batch*a.Heads*a.Queries)
	for b := range a.Batch {
		for h := range a.Heads {
			for i := range a.Queries {
				rows[at(b, h, i)] = a.row(b, h, i)
			}
		}
	}
	for s := range stages {
		stages[s] = func(b, h, i, j int) float64 { return rows[at(b, h, i)][s][j] }
	}
	return func(b, h, i, e int) float64 {
		sum := 0.0
		for j, w := range rows[at(b, h, i)][3] {
			sum += w * a.V(b, h*a.KVHeads/a.Heads, j, e)
		}
		return sum
	}, stages
}

func (a *Attention) row(b, h, i int) (stages [4][]float64) {
	top, sum := math.Inf(-1), 0.0
	if a.sink != nil {
		top, sum = a.sink(h), 1
	}
	for j := range a.Keys {
		s := 0.0
		for e := range a.D {
			s += a.Q(b, h, i, e) * a.K(b, h*a.KVHeads/a.Heads, j, e)
		}
		s *= a.Scale
		stages[0] = append(stages[0], s)
		if a.cap > 0 {
			s = a.cap * math.Tanh(s/a.cap)
		}
		stages[1] = append(stages[1], s)
		s += a.Score(b, h, i, j)
		stages[2] = append(stages[2], s)
		if s > top {
			sum *= math.Exp(top - s)
			top = s
		}
		if !math.IsInf(s, -1) {
			sum += math.Exp(s - top)
		}
	}
	for _, s := range stages[2] {
		w := 0.0
		if !math.IsInf(s, -1) {
			w = math.Exp(s-top) / sum
		}
		stages[3] = append(stages[3], w)
	}
	return stages
}

// Ulps is the error that rounding may cause in sums of a few dozen terms, apart from the rounding
// of scores to the type itself.
const Ulps = 24

// standardAttention adds cases of the standard's operator: with few and with many queries, with and
// without a cache.
func standardAttention(s *cases.Suite, d tensor.DType) {
	for _, c := range []struct {
		note                                          string
		heads, kvHeads, queries, keys, past, size, dv int
	}{
		{"few queries", 4, 4, 3, 7, 0, 8, 5},
		{"grouped heads", 6, 2, 2, 9, 4, 8, 8},
		{"many queries", 2, 2, 19, 21, 0, 10, 7},
		{"many queries, grouped", 4, 2, 37, 50, 6, 16, 33},
	} {
		for _, causal := range []int{0, 1} {
			n := []int{2, c.heads, c.kvHeads, c.queries, c.keys, c.past, c.size, c.dv}
			attentionCase(s, d, d, c.note, n, causal)
			for _, cache := range narrowTypes(d) {
				if d != tensor.F64 && c.past > 0 {
					attentionCase(s, d, cache, c.note, n, causal)
				}
			}
		}
	}
}

// attentionCase adds cases with operands of type d and a cache of type cache.
func attentionCase(s *cases.Suite, d, cache tensor.DType, note string, n []int, causal int) {
	batch, heads, kvHeads, queries, keys, past, size, dv := n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]
	q, k, v := s.Any(d, batch, heads, queries, size), s.Any(d, batch, kvHeads, keys, size),
		s.Any(d, batch, kvHeads, keys, dv)
	mask := s.Any(d, 1, heads, queries, past+keys)
	list := cases.In(q, k, v, mask)
	allK, allV := k, v
	if past > 0 {
		pastK := pastOf(cache, byHead(s.Any(d, batch, kvHeads, past, size)), batch, kvHeads, past, size)
		pastV := pastOf(cache, byHead(s.Any(d, batch, kvHeads, past, dv)), batch, kvHeads, past, dv)
		list = append(list, pastK, pastV)
		allK = cacheOf(cache, after(pastK, past, byHead(k)), batch, kvHeads, past+keys, size)
		allV = cacheOf(cache, after(pastV, past, byHead(v)), batch, kvHeads, past+keys, dv)
	}
	a := &Attention{Batch: batch, Heads: heads, KVHeads: kvHeads, Queries: queries, Keys: past + keys, D: size, DV: dv,
		Q: byHead(q), K: fromCache(allK), V: fromCache(allV), Scale: 0.25, cap: 4,
		Score: func(_, h, i, j int) float64 {
			if causal == 1 && j > i+past {
				return math.Inf(-1)
			}
			return cases.Number(mask, cases.Flat(mask.Shape(), 0, h, i, j))
		}}
	out, stages := a.Run()
	at := func(f func(b, h, i, j int) float64) func(at []int) float64 {
		return func(at []int) float64 { return f(at[0], at[1], at[2], at[3]) }
	}
	y := cases.Filled(d, at(out), batch, heads, queries, dv)
	if cache != d {
		s.Add(cases.Case{Domain: "nacre", Op: "NarrowAttention", Version: 23, Note: note, In: list, Want: cases.Want(y, allK, allV),
			Ulps: Ulps, Attrs: cases.Attrs("scale", 0.25, "softcap", 4.0, "is_causal", causal)})
		return
	}
	for stage := range stages {
		scores := cases.Filled(d, at(stages[stage]), batch, heads, queries, past+keys)
		s.Add(cases.Case{Op: "Attention", Version: 23, Note: note, In: list, Want: cases.Want(y, allK, allV, scores), Ulps: Ulps,
			Attrs: cases.Attrs("scale", 0.25, "softcap", 4.0, "is_causal", causal, "qk_matmul_output_mode", stage)})
	}
	if past > 0 || d != tensor.F32 {
		return
	}
	flatten := func(t *tensor.Tensor) *tensor.Tensor {
		f, sh := byHead(t), t.Shape()
		return cases.Filled(d, func(at []int) float64 { return f(at[0], at[2]/sh[3], at[1], at[2]%sh[3]) }, sh[0], sh[2],
			sh[1]*sh[3])
	}
	s.Add(cases.Case{Op: "Attention", Version: 23, Note: note + ", three axes", In: cases.In(flatten(q), flatten(k), flatten(v), mask), Want: cases.Want(flatten(y)),
		Ulps: Ulps, Attrs: cases.Attrs("scale", 0.25, "softcap", 4.0, "is_causal", causal, "q_num_heads", heads, "kv_num_heads", kvHeads)})
}

// hideAll adds a case with a mask that holds the least float32 for all keys of some queries, as
// exporters write it. All such scores are equal, so all keys have equal weight. Products of queries
// and keys are 0.
func hideAll(s *cases.Suite, queries int) {
	const keys, size = 40, 8
	q, k, v := s.Any(tensor.F32, 1, 2, queries, size), tensor.New(tensor.F32, 1, 2, keys, size),
		s.Any(tensor.F32, 1, 2, keys, size)
	hidden := func(i, j int) bool { return i%3 == 1 || j > i }
	mask := cases.Filled(tensor.F32, func(at []int) float64 {
		if hidden(at[2], at[3]) {
			return -math.MaxFloat32
		}
		return 0
	}, 1, 1, queries, keys)
	value := byHead(v)
	y := cases.Filled(tensor.F32, func(at []int) float64 {
		sum, n := 0.0, 0.0
		for j := range keys {
			if at[2]%3 == 1 || !hidden(at[2], j) {
				sum, n = sum+value(at[0], at[1], j, at[3]), n+1
			}
		}
		return sum / n
	}, 1, 2, queries, size)
	s.Add(cases.Case{Op: "Attention", Version: 23, Note: "mask of the least number", In: cases.In(q, k, v, mask),
		Want: cases.Want(y), Ulps: 64, Attrs: cases.Attrs()})
}

// farScores adds cases whose scores are as large as products of damaged weights: rounding moves
// them by more than a softmax looks at, and the largest of a row takes all of its weight.
func farScores(s *cases.Suite, queries int) {
	const keys, size = 40, 8
	v := s.Any(tensor.F32, 1, 2, keys, size)
	value := byHead(v)
	for _, scale := range []float64{1e10, -1e16, 3e30} {
		// Query i multiplies the sum of a key, which is largest for key 7 and least for key 23.
		q := cases.Filled(tensor.F32, func(at []int) float64 { return scale * float64(1+at[2]%3) }, 1, 2, queries, size)
		k := cases.Filled(tensor.F32, func(at []int) float64 {
			switch at[2] {
			case 7:
				return 1.75
			case 23:
				return -1.25
			}
			return float64(at[2]*7%11) / 8
		}, 1, 2, keys, size)
		best := 7
		if scale < 0 {
			best = 23
		}
		y := cases.Filled(tensor.F32, func(at []int) float64 { return value(at[0], at[1], best, at[3]) }, 1, 2, queries, size)
		s.Add(cases.Case{Op: "Attention", Version: 23, Note: fmt.Sprintf("%d queries, scores of %g", queries, scale),
			In: cases.In(q, k, v), Want: cases.Want(y), Ulps: 4})
	}
}

// composedAttention adds a case of attention that replaces a softmax between two products. The mask
// hides all keys from one query of three, so its softmax is NaN. The products of another query are
// NaN. If zeroed is 1, zeros replace both.
func composedAttention(s *cases.Suite, d tensor.DType, queries, zeroed int) {
	const keys, size = 40, 8
	q, k, v := s.Any(d, 1, 2, queries, size), s.Any(d, 1, 2, keys, size), s.Any(d, 1, 2, keys, size)
	q = cases.Filled(d, func(at []int) float64 {
		if at[2]%3 == 2 {
			return math.NaN()
		}
		return cases.Number(q, cases.Flat(q.Shape(), at...))
	}, q.Shape()...)
	mask := cases.Filled(d, func(at []int) float64 {
		if at[0]%3 == 1 || at[1]%4 == 1 {
			return math.Inf(-1)
		}
		return 0
	}, queries, keys)
	a := &Attention{Batch: 1, Heads: 2, KVHeads: 2, Queries: queries, Keys: keys, D: size, DV: size, Q: byHead(q), K: byHead(k), V: byHead(v), Scale: 0.25,
		Score: func(_, _, i, j int) float64 { return cases.Number(mask, i*keys+j) }}
	out, _ := a.Run()
	y := cases.Filled(d, func(at []int) float64 {
		switch {
		case at[2]%3 == 0:
			return out(at[0], at[1], at[2], at[3])
		case zeroed == 1:
			return 0
		}
		return math.NaN()
	}, q.Shape()...)
	s.Add(cases.Case{Domain: "nacre", Op: "ComposedAttention", Version: 1, Note: "queries without a key", In: cases.In(q, k, v, mask), Want: cases.Want(y), Ulps: 64,
		Attrs: cases.Attrs("scale", 0.25, "zeroed", zeroed)})
}

// attentionShapes adds lengths, windows, masks and sequences longer than a block.
func attentionShapes(s *cases.Suite) {
	const d = tensor.F32
	var operands []*tensor.Tensor
	build := func(batch, heads, queries, keys, size int) *Attention {
		q, k, v := s.Any(d, batch, heads, queries, size), s.Any(d, batch, heads, keys, size),
			s.Any(d, batch, heads, keys, size)
		a := &Attention{Batch: batch, Heads: heads, KVHeads: heads, Queries: queries, Keys: keys, D: size, DV: size,
			Q: byHead(q), K: byHead(k), V: byHead(v), Scale: 1 / math.Sqrt(float64(size))}
		operands = cases.In(q, k, v)
		return a
	}
	add := func(a *Attention, version int, note string, list []*tensor.Tensor, attributes ...any) {
		out, _ := a.Run()
		y := cases.Filled(d, func(at []int) float64 { return out(at[0], at[1], at[2], at[3]) }, a.Batch, a.Heads, a.Queries,
			a.DV)
		s.Add(cases.Case{Op: "Attention", Version: version, Note: note, In: list, Want: cases.Want(y), Ulps: 64,
			Attrs: cases.Attrs(attributes...)})
	}
	lengths := cases.Ints(5, 0)
	for _, causal := range []int{0, 1} {
		a := build(2, 2, 3, 8, 8)
		a.Score = func(b, _, i, j int) float64 {
			n := int(cases.Number(lengths, b))
			if j >= n || causal == 1 && j > n-3+i {
				return math.Inf(-1)
			}
			return 0
		}
		add(a, 24, "lengths", append(operands, nil, nil, nil, lengths), "is_causal", causal)
	}
	for _, queries := range []int{3, 30} {
		hideAll(s, queries)
		farScores(s, queries)
		a := build(1, 2, queries, 40, 8)
		a.Score = func(_, _, i, j int) float64 {
			if j > i || j <= i-4 {
				return math.Inf(-1)
			}
			return 0
		}
		add(a, 25, "window", operands, "is_causal", 1, "local_window_size", 4)
		mask := s.Any(tensor.Bool, 1, queries, 1)
		a = build(1, 2, queries, 40, 8)
		a.Score = func(_, _, i, _ int) float64 { return []float64{math.Inf(-1), 0}[int(cases.Number(mask, i))] }
		add(a, 23, "mask of one column", append(operands, mask))
		short := s.Any(tensor.Bool, queries, 33)
		a = build(1, 2, queries, 40, 8)
		a.Score = func(_, _, i, j int) float64 {
			if j >= 33 || cases.Number(short, i*33+j) == 0 {
				return math.Inf(-1)
			}
			return 0
		}
		add(a, 24, "mask of fewer columns", append(operands, short))
		a = build(1, 1, queries, 1500, 16)
		a.Score = func(_, _, _, _ int) float64 { return 0 }
		add(a, 23, "many keys", operands)
	}
	s.Add(cases.Case{Op: "Attention", Version: 23, Note: "heads that do not share", Fails: graph.ErrShape,
		In: cases.In(s.Any(d, 1, 3, 2, 4), s.Any(d, 1, 2, 2, 4), s.Any(d, 1, 2, 2, 4))})
	s.Add(cases.Case{Op: "Attention", Version: 24, Note: "a length beyond the keys", Fails: graph.ErrShape,
		In: cases.In(s.Any(d, 1, 1, 2, 4), s.Any(d, 1, 1, 2, 4), s.Any(d, 1, 1, 2, 4), nil, nil, nil, cases.Ints(3))})
}

// gatedCases adds SwiGLU, and FlexAttention without graphs that change scores.
func gatedCases(s *cases.Suite, d tensor.DType) {
	x, y := s.Any(d, 3, 1001), s.Any(d, 3, 1001)
	s.Add(cases.Case{Op: "SwiGLU", Version: 28, Attrs: cases.Attrs("alpha", 0.5), In: cases.In(x, y), Ulps: 8,
		Want: cases.Want(cases.Filled(d, func(at []int) float64 {
			i := cases.Flat(x.Shape(), at...)
			return cases.Number(x, i) / (1 + math.Exp(-0.5*cases.Number(x, i))) * cases.Number(y, i)
		}, 3, 1001))})
	q, k, v := s.Any(d, 2, 4, 3, 8), s.Any(d, 2, 2, 5, 8), s.Any(d, 2, 2, 5, 6)
	a := &Attention{Batch: 2, Heads: 4, KVHeads: 2, Queries: 3, Keys: 5, D: 8, DV: 6, Q: byHead(q), K: byHead(k), V: byHead(v), Scale: 0.5,
		Score: func(_, _, _, _ int) float64 { return 0 }}
	out, _ := a.Run()
	s.Add(cases.Case{Domain: "ai.onnx.preview", Op: "FlexAttention", Version: 1, Attrs: cases.Attrs("scale", 0.5), In: cases.In(q, k, v), Ulps: Ulps,
		Want: cases.Want(cases.Filled(d, func(at []int) float64 { return out(at[0], at[1], at[2], at[3]) }, 2, 4, 3, 6))})
}

// rotaryCases rotates heads by the angles of their positions.
func rotaryCases(s *cases.Suite, d tensor.DType, domain string, version int) {
	for _, c := range []struct {
		size, turned, interleaved int
	}{{10, 10, 0}, {10, 10, 1}, {70, 66, 0}, {12, 6, 1}} {
		const batch, heads, rows, places = 2, 3, 5, 9
		x := s.Any(d, batch, heads, rows, c.size)
		angles := s.Any(tensor.F64, places, c.turned/2)
		cos := cases.Filled(d,
			func(at []int) float64 { return math.Cos(cases.Number(angles, cases.Flat(angles.Shape(), at...))) }, places,
			c.turned/2)
		sin := cases.Filled(d,
			func(at []int) float64 { return math.Sin(cases.Number(angles, cases.Flat(angles.Shape(), at...))) }, places,
			c.turned/2)
		ids := s.Indices(tensor.I64, 0, places, batch, rows)
		turn := func(at []int) float64 {
			i := at[3]
			if i >= c.turned {
				return cases.Number(x, cases.Flat(x.Shape(), at...))
			}
			pair, second := i%(c.turned/2), i >= c.turned/2
			one, two := pair, pair+c.turned/2
			if c.interleaved == 1 {
				pair, second = i/2, i%2 == 1
				one, two = 2*pair, 2*pair+1
			}
			p := cases.Flat(cos.Shape(), int(cases.Number(ids, at[0]*rows+at[2])), pair)
			a, b := cases.Number(x, cases.Flat(x.Shape(), cases.With(at, 3, one)...)),
				cases.Number(x, cases.Flat(x.Shape(), cases.With(at, 3, two)...))
			if second {
				return cases.Number(sin, p)*a + cases.Number(cos, p)*b
			}
			return cases.Number(cos, p)*a - cases.Number(sin, p)*b
		}
		list := cases.In(x, cos, sin, ids)
		a := cases.Attrs("interleaved", c.interleaved)
		if c.turned != c.size {
			a = append(a, cases.Attrs("rotary_embedding_dim", c.turned)...)
		}
		if domain != "" {
			list = cases.In(x, ids, cos, sin)
			a = append(a, cases.Attrs("num_heads", heads)...)
		}
		y := cases.Filled(d, turn, batch, heads, rows, c.size)
		s.Add(cases.Case{Domain: domain, Op: "RotaryEmbedding", Version: version, Attrs: a, In: list, Want: cases.Want(y),
			Ulps: 4})
		if domain != "" {
			continue
		}
		// Without positions every token has its own rows.
		own := func(t *tensor.Tensor) *tensor.Tensor {
			return cases.Filled(d, func(at []int) float64 {
				return cases.Number(t, cases.Flat(t.Shape(), int(cases.Number(ids, at[0]*rows+at[1])), at[2]))
			}, batch, rows, c.turned/2)
		}
		s.Add(cases.Case{Op: "RotaryEmbedding", Version: version, Note: "no positions", Attrs: a,
			In: cases.In(x, own(cos), own(sin)), Want: cases.Want(y), Ulps: 4})
	}
	s.Add(cases.Case{Domain: domain, Op: "RotaryEmbedding", Version: version, Note: "a position beyond the caches", Fails: graph.ErrShape,
		In: map[bool][]*tensor.Tensor{
			true:  cases.In(s.Any(d, 1, 1, 1, 4), s.Any(d, 2, 2), s.Any(d, 2, 2), cases.Vector(tensor.I64, 2)),
			false: cases.In(s.Any(d, 1, 1, 1, 4), cases.Vector(tensor.I64, 2), s.Any(d, 2, 2), s.Any(d, 2, 2)),
		}[domain == ""]})
}

// linearAttentionCases runs the recurrence token by token.
func linearAttentionCases(s *cases.Suite, d tensor.DType, domain string, version int) {
	for _, c := range []struct {
		rule                                  string
		heads, kvHeads, decays, betas, dk, dv int
	}{{"linear", 2, 2, 0, 0, 5, 7}, {"gated", 4, 2, 10, 0, 5, 20}, {"delta", 2, 2, 0, 1, 4, 33}, {"gated_delta", 4, 2, 2, 2, 6, 16}} {
		const batch, tokens = 2, 5
		q, k, v := s.Any(d, batch, tokens, c.heads*c.dk), s.Between(d, -0.5, 0.5, batch, tokens, c.kvHeads*c.dk),
			s.Any(d, batch, tokens, c.kvHeads*c.dv)
		past := s.Any(d, batch, c.kvHeads, c.dk, c.dv)
		list := cases.In(q, k, v, past, nil, nil)
		if c.decays > 0 {
			list[4] = s.Between(d, -2, 0, batch, tokens, c.decays)
		}
		if c.betas > 0 {
			list[5] = s.Between(d, 0, 1, batch, tokens, c.betas)
		}
		out, state := tensor.New(tensor.F64, batch, tokens, c.heads*c.dv), cases.Wide(past)
		for b := range batch {
			for h := range c.kvHeads {
				for t := range tokens {
					recur(list, out, state, []int{b, h, t, c.heads, c.kvHeads, c.dk, c.dv})
				}
			}
		}
		s.Add(cases.Case{Domain: domain, Op: "LinearAttention", Version: version, Note: c.rule, In: list, Want: cases.Want(cases.Narrow(d, out), cases.Narrow(d, state)), Ulps: 32,
			Attrs: cases.Attrs("q_num_heads", c.heads, "kv_num_heads", c.kvHeads, "scale", 0.5, "update_rule", c.rule)})
		if domain != "" && c.rule == "linear" {
			s.Add(cases.Case{Domain: domain, Op: "LinearAttention", Version: version, Note: "no decay", Fails: graph.ErrFormat, In: cases.In(q, k, v, past),
				Attrs: cases.Attrs("q_num_heads", c.heads, "kv_num_heads", c.kvHeads)})
		}
	}
}

// recur computes one token of one head. n holds batch, head, token, number of heads, number of key
// heads, and rows and columns of the state.
func recur(list []*tensor.Tensor, out, state *tensor.Tensor, n []int) {
	b, h, t, heads, kvHeads, dk, dv := n[0], n[1], n[2], n[3], n[4], n[5], n[6]
	q, k, v := byRow(list[0], heads), byRow(list[1], kvHeads), byRow(list[2], kvHeads)
	at := func(r, m int) int { return cases.Flat(state.Shape(), b, h, r, m) }
	for m := range dv {
		found := 0.0
		for r := range dk {
			if g := list[4]; g != nil {
				cols := g.Shape()[2]
				cases.SetNumber(state, at(r, m), cases.Number(state,
					at(r, m))*math.Exp(cases.Number(g, cases.Flat(g.Shape(), b, t, (h*dk+r)*cols/(kvHeads*dk)))))
			}
			found += cases.Number(state, at(r, m)) * k(b, h, t, r)
		}
		add := v(b, h, t, m)
		if beta := list[5]; beta != nil {
			add = cases.Number(beta, cases.Flat(beta.Shape(), b, t, h*beta.Shape()[2]/kvHeads)) * (add - found)
		}
		for r := range dk {
			cases.SetNumber(state, at(r, m), cases.Number(state, at(r, m))+k(b, h, t, r)*add)
		}
		for head := h * heads / kvHeads; head < (h+1)*heads/kvHeads; head++ {
			sum := 0.0
			for r := range dk {
				sum += q(b, head, t, r) * cases.Number(state, at(r, m))
			}
			cases.SetNumber(out, cases.Flat(out.Shape(), b, t, head*dv+m), 0.5*sum)
		}
	}
}

// causalConvCases looks back at a state, also further than the input is long.
func causalConvCases(s *cases.Suite, d tensor.DType, domain string, version int) {
	for _, c := range []struct {
		n, taps, step int
		activation    string
	}{{7, 4, 1, "none"}, {2, 4, 1, "silu"}, {40, 3, 1, "swish"}, {5, 1, 1, "none"}, {9, 3, 2, "silu"}} {
		if c.step > 1 && domain == "" {
			continue
		}
		const batch, channels = 2, 3
		before := (c.taps - 1) * c.step
		x, w, bias, past := s.Any(d, batch, channels, c.n), s.Any(d, channels, 1, c.taps), s.Any(d, channels),
			s.Any(d, batch, channels, before)
		at := func(b, ch, i int) float64 {
			if i < before {
				return cases.Number(past, cases.Flat(past.Shape(), b, ch, i))
			}
			return cases.Number(x, cases.Flat(x.Shape(), b, ch, i-before))
		}
		y := cases.Filled(d, func(p []int) float64 {
			sum := cases.Number(bias, p[1])
			for j := range c.taps {
				sum += cases.Number(w, p[1]*c.taps+j) * at(p[0], p[1], p[2]+j*c.step)
			}
			if c.activation != "none" {
				sum /= 1 + math.Exp(-sum)
			}
			return sum
		}, batch, channels, c.n)
		state := cases.Filled(d, func(p []int) float64 { return at(p[0], p[1], p[2]+c.n) }, batch, channels, before)
		a := cases.Attrs("activation", c.activation)
		if domain != "" {
			a = append(a, cases.Attrs("dilation", c.step)...)
		}
		s.Add(cases.Case{Domain: domain, Op: "CausalConvWithState", Version: version, Attrs: a,
			In: cases.In(x, w, bias, past), Want: cases.Want(y, state), Ulps: 16})
	}
}

func tensorScatterCases(s *cases.Suite) {
	for _, d := range tensor.DTypes() {
		if d == tensor.I2 || d == tensor.U2 {
			continue
		}
		for _, c := range []struct {
			mode   string
			axis   int
			starts []int
		}{{"linear", -2, []int{1, 3}}, {"circular", 1, []int{4, -1}}, {"linear", 1, nil}} {
			cache, update := s.Any(d, 2, 5, 5, 3), s.Any(d, 2, 5, 2, 3)
			if c.axis == 1 {
				update = s.Any(d, 2, 2, 5, 3)
			}
			axis := cases.Mod(c.axis, 4)
			list := cases.In(cache, update)
			if c.starts != nil {
				list = append(list, cases.Ints(c.starts...))
			}
			y := cache.Clone()
			cases.Each(update.Shape(), func(i int, at []int) {
				start := 0
				if c.starts != nil {
					start = c.starts[at[0]]
				}
				cases.SetElement(y, cases.Flat(y.Shape(), cases.With(at, axis, cases.Mod(start+at[axis], 5))...),
					cases.Element(update, i))
			})
			s.Add(cases.Case{Op: "TensorScatter", Version: 24, Attrs: cases.Attrs("mode", c.mode, "axis", c.axis), In: list,
				Want: cases.Want(y)})
		}
	}
	x := s.Any(tensor.F32, 1, 4, 2)
	s.Add(cases.Case{Op: "TensorScatter", Version: 24, Note: "no room",
		In: cases.In(x, s.Any(tensor.F32, 1, 2, 2), cases.Ints(3)), Fails: graph.ErrShape})
}

package optest

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var narrowFloats = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}

func attentionCases(s *suite) {
	for _, d := range floats {
		standardAttention(s, d)
		gatedCases(s, d)
	}
	attentionShapes(s)
	for _, d := range narrowFloats {
		rotaryCases(s, d, "", 23)
		rotaryCases(s, d, "com.microsoft", 1)
		linearAttentionCases(s, d, "", 27)
		linearAttentionCases(s, d, "com.microsoft", 1)
		causalConvCases(s, d, "", 27)
		causalConvCases(s, d, "com.microsoft", 1)
	}
	tensorScatterCases(s)
}

// headed reads element [batch,head,row,i] of a tensor, whichever way it lies.
type headed func(b, h, r, i int) float64

// byHead reads [batch,heads,rows,size].
func byHead(t *tensor.Tensor) headed {
	return func(b, h, r, i int) float64 { return number(t, flat(t.Shape(), b, h, r, i)) }
}

// byRow reads [batch,rows,heads*size].
func byRow(t *tensor.Tensor, heads int) headed {
	size := t.Shape()[2] / heads
	return func(b, h, r, i int) float64 { return number(t, flat(t.Shape(), b, r, h*size+i)) }
}

// attend describes attention; score says what is added to the score of query i
// and key j, -inf where j is left out.
type attend struct {
	batch, heads, kvHeads, queries, keys, d, dv int
	q, k, v                                     headed
	scale, cap                                  float64
	score                                       func(b, h, i, j int) float64
	sink                                        func(h int) float64 // nil for none
}

// run returns output [batch,heads,queries,dv] and the scores of the four stages.
func (a *attend) run() (out func(b, h, i, e int) float64, stages [4]func(b, h, i, j int) float64) {
	at := func(b, h, i int) int { return (b*a.heads+h)*a.queries + i }
	rows := make([][4][]float64, a.batch*a.heads*a.queries)
	for b := range a.batch {
		for h := range a.heads {
			for i := range a.queries {
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
			sum += w * a.v(b, h*a.kvHeads/a.heads, j, e)
		}
		return sum
	}, stages
}

func (a *attend) row(b, h, i int) (stages [4][]float64) {
	top, sum := math.Inf(-1), 0.0
	if a.sink != nil {
		top, sum = a.sink(h), 1
	}
	for j := range a.keys {
		s := 0.0
		for e := range a.d {
			s += a.q(b, h, i, e) * a.k(b, h*a.kvHeads/a.heads, j, e)
		}
		s *= a.scale
		stages[0] = append(stages[0], s)
		if a.cap > 0 {
			s = a.cap * math.Tanh(s/a.cap)
		}
		stages[1] = append(stages[1], s)
		s += a.score(b, h, i, j)
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

// filled makes a tensor of a function of the index.
func filled(d tensor.DType, f func(at []int) float64, shape ...int) *tensor.Tensor {
	t := tensor.New(d, shape...)
	each(t.Shape(), func(i int, at []int) { setNumber(t, i, f(at)) })
	return t
}

// joined is two tensors one after the other along axis 2; the first may be nil.
func joined(a, b *tensor.Tensor) *tensor.Tensor {
	if a == nil {
		return b
	}
	s, past := b.Shape(), a.Shape()[2]
	return filled(b.DType(), func(at []int) float64 {
		if at[2] < past {
			return number(a, flat(a.Shape(), at...))
		}
		return number(b, flat(s, at[0], at[1], at[2]-past, at[3]))
	}, s[0], s[1], past+s[2], s[3])
}

// attentionUlps is what rounding may do to sums of a few dozen terms, beside the
// rounding of scores in the type itself.
const attentionUlps = 24

// standardAttention are cases of the standard's operator: with few queries and
// with many, alone and behind a cache.
func standardAttention(s *suite, d tensor.DType) {
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
			attentionCase(s, d, c.note, []int{2, c.heads, c.kvHeads, c.queries, c.keys, c.past, c.size, c.dv}, causal)
		}
	}
}

func attentionCase(s *suite, d tensor.DType, note string, n []int, causal int) {
	batch, heads, kvHeads, queries, keys, past, size, dv := n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]
	q, k, v := s.any(d, batch, heads, queries, size), s.any(d, batch, kvHeads, keys, size), s.any(d, batch, kvHeads, keys, dv)
	mask := s.any(d, 1, heads, queries, past+keys)
	list := in(q, k, v, mask)
	allK, allV := k, v
	if past > 0 {
		pastK, pastV := s.any(d, batch, kvHeads, past, size), s.any(d, batch, kvHeads, past, dv)
		list = append(list, pastK, pastV)
		allK, allV = joined(pastK, k), joined(pastV, v)
	}
	a := &attend{batch: batch, heads: heads, kvHeads: kvHeads, queries: queries, keys: past + keys, d: size, dv: dv,
		q: byHead(q), k: byHead(allK), v: byHead(allV), scale: 0.25, cap: 4,
		score: func(_, h, i, j int) float64 {
			if causal == 1 && j > i+past {
				return math.Inf(-1)
			}
			return number(mask, flat(mask.Shape(), 0, h, i, j))
		}}
	out, stages := a.run()
	at := func(f func(b, h, i, j int) float64) func(at []int) float64 {
		return func(at []int) float64 { return f(at[0], at[1], at[2], at[3]) }
	}
	y := filled(d, at(out), batch, heads, queries, dv)
	for stage := range stages {
		scores := filled(d, at(stages[stage]), batch, heads, queries, past+keys)
		s.add(Case{Op: "Attention", Version: 23, Note: note, In: list, Want: want(y, allK, allV, scores), Ulps: attentionUlps,
			Attrs: attrs("scale", 0.25, "softcap", 4.0, "is_causal", causal, "qk_matmul_output_mode", stage)})
	}
	if past > 0 || d != tensor.F32 {
		return
	}
	flatten := func(t *tensor.Tensor) *tensor.Tensor {
		f, sh := byHead(t), t.Shape()
		return filled(d, func(at []int) float64 { return f(at[0], at[2]/sh[3], at[1], at[2]%sh[3]) }, sh[0], sh[2], sh[1]*sh[3])
	}
	s.add(Case{Op: "Attention", Version: 23, Note: note + ", three axes", In: in(flatten(q), flatten(k), flatten(v), mask), Want: want(flatten(y)),
		Ulps: attentionUlps, Attrs: attrs("scale", 0.25, "softcap", 4.0, "is_causal", causal, "q_num_heads", heads, "kv_num_heads", kvHeads)})
}

// attentionShapes are lengths, windows, masks and sequences longer than a block.
func attentionShapes(s *suite) {
	const d = tensor.F32
	var operands []*tensor.Tensor
	build := func(batch, heads, queries, keys, size int) *attend {
		q, k, v := s.any(d, batch, heads, queries, size), s.any(d, batch, heads, keys, size), s.any(d, batch, heads, keys, size)
		a := &attend{batch: batch, heads: heads, kvHeads: heads, queries: queries, keys: keys, d: size, dv: size,
			q: byHead(q), k: byHead(k), v: byHead(v), scale: 1 / math.Sqrt(float64(size))}
		operands = in(q, k, v)
		return a
	}
	add := func(a *attend, version int, note string, list []*tensor.Tensor, attributes ...any) {
		out, _ := a.run()
		y := filled(d, func(at []int) float64 { return out(at[0], at[1], at[2], at[3]) }, a.batch, a.heads, a.queries, a.dv)
		s.add(Case{Op: "Attention", Version: version, Note: note, In: list, Want: want(y), Ulps: 64, Attrs: attrs(attributes...)})
	}
	lengths := ints(5, 0)
	for _, causal := range []int{0, 1} {
		a := build(2, 2, 3, 8, 8)
		a.score = func(b, _, i, j int) float64 {
			n := int(number(lengths, b))
			if j >= n || causal == 1 && j > n-3+i {
				return math.Inf(-1)
			}
			return 0
		}
		add(a, 24, "lengths", append(operands, nil, nil, nil, lengths), "is_causal", causal)
	}
	for _, queries := range []int{3, 30} {
		a := build(1, 2, queries, 40, 8)
		a.score = func(_, _, i, j int) float64 {
			if j > i || j <= i-4 {
				return math.Inf(-1)
			}
			return 0
		}
		add(a, 25, "window", operands, "is_causal", 1, "local_window_size", 4)
		mask := s.any(tensor.Bool, 1, queries, 1)
		a = build(1, 2, queries, 40, 8)
		a.score = func(_, _, i, _ int) float64 { return []float64{math.Inf(-1), 0}[int(number(mask, i))] }
		add(a, 23, "mask of one column", append(operands, mask))
		short := s.any(tensor.Bool, queries, 33)
		a = build(1, 2, queries, 40, 8)
		a.score = func(_, _, i, j int) float64 {
			if j >= 33 || number(short, i*33+j) == 0 {
				return math.Inf(-1)
			}
			return 0
		}
		add(a, 24, "mask of fewer columns", append(operands, short))
		a = build(1, 1, queries, 1500, 16)
		a.score = func(_, _, _, _ int) float64 { return 0 }
		add(a, 23, "many keys", operands)
	}
	s.add(Case{Op: "Attention", Version: 23, Note: "heads that do not share", Fails: graph.ErrShape,
		In: in(s.any(d, 1, 3, 2, 4), s.any(d, 1, 2, 2, 4), s.any(d, 1, 2, 2, 4))})
	s.add(Case{Op: "Attention", Version: 24, Note: "a length beyond the keys", Fails: graph.ErrShape,
		In: in(s.any(d, 1, 1, 2, 4), s.any(d, 1, 1, 2, 4), s.any(d, 1, 1, 2, 4), nil, nil, nil, ints(3))})
}

// gatedCases are SwiGLU, and attention through graphs of the node's when it has
// none.
func gatedCases(s *suite, d tensor.DType) {
	x, y := s.any(d, 3, 1001), s.any(d, 3, 1001)
	s.add(Case{Op: "SwiGLU", Version: 28, Attrs: attrs("alpha", 0.5), In: in(x, y), Ulps: 8,
		Want: want(filled(d, func(at []int) float64 {
			i := flat(x.Shape(), at...)
			return number(x, i) / (1 + math.Exp(-0.5*number(x, i))) * number(y, i)
		}, 3, 1001))})
	q, k, v := s.any(d, 2, 4, 3, 8), s.any(d, 2, 2, 5, 8), s.any(d, 2, 2, 5, 6)
	a := &attend{batch: 2, heads: 4, kvHeads: 2, queries: 3, keys: 5, d: 8, dv: 6, q: byHead(q), k: byHead(k), v: byHead(v), scale: 0.5,
		score: func(_, _, _, _ int) float64 { return 0 }}
	out, _ := a.run()
	s.add(Case{Domain: "ai.onnx.preview", Op: "FlexAttention", Version: 1, Attrs: attrs("scale", 0.5), In: in(q, k, v), Ulps: attentionUlps,
		Want: want(filled(d, func(at []int) float64 { return out(at[0], at[1], at[2], at[3]) }, 2, 4, 3, 6))})
}

// rotaryCases turn heads by the angles of their positions.
func rotaryCases(s *suite, d tensor.DType, domain string, version int) {
	for _, c := range []struct {
		size, turned, interleaved int
	}{{10, 10, 0}, {10, 10, 1}, {70, 66, 0}, {12, 6, 1}} {
		const batch, heads, rows, places = 2, 3, 5, 9
		x := s.any(d, batch, heads, rows, c.size)
		angles := s.any(tensor.F64, places, c.turned/2)
		cos := filled(d, func(at []int) float64 { return math.Cos(number(angles, flat(angles.Shape(), at...))) }, places, c.turned/2)
		sin := filled(d, func(at []int) float64 { return math.Sin(number(angles, flat(angles.Shape(), at...))) }, places, c.turned/2)
		ids := s.indices(tensor.I64, 0, places, batch, rows)
		turn := func(at []int) float64 {
			i := at[3]
			if i >= c.turned {
				return number(x, flat(x.Shape(), at...))
			}
			pair, second := i%(c.turned/2), i >= c.turned/2
			one, two := pair, pair+c.turned/2
			if c.interleaved == 1 {
				pair, second = i/2, i%2 == 1
				one, two = 2*pair, 2*pair+1
			}
			p := flat(cos.Shape(), int(number(ids, at[0]*rows+at[2])), pair)
			a, b := number(x, flat(x.Shape(), with(at, 3, one)...)), number(x, flat(x.Shape(), with(at, 3, two)...))
			if second {
				return number(sin, p)*a + number(cos, p)*b
			}
			return number(cos, p)*a - number(sin, p)*b
		}
		list := in(x, cos, sin, ids)
		a := attrs("interleaved", c.interleaved)
		if c.turned != c.size {
			a = append(a, attrs("rotary_embedding_dim", c.turned)...)
		}
		if domain != "" {
			list = in(x, ids, cos, sin)
			a = append(a, attrs("num_heads", heads)...)
		}
		y := filled(d, turn, batch, heads, rows, c.size)
		s.add(Case{Domain: domain, Op: "RotaryEmbedding", Version: version, Attrs: a, In: list, Want: want(y), Ulps: 4})
		if domain != "" {
			continue
		}
		// Without positions every token has rows of its own.
		own := func(t *tensor.Tensor) *tensor.Tensor {
			return filled(d, func(at []int) float64 {
				return number(t, flat(t.Shape(), int(number(ids, at[0]*rows+at[1])), at[2]))
			}, batch, rows, c.turned/2)
		}
		s.add(Case{Op: "RotaryEmbedding", Version: version, Note: "no positions", Attrs: a, In: in(x, own(cos), own(sin)), Want: want(y), Ulps: 4})
	}
	s.add(Case{Domain: domain, Op: "RotaryEmbedding", Version: version, Note: "a position beyond the caches", Fails: graph.ErrShape,
		In: map[bool][]*tensor.Tensor{
			true:  in(s.any(d, 1, 1, 1, 4), s.any(d, 2, 2), s.any(d, 2, 2), vector(tensor.I64, 2)),
			false: in(s.any(d, 1, 1, 1, 4), vector(tensor.I64, 2), s.any(d, 2, 2), s.any(d, 2, 2)),
		}[domain == ""]})
}

// linearAttentionCases run the recurrence token by token.
func linearAttentionCases(s *suite, d tensor.DType, domain string, version int) {
	for _, c := range []struct {
		rule                                  string
		heads, kvHeads, decays, betas, dk, dv int
	}{{"linear", 2, 2, 0, 0, 5, 7}, {"gated", 4, 2, 10, 0, 5, 20}, {"delta", 2, 2, 0, 1, 4, 33}, {"gated_delta", 4, 2, 2, 2, 6, 16}} {
		const batch, tokens = 2, 5
		q, k, v := s.any(d, batch, tokens, c.heads*c.dk), s.between(d, -0.5, 0.5, batch, tokens, c.kvHeads*c.dk), s.any(d, batch, tokens, c.kvHeads*c.dv)
		past := s.any(d, batch, c.kvHeads, c.dk, c.dv)
		list := in(q, k, v, past, nil, nil)
		if c.decays > 0 {
			list[4] = s.between(d, -2, 0, batch, tokens, c.decays)
		}
		if c.betas > 0 {
			list[5] = s.between(d, 0, 1, batch, tokens, c.betas)
		}
		out, state := tensor.New(tensor.F64, batch, tokens, c.heads*c.dv), wide(past)
		for b := range batch {
			for h := range c.kvHeads {
				for t := range tokens {
					recur(list, out, state, []int{b, h, t, c.heads, c.kvHeads, c.dk, c.dv})
				}
			}
		}
		s.add(Case{Domain: domain, Op: "LinearAttention", Version: version, Note: c.rule, In: list, Want: want(narrow(d, out), narrow(d, state)), Ulps: 32,
			Attrs: attrs("q_num_heads", c.heads, "kv_num_heads", c.kvHeads, "scale", 0.5, "update_rule", c.rule)})
		if domain != "" && c.rule == "linear" {
			s.add(Case{Domain: domain, Op: "LinearAttention", Version: version, Note: "no decay", Fails: graph.ErrFormat, In: in(q, k, v, past),
				Attrs: attrs("q_num_heads", c.heads, "kv_num_heads", c.kvHeads)})
		}
	}
}

// recur takes one token of one head; n is batch, head, token, heads, heads of
// keys, rows and columns of the state.
func recur(list []*tensor.Tensor, out, state *tensor.Tensor, n []int) {
	b, h, t, heads, kvHeads, dk, dv := n[0], n[1], n[2], n[3], n[4], n[5], n[6]
	q, k, v := byRow(list[0], heads), byRow(list[1], kvHeads), byRow(list[2], kvHeads)
	at := func(r, m int) int { return flat(state.Shape(), b, h, r, m) }
	for m := range dv {
		found := 0.0
		for r := range dk {
			if g := list[4]; g != nil {
				cols := g.Shape()[2]
				setNumber(state, at(r, m), number(state, at(r, m))*math.Exp(number(g, flat(g.Shape(), b, t, (h*dk+r)*cols/(kvHeads*dk)))))
			}
			found += number(state, at(r, m)) * k(b, h, t, r)
		}
		add := v(b, h, t, m)
		if beta := list[5]; beta != nil {
			add = number(beta, flat(beta.Shape(), b, t, h*beta.Shape()[2]/kvHeads)) * (add - found)
		}
		for r := range dk {
			setNumber(state, at(r, m), number(state, at(r, m))+k(b, h, t, r)*add)
		}
		for head := h * heads / kvHeads; head < (h+1)*heads/kvHeads; head++ {
			sum := 0.0
			for r := range dk {
				sum += q(b, head, t, r) * number(state, at(r, m))
			}
			setNumber(out, flat(out.Shape(), b, t, head*dv+m), 0.5*sum)
		}
	}
}

// causalConvCases look back at a state, at more of it than there is input too.
func causalConvCases(s *suite, d tensor.DType, domain string, version int) {
	for _, c := range []struct {
		n, taps, step int
		activation    string
	}{{7, 4, 1, "none"}, {2, 4, 1, "silu"}, {40, 3, 1, "swish"}, {5, 1, 1, "none"}, {9, 3, 2, "silu"}} {
		if c.step > 1 && domain == "" {
			continue
		}
		const batch, channels = 2, 3
		before := (c.taps - 1) * c.step
		x, w, bias, past := s.any(d, batch, channels, c.n), s.any(d, channels, 1, c.taps), s.any(d, channels), s.any(d, batch, channels, before)
		at := func(b, ch, i int) float64 {
			if i < before {
				return number(past, flat(past.Shape(), b, ch, i))
			}
			return number(x, flat(x.Shape(), b, ch, i-before))
		}
		y := filled(d, func(p []int) float64 {
			sum := number(bias, p[1])
			for j := range c.taps {
				sum += number(w, p[1]*c.taps+j) * at(p[0], p[1], p[2]+j*c.step)
			}
			if c.activation != "none" {
				sum /= 1 + math.Exp(-sum)
			}
			return sum
		}, batch, channels, c.n)
		state := filled(d, func(p []int) float64 { return at(p[0], p[1], p[2]+c.n) }, batch, channels, before)
		a := attrs("activation", c.activation)
		if domain != "" {
			a = append(a, attrs("dilation", c.step)...)
		}
		s.add(Case{Domain: domain, Op: "CausalConvWithState", Version: version, Attrs: a, In: in(x, w, bias, past), Want: want(y, state), Ulps: 16})
	}
}

func tensorScatterCases(s *suite) {
	for _, d := range tensor.DTypes() {
		if d == tensor.I2 || d == tensor.U2 {
			continue
		}
		for _, c := range []struct {
			mode   string
			axis   int
			starts []int
		}{{"linear", -2, []int{1, 3}}, {"circular", 1, []int{4, -1}}, {"linear", 1, nil}} {
			cache, update := s.any(d, 2, 5, 5, 3), s.any(d, 2, 5, 2, 3)
			if c.axis == 1 {
				update = s.any(d, 2, 2, 5, 3)
			}
			axis := mod(c.axis, 4)
			list := in(cache, update)
			if c.starts != nil {
				list = append(list, ints(c.starts...))
			}
			y := cache.Clone()
			each(update.Shape(), func(i int, at []int) {
				start := 0
				if c.starts != nil {
					start = c.starts[at[0]]
				}
				setElement(y, flat(y.Shape(), with(at, axis, mod(start+at[axis], 5))...), element(update, i))
			})
			s.add(Case{Op: "TensorScatter", Version: 24, Attrs: attrs("mode", c.mode, "axis", c.axis), In: list, Want: want(y)})
		}
	}
	x := s.any(tensor.F32, 1, 4, 2)
	s.add(Case{Op: "TensorScatter", Version: 24, Note: "no room", In: in(x, s.any(tensor.F32, 1, 2, 2), ints(3)), Fails: graph.ErrShape})
}

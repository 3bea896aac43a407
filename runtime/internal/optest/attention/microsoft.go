package attention

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// PackedRows returns f, indexed by [batch,head,row,i], as a tensor [batch,rows,heads*size].
func PackedRows(d tensor.DType, f func(b, h, r, i int) float64, batch, heads, rows, size int) *tensor.Tensor {
	return cases.Filled(d, func(at []int) float64 { return f(at[0], at[2]/size, at[1], at[2]%size) }, batch, rows,
		heads*size)
}

func multiHeadCases(s *cases.Suite, d tensor.DType) {
	const batch, heads, size = 2, 3, 8
	type shape struct {
		queries, past int
		cache         tensor.DType
	}
	shapes := []shape{{3, 0, d}, {2, 4, d}, {25, 0, d}}
	for _, cache := range narrowTypes(d) {
		shapes = append(shapes, shape{2, 4, cache})
	}
	for _, c := range shapes {
		name, domain := "MultiHeadAttention", cases.Microsoft
		if c.cache != d {
			name, domain = "NarrowMultiHeadAttention", "nacre"
		}
		q, k, v := s.Any(d, batch, c.queries, heads*size), s.Any(d, batch, c.queries, heads*size),
			s.Any(d, batch, c.queries, heads*size)
		bias := s.Any(d, 3*heads*size)
		list := cases.In(q, k, v, bias, nil, s.Any(d, 1, heads, c.queries, c.past+c.queries))
		plus := func(t *tensor.Tensor, part int) Headed {
			f := byRow(t, heads)
			return func(b, h, r, i int) float64 { return f(b, h, r, i) + cases.Number(bias, (part*heads+h)*size+i) }
		}
		a := &Attention{Batch: batch, Heads: heads, KVHeads: heads, Queries: c.queries, Keys: c.past + c.queries, D: size, DV: size,
			Q: plus(q, 0), K: plus(k, 1), V: plus(v, 2), Scale: 1 / math.Sqrt(size),
			Score: func(_, h, i, j int) float64 {
				if j > i+c.past {
					return math.Inf(-1)
				}
				return cases.Number(list[5], cases.Flat(list[5].Shape(), 0, h, i, j))
			}}
		if c.past > 0 {
			for range 2 {
				past := byHead(s.Any(d, batch, heads, c.past, size))
				list = append(list, pastOf(c.cache, past, batch, heads, c.past, size))
			}
			a.K, a.V = after(list[6], c.past, a.K), after(list[7], c.past, a.V)
		}
		allK, allV := cacheOf(c.cache, a.K, batch, heads, a.Keys, size), cacheOf(c.cache, a.V, batch, heads, a.Keys, size)
		if c.cache != d {
			a.K, a.V = fromCache(allK), fromCache(allV)
		}
		out, _ := a.Run()
		s.Add(cases.Case{Domain: domain, Op: name, Version: 1, Attrs: cases.Attrs("num_heads", heads, "unidirectional", 1), In: list,
			Want: cases.Want(PackedRows(d, out, batch, heads, c.queries, size), allK, allV), Ulps: 3 * Ulps})
		if c.past > 0 {
			continue
		}
		// The same with all heads of all operands interleaved.
		packed := cases.Filled(d, func(at []int) float64 {
			return byRow([]*tensor.Tensor{q, k, v}[at[3]], heads)(at[0], at[2], at[1], at[4])
		}, batch, c.queries, heads, 3, size)
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "MultiHeadAttention", Version: 1, Note: "packed", Attrs: cases.Attrs("num_heads", heads, "unidirectional", 1),
			In: cases.In(packed, nil, nil, bias, nil, list[5]), Want: cases.Want(PackedRows(d, out, batch, heads, c.queries, size)), Ulps: 3 * Ulps})
		pair := cases.Filled(d, func(at []int) float64 {
			return byRow([]*tensor.Tensor{k, v}[at[3]], heads)(at[0], at[2], at[1], at[4])
		}, batch, c.queries, heads, 2, size)
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "MultiHeadAttention", Version: 1, Note: "packed keys", Attrs: cases.Attrs("num_heads", heads, "unidirectional", 1),
			In: cases.In(q, pair, nil, bias, nil, list[5]), Want: cases.Want(PackedRows(d, out, batch, heads, c.queries, size)), Ulps: 3 * Ulps})
	}
}

func mergedAttentionCases(s *cases.Suite, d tensor.DType) {
	const batch, heads, size, hidden = 2, 2, 4, 6
	for _, rotary := range []int{0, 1} {
		for _, tokens := range []int{3, 20} {
			x, w, bias := s.Any(d, batch, tokens, hidden), s.Any(d, hidden, 3*heads*size), s.Any(d, 3*heads*size)
			past := s.Any(d, 2, batch, heads, 2, size)
			project := func(part int) Headed {
				return func(b, h, r, i int) float64 {
					col := (part*heads+h)*size + i
					sum := cases.Number(bias, col)
					for p := range hidden {
						sum += cases.Number(x, (b*tokens+r)*hidden+p) * cases.Number(w, p*3*heads*size+col)
					}
					return sum
				}
			}
			turned := func(f Headed) Headed {
				if rotary == 0 {
					return f
				}
				return func(b, h, r, i int) float64 {
					angle := float64(r+2) / math.Pow(10000, float64(i%(size/2))*2/size)
					if i < size/2 {
						return f(b, h, r, i)*math.Cos(angle) - f(b, h, r, i+size/2)*math.Sin(angle)
					}
					return f(b, h, r, i-size/2)*math.Sin(angle) + f(b, h, r, i)*math.Cos(angle)
				}
			}
			behindPast := func(part int, f Headed) Headed {
				return func(b, h, r, i int) float64 {
					if r < 2 {
						return cases.Number(past, cases.Flat(past.Shape(), part, b, h, r, i))
					}
					return f(b, h, r-2, i)
				}
			}
			k, v := behindPast(0, turned(project(1))), behindPast(1, project(2))
			a := &Attention{Batch: batch, Heads: heads, KVHeads: heads, Queries: tokens, Keys: tokens + 2, D: size, DV: size,
				Q: turned(project(0)), K: k, V: v, Scale: 0.125, Score: func(_, _, i, j int) float64 {
					if j > i+2 {
						return math.Inf(-1)
					}
					return 0
				}}
			out, _ := a.Run()
			present := cases.Filled(d, func(at []int) float64 { return []Headed{k, v}[at[0]](at[1], at[2], at[3], at[4]) }, 2,
				batch, heads, tokens+2, size)
			s.Add(cases.Case{Domain: cases.Microsoft, Op: "Attention", Version: 1, In: cases.In(x, w, bias, nil, past), Ulps: 8 * Ulps,
				Attrs: cases.Attrs("num_heads", heads, "unidirectional", 1, "scale", 0.125, "do_rotary", rotary),
				Want:  cases.Want(PackedRows(d, out, batch, heads, tokens, size), present)})
		}
	}
}

func groupedAttentionCases(s *cases.Suite, d tensor.DType) {
	groupedAttentionCase(s, d, d)
	for _, cache := range narrowTypes(d) {
		groupedAttentionCase(s, d, cache)
	}
}

// groupedAttentionCase adds cases with operands of type d and a cache of type cache.
func groupedAttentionCase(s *cases.Suite, d, cache tensor.DType) {
	const batch, heads, kvHeads, size, room = 2, 4, 2, 8, 9
	name, domain := "GroupQueryAttention", cases.Microsoft
	if cache != d {
		name, domain = "NarrowGroupQueryAttention", "nacre"
	}
	q, k, v := s.Any(d, batch, 1, heads*size), s.Any(d, batch, 1, kvHeads*size), s.Any(d, batch, 1, kvHeads*size)
	anyPast := func(rows int) *tensor.Tensor {
		return pastOf(cache, byHead(s.Any(d, batch, kvHeads, rows, size)), batch, kvHeads, rows, size)
	}
	pastK, pastV := anyPast(room), anyPast(room)
	lengths := cases.Vector(tensor.I32, 5, 3) // of the past
	grow := func(past, add *tensor.Tensor) *tensor.Tensor {
		before := fromCache(past)
		return cacheOf(cache, func(b, h, r, i int) float64 {
			switch n := int(cases.Number(lengths, b)); {
			case r < n:
				return before(b, h, r, i)
			case r == n:
				return byRow(add, kvHeads)(b, h, 0, i)
			}
			return 0
		}, batch, kvHeads, room, size)
	}
	allK, allV := grow(pastK, k), grow(pastV, v)
	sinks := s.Any(d, heads)
	a := &Attention{Batch: batch, Heads: heads, KVHeads: kvHeads, Queries: 1, Keys: 6, D: size, DV: size,
		Q: byRow(q, heads), K: fromCache(allK), V: fromCache(allV), Scale: 1 / math.Sqrt(size), cap: 3,
		sink: func(h int) float64 { return cases.Number(sinks, h) },
		Score: func(b, _, _, j int) float64 {
			if n := int(cases.Number(lengths, b)); j > n || j <= n-4 {
				return math.Inf(-1)
			}
			return 0
		}}
	out, _ := a.Run()
	total := cases.Scalar(tensor.I32, 6)
	list := cases.In(q, k, v, pastK, pastV, lengths, total, nil, nil, nil, nil, sinks)
	s.Add(cases.Case{Domain: domain, Op: name, Version: 1, In: list, Ulps: 2 * Ulps,
		Attrs: cases.Attrs("num_heads", heads, "kv_num_heads", kvHeads, "softcap", 3.0, "local_window_size", 4),
		Want:  cases.Want(PackedRows(d, out, batch, heads, 1, size), allK, allV)})
	s.Add(cases.Case{Domain: domain, Op: name, Version: 1, Note: "no room", Fails: graph.ErrShape,
		In:    cases.In(q, k, v, pastK, pastV, cases.Vector(tensor.I32, 20, 3), cases.Scalar(tensor.I32, 21)),
		Attrs: cases.Attrs("num_heads", heads, "kv_num_heads", kvHeads)})
	for _, rows := range []int{0, room - 1, room + 1} {
		s.Add(cases.Case{Domain: domain, Op: name, Version: 1, Note: "pasts of two lengths", Fails: graph.ErrShape,
			In:    cases.In(q, k, v, pastK, anyPast(rows), lengths, total),
			Attrs: cases.Attrs("num_heads", heads, "kv_num_heads", kvHeads)})
	}
	s.Add(cases.Case{Domain: domain, Op: name, Version: 1, Note: "a quantised cache", Fails: graph.ErrUnsupported, In: list,
		Attrs: cases.Attrs("num_heads", heads, "kv_num_heads", kvHeads, "k_quant_type", "PER_TENSOR")})
	if cache == tensor.I8 {
		s.Add(cases.Case{Domain: cases.Microsoft, Op: "GroupQueryAttention", Version: 1, Note: "a cache of int8", In: list,
			Fails: graph.ErrUnsupported, Attrs: cases.Attrs("num_heads", heads, "kv_num_heads", kvHeads)})
	}
	list = cases.In(q, k, v, pastK, s.Any(tensor.F64, batch, kvHeads, room, size), lengths, total)
	s.Add(cases.Case{Domain: domain, Op: name, Version: 1, Note: "pasts of two types", In: list, Fails: graph.ErrShape,
		Attrs: cases.Attrs("num_heads", heads, "kv_num_heads", kvHeads)})
}

// projectedCases adds the attention operators of ONNX Runtime's domain.
func projectedCases(s *cases.Suite) {
	for _, d := range cases.NarrowFloats {
		multiHeadCases(s, d)
		mergedAttentionCases(s, d)
		groupedAttentionCases(s, d)
	}
	decoderCases(s)
}

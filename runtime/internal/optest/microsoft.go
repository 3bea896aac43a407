package optest

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const microsoft = "com.microsoft"

// microsoftCases are the operators that ONNX Runtime adds to the standard's.
func microsoftCases(s *suite) {
	for _, d := range floats {
		biasedGelus(s, d)
		simplifiedNorms(s, d)
		fusedProducts(s, d)
		sumMatMulCases(s, d)
	}
	for _, d := range narrowFloats {
		skipNorms(s, d)
		multiHeadCases(s, d)
		mergedAttentionCases(s, d)
		groupedAttentionCases(s, d)
	}
	for _, d := range []tensor.DType{tensor.F32, tensor.F16} {
		embedNormCases(s, d)
	}
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
		fusedConvCases(s, d)
	}
}

func fastGelu(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func biasedGelus(s *suite, d tensor.DType) {
	x, bias := s.any(d, 3, 1025), s.any(d, 1025)
	at := func(f func(x float64) float64, b *tensor.Tensor) *tensor.Tensor {
		return filled(d, func(at []int) float64 {
			v := number(x, flat(x.Shape(), at...))
			if b != nil {
				v += number(b, at[1])
			}
			return f(v)
		}, 3, 1025)
	}
	const ulps = 16
	s.add(Case{Domain: microsoft, Op: "Gelu", Version: 1, In: in(x), Want: want(at(gelu, nil)), Ulps: ulps})
	s.add(Case{Domain: microsoft, Op: "BiasGelu", Version: 1, In: in(x, bias), Want: want(at(gelu, bias)), Ulps: ulps})
	s.add(Case{Domain: microsoft, Op: "FastGelu", Version: 1, In: in(x), Want: want(at(fastGelu, nil)), Ulps: ulps})
	s.add(Case{Domain: microsoft, Op: "FastGelu", Version: 1, In: in(x, bias), Want: want(at(fastGelu, bias)), Ulps: ulps})
	s.add(Case{Domain: microsoft, Op: "QuickGelu", Version: 1, Attrs: attrs("alpha", 0.5), In: in(x), Ulps: ulps,
		Want: want(at(func(x float64) float64 { return x / (1 + math.Exp(-x/2)) }, nil))})
	s.add(Case{Domain: microsoft, Op: "BiasGelu", Version: 1, Note: "a bias of another length", In: in(x, s.any(d, 1024)), Fails: graph.ErrShape})
}

// rootMeanSquare divides numbers by theirs.
func rootMeanSquare(list []float64, epsilon float64) []float64 {
	sum := 0.0
	for _, v := range list {
		sum += v * v
	}
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = v / math.Sqrt(sum/float64(len(list))+epsilon)
	}
	return out
}

func simplifiedNorms(s *suite, d tensor.DType) {
	x, scale := s.any(d, 3, 37), s.any(d, 37)
	y := grouped(wide(x), behind(x.Shape(), 1), func(l []float64) []float64 { return rootMeanSquare(l, 0.5) })
	inv := reduced(wide(x), []int{1}, true, func(l []float64) float64 { return rootMeanSquare(l, 0.5)[0] / l[0] })
	last := func(at []int) int { return at[1] }
	for _, domain := range []string{"", microsoft} {
		s.add(Case{Domain: domain, Op: "SimplifiedLayerNormalization", Version: 1, Attrs: attrs("epsilon", 0.5), In: in(x, scale),
			Want: want(narrow(d, scaled(y, scale, nil, last)), narrow(tensor.F32, inv)), Ulps: 16})
	}
}

// skipNorms add before they normalise; what is added may serve several batches.
func skipNorms(s *suite, d tensor.DType) {
	for _, shape := range [][]int{{2, 3, 37}, {1, 3, 37}, {3, 37}} {
		x, skip := s.any(d, 2, 3, 37), s.any(d, shape...)
		scale, beta, bias := s.any(d, 37), s.any(d, 37), s.any(d, 37)
		sum := filled(tensor.F64, func(at []int) float64 {
			i := flat(x.Shape(), at...)
			return number(x, i) + number(skip, i%skip.Len()) + number(bias, at[2])
		}, 2, 3, 37)
		last := func(at []int) int { return at[2] }
		y := grouped(sum, behind(x.Shape(), 2), func(l []float64) []float64 { return standardized(l, 0.5) })
		s.add(Case{Domain: microsoft, Op: "SkipLayerNormalization", Version: 1, Attrs: attrs("epsilon", 0.5), In: in(x, skip, scale, beta, bias),
			Want: want(narrow(d, scaled(y, scale, beta, last)), nil, nil, narrow(d, sum)), Ulps: 16})
		y = grouped(sum, behind(x.Shape(), 2), func(l []float64) []float64 { return rootMeanSquare(l, 0.5) })
		s.add(Case{Domain: microsoft, Op: "SkipSimplifiedLayerNormalization", Version: 1, Attrs: attrs("epsilon", 0.5), In: in(x, skip, scale, bias),
			Want: want(narrow(d, scaled(y, scale, nil, last))), Ulps: 16})
	}
}

func embedNormCases(s *suite, d tensor.DType) {
	words, segments := s.indices(tensor.I32, 0, 9, 2, 3), s.indices(tensor.I32, 0, 2, 2, 3)
	table, places, parts := s.any(d, 9, 20), s.any(d, 5, 20), s.any(d, 2, 20)
	scale, bias := s.any(d, 20), s.any(d, 20)
	sum := filled(tensor.F64, func(at []int) float64 {
		i := at[0]*3 + at[1]
		row := func(t *tensor.Tensor, k int) float64 { return number(t, k*20+at[2]) }
		return row(table, int(number(words, i))) + row(places, at[1]) + row(parts, int(number(segments, i)))
	}, 2, 3, 20)
	y := grouped(sum, behind(sum.Shape(), 2), func(l []float64) []float64 { return standardized(l, 0.5) })
	mask := vector(tensor.I32, 1, 1, 0, 1, 1, 1)
	mask, _ = mask.Reshape(tensor.Shape{2, 3})
	s.add(Case{Domain: microsoft, Op: "EmbedLayerNormalization", Version: 1, Attrs: attrs("epsilon", 0.5),
		In:   in(words, segments, table, places, parts, scale, bias, mask),
		Want: want(narrow(d, scaled(y, scale, bias, func(at []int) int { return at[2] })), vector(tensor.I32, 2, 3), narrow(d, sum)), Ulps: 16})
	s.add(Case{Domain: microsoft, Op: "EmbedLayerNormalization", Version: 1, Note: "a word beyond the table", Fails: graph.ErrShape,
		In: in(s.indices(tensor.I32, 9, 10, 2, 3), segments, table, places, parts, scale, bias)})
}

// fusedProducts are products of operands with their axes in another order, and
// products with an activation.
func fusedProducts(s *suite, d tensor.DType) {
	const m, k, n, batch = 3, 20, 17, 2
	a, b := s.any(d, batch, m, k), s.any(d, k, batch, n)
	y := filled(d, func(at []int) float64 {
		sum := 0.0
		for p := range k {
			sum += number(a, (at[0]*m+at[1])*k+p) * number(b, (p*batch+at[0])*n+at[2])
		}
		return sum * 0.5
	}, batch, m, n)
	s.add(Case{Domain: microsoft, Op: "FusedMatMul", Version: 1, Attrs: attrs("alpha", 0.5, "transBatchB", 1), In: in(a, b), Want: want(y), Ulps: 32})
	at := filled(d, func(i []int) float64 { return number(a, (i[0]*m+i[2])*k+i[1]) }, batch, k, m)
	bt := filled(d, func(i []int) float64 { return number(b, (i[2]*batch+i[0])*n+i[1]) }, batch, n, k)
	s.add(Case{Domain: microsoft, Op: "FusedMatMul", Version: 1, Attrs: attrs("alpha", 0.5, "transA", 1, "transB", 1), In: in(at, bt), Want: want(y), Ulps: 32})
	x, w, c := s.any(d, m, k), s.any(d, n, k), s.any(d, n)
	y = filled(d, func(at []int) float64 {
		sum := number(c, at[1])
		for p := range k {
			sum += number(x, at[0]*k+p) * number(w, at[1]*k+p)
		}
		if sum < 0 {
			sum *= 0.25
		}
		return sum
	}, m, n)
	s.add(Case{Domain: microsoft, Op: "FusedGemm", Version: 1, In: in(x, w, c), Want: want(y), Ulps: 32,
		Attrs: attrs("transB", 1, "activation", "LeakyRelu", "activation_alpha", 0.25)})
	s.add(Case{Domain: microsoft, Op: "FusedGemm", Version: 1, Note: "an activation that is none", In: in(x, w, c), Fails: graph.ErrUnsupported,
		Attrs: attrs("transB", 1, "activation", "Softmax")})
}

func fusedConvCases(s *suite, d tensor.DType) {
	x, w, b, z := s.any(d, 1, 2, 5, 6), s.any(d, 3, 2, 1, 1), s.any(d, 3), s.any(d, 1, 3, 5, 6)
	y := filled(d, func(at []int) float64 {
		sum := number(b, at[1]) + number(z, flat(z.Shape(), at...))
		for c := range 2 {
			sum += number(w, at[1]*2+c) * number(x, flat(x.Shape(), 0, c, at[2], at[3]))
		}
		return min(max(sum, -0.5), 2)
	}, 1, 3, 5, 6)
	s.add(Case{Domain: microsoft, Op: "FusedConv", Version: 1, Attrs: attrs("activation", "Clip", "activation_params", []float64{-0.5, 2}),
		In: in(x, w, b, z), Want: want(y), Ulps: 16})
}

// packedRows is [batch,rows,heads*size] of what f gives for [batch,head,row,i].
func packedRows(d tensor.DType, f func(b, h, r, i int) float64, batch, heads, rows, size int) *tensor.Tensor {
	return filled(d, func(at []int) float64 { return f(at[0], at[2]/size, at[1], at[2]%size) }, batch, rows, heads*size)
}

func multiHeadCases(s *suite, d tensor.DType) {
	const batch, heads, size = 2, 3, 8
	for _, c := range []struct{ queries, past int }{{3, 0}, {2, 4}, {25, 0}} {
		q, k, v := s.any(d, batch, c.queries, heads*size), s.any(d, batch, c.queries, heads*size), s.any(d, batch, c.queries, heads*size)
		bias := s.any(d, 3*heads*size)
		list := in(q, k, v, bias, nil, s.any(d, 1, heads, c.queries, c.past+c.queries))
		plus := func(t *tensor.Tensor, part int) headed {
			f := byRow(t, heads)
			return func(b, h, r, i int) float64 { return f(b, h, r, i) + number(bias, (part*heads+h)*size+i) }
		}
		a := &attend{batch: batch, heads: heads, kvHeads: heads, queries: c.queries, keys: c.past + c.queries, d: size, dv: size,
			q: plus(q, 0), k: plus(k, 1), v: plus(v, 2), scale: 1 / math.Sqrt(size),
			score: func(_, h, i, j int) float64 {
				if j > i+c.past {
					return math.Inf(-1)
				}
				return number(list[5], flat(list[5].Shape(), 0, h, i, j))
			}}
		if c.past > 0 {
			list = append(list, s.any(d, batch, heads, c.past, size), s.any(d, batch, heads, c.past, size))
			behindPast := func(past *tensor.Tensor, f headed) headed {
				return func(b, h, r, i int) float64 {
					if r < c.past {
						return number(past, flat(past.Shape(), b, h, r, i))
					}
					return f(b, h, r-c.past, i)
				}
			}
			a.k, a.v = behindPast(list[6], a.k), behindPast(list[7], a.v)
		}
		out, _ := a.run()
		all := func(f headed) *tensor.Tensor {
			return filled(d, func(at []int) float64 { return f(at[0], at[1], at[2], at[3]) }, batch, heads, a.keys, size)
		}
		s.add(Case{Domain: microsoft, Op: "MultiHeadAttention", Version: 1, Attrs: attrs("num_heads", heads, "unidirectional", 1), In: list,
			Want: want(packedRows(d, out, batch, heads, c.queries, size), all(a.k), all(a.v)), Ulps: 3 * attentionUlps})
		if c.past > 0 {
			continue
		}
		// The same with all heads of all operands side by side.
		packed := filled(d, func(at []int) float64 {
			return byRow([]*tensor.Tensor{q, k, v}[at[3]], heads)(at[0], at[2], at[1], at[4])
		}, batch, c.queries, heads, 3, size)
		s.add(Case{Domain: microsoft, Op: "MultiHeadAttention", Version: 1, Note: "packed", Attrs: attrs("num_heads", heads, "unidirectional", 1),
			In: in(packed, nil, nil, bias, nil, list[5]), Want: want(packedRows(d, out, batch, heads, c.queries, size)), Ulps: 3 * attentionUlps})
		pair := filled(d, func(at []int) float64 {
			return byRow([]*tensor.Tensor{k, v}[at[3]], heads)(at[0], at[2], at[1], at[4])
		}, batch, c.queries, heads, 2, size)
		s.add(Case{Domain: microsoft, Op: "MultiHeadAttention", Version: 1, Note: "packed keys", Attrs: attrs("num_heads", heads, "unidirectional", 1),
			In: in(q, pair, nil, bias, nil, list[5]), Want: want(packedRows(d, out, batch, heads, c.queries, size)), Ulps: 3 * attentionUlps})
	}
}

func mergedAttentionCases(s *suite, d tensor.DType) {
	const batch, heads, size, hidden = 2, 2, 4, 6
	for _, rotary := range []int{0, 1} {
		for _, tokens := range []int{3, 20} {
			x, w, bias := s.any(d, batch, tokens, hidden), s.any(d, hidden, 3*heads*size), s.any(d, 3*heads*size)
			past := s.any(d, 2, batch, heads, 2, size)
			project := func(part int) headed {
				return func(b, h, r, i int) float64 {
					col := (part*heads+h)*size + i
					sum := number(bias, col)
					for p := range hidden {
						sum += number(x, (b*tokens+r)*hidden+p) * number(w, p*3*heads*size+col)
					}
					return sum
				}
			}
			turned := func(f headed) headed {
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
			behindPast := func(part int, f headed) headed {
				return func(b, h, r, i int) float64 {
					if r < 2 {
						return number(past, flat(past.Shape(), part, b, h, r, i))
					}
					return f(b, h, r-2, i)
				}
			}
			k, v := behindPast(0, turned(project(1))), behindPast(1, project(2))
			a := &attend{batch: batch, heads: heads, kvHeads: heads, queries: tokens, keys: tokens + 2, d: size, dv: size,
				q: turned(project(0)), k: k, v: v, scale: 0.125, score: func(_, _, i, j int) float64 {
					if j > i+2 {
						return math.Inf(-1)
					}
					return 0
				}}
			out, _ := a.run()
			present := filled(d, func(at []int) float64 { return []headed{k, v}[at[0]](at[1], at[2], at[3], at[4]) }, 2, batch, heads, tokens+2, size)
			s.add(Case{Domain: microsoft, Op: "Attention", Version: 1, In: in(x, w, bias, nil, past), Ulps: 8 * attentionUlps,
				Attrs: attrs("num_heads", heads, "unidirectional", 1, "scale", 0.125, "do_rotary", rotary),
				Want:  want(packedRows(d, out, batch, heads, tokens, size), present)})
		}
	}
}

func groupedAttentionCases(s *suite, d tensor.DType) {
	const batch, heads, kvHeads, size, room = 2, 4, 2, 8, 9
	q, k, v := s.any(d, batch, 1, heads*size), s.any(d, batch, 1, kvHeads*size), s.any(d, batch, 1, kvHeads*size)
	pastK, pastV := s.any(d, batch, kvHeads, room, size), s.any(d, batch, kvHeads, room, size)
	lengths := vector(tensor.I32, 5, 3) // of the past
	grow := func(past, add *tensor.Tensor) headed {
		return func(b, h, r, i int) float64 {
			switch n := int(number(lengths, b)); {
			case r < n:
				return number(past, flat(past.Shape(), b, h, r, i))
			case r == n:
				return byRow(add, kvHeads)(b, h, 0, i)
			}
			return 0
		}
	}
	sinks := s.any(d, heads)
	a := &attend{batch: batch, heads: heads, kvHeads: kvHeads, queries: 1, keys: 6, d: size, dv: size,
		q: byRow(q, heads), k: grow(pastK, k), v: grow(pastV, v), scale: 1 / math.Sqrt(size), cap: 3,
		sink: func(h int) float64 { return number(sinks, h) },
		score: func(b, _, _, j int) float64 {
			if n := int(number(lengths, b)); j > n || j <= n-4 {
				return math.Inf(-1)
			}
			return 0
		}}
	out, _ := a.run()
	all := func(f headed) *tensor.Tensor {
		return filled(d, func(at []int) float64 { return f(at[0], at[1], at[2], at[3]) }, batch, kvHeads, room, size)
	}
	total := scalar(tensor.I32, 6)
	list := in(q, k, v, pastK, pastV, lengths, total, nil, nil, nil, nil, sinks)
	s.add(Case{Domain: microsoft, Op: "GroupQueryAttention", Version: 1, In: list, Ulps: 2 * attentionUlps,
		Attrs: attrs("num_heads", heads, "kv_num_heads", kvHeads, "softcap", 3.0, "local_window_size", 4),
		Want:  want(packedRows(d, out, batch, heads, 1, size), all(a.k), all(a.v))})
	s.add(Case{Domain: microsoft, Op: "GroupQueryAttention", Version: 1, Note: "no room", Fails: graph.ErrShape,
		In:    in(q, k, v, pastK, pastV, vector(tensor.I32, 20, 3), scalar(tensor.I32, 21)),
		Attrs: attrs("num_heads", heads, "kv_num_heads", kvHeads)})
	s.add(Case{Domain: microsoft, Op: "GroupQueryAttention", Version: 1, Note: "a quantised cache", Fails: graph.ErrUnsupported, In: list,
		Attrs: attrs("num_heads", heads, "kv_num_heads", kvHeads, "k_quant_type", "PER_TENSOR")})
}

package attention

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// decoderCases adds attention of one token to a cache with room and to the keys of an encoder, with
// and without a mask, scores to add, and a bias of the projections.
func decoderCases(s *cases.Suite) {
	const d, batch, heads, size, room, hidden = tensor.F32, 2, 3, 8, 7, 24
	for i, past := range []int{0, 4, room - 1} {
		for _, given := range []bool{false, true} {
			token := [3]*tensor.Tensor{s.Any(d, batch, 1, hidden), s.Any(d, batch, 1, hidden), s.Any(d, batch, 1, hidden)}
			caches := [2]*tensor.Tensor{s.Any(d, batch, heads, room, size), s.Any(d, batch, heads, room, size)}
			c := &decoderCase{caches: caches, past: past}
			if given {
				c.bias, c.scores = s.Any(d, 3*hidden), s.Any(d, 1, heads, 1, past+1)
				c.mask = cases.Filled(tensor.I32, func(at []int) float64 { return float64((at[0] + at[1]) % 2) }, batch, past+1)
			}
			for part := range token {
				c.rows[part] = func(b, h, _, i int) float64 {
					v := byRow(token[part], heads)(b, h, 0, i)
					if given {
						v += cases.Number(c.bias, part*hidden+h*size+i)
					}
					return v
				}
			}
			length := cases.Vector(tensor.I32, float64(past))
			rest := cases.In(c.mask, c.scores, caches[0], caches[1], length, nil, nil, c.bias)
			in := append(cases.In(token[:]...), rest...)
			c.add(s, in, batch, heads, size)
			if i > 0 {
				continue
			}
			packed := cases.Filled(d, func(at []int) float64 {
				return cases.Number(token[at[2]/hidden], at[0]*hidden+at[2]%hidden)
			}, batch, 1, 3*hidden)
			c.add(s, append(cases.In(packed, nil, nil), rest...), batch, heads, size)
			c.rows[1], c.rows[2], c.past, c.scores = nil, nil, room-1, nil
			if given {
				c.mask = cases.Filled(tensor.I32, func(at []int) float64 { return float64(at[1] % 2) }, batch, room)
			}
			c.add(s, cases.In(token[0], caches[0], caches[1], c.mask, nil, nil, nil, nil, nil, nil, c.bias), batch, heads, size)
		}
	}
}

// decoderCase is attention of a token after `past` others.
type decoderCase struct {
	caches             [2]*tensor.Tensor
	past               int
	rows               [3]Headed // query, key and value of the token; keys and values are nil for an encoder's
	mask, scores, bias *tensor.Tensor
}

// add adds the case with the given inputs.
func (c *decoderCase) add(s *cases.Suite, in []*tensor.Tensor, batch, heads, size int) {
	shape, encoder := c.caches[0].Shape(), c.rows[1] == nil
	grown := func(part int) Headed {
		return func(b, h, r, i int) float64 {
			if r == c.past && !encoder {
				return c.rows[1+part](b, h, r, i)
			}
			return cases.Number(c.caches[part], cases.Flat(shape, b, h, r, i))
		}
	}
	a := &Attention{Batch: batch, Heads: heads, KVHeads: heads, Queries: 1, Keys: c.past + 1, D: size, DV: size,
		Q: c.rows[0], K: grown(0), V: grown(1), Scale: 1 / math.Sqrt(float64(size)),
		Score: func(b, h, _, j int) float64 {
			sum := 0.0
			if c.scores != nil {
				sum += cases.Number(c.scores, h*(c.past+1)+j)
			}
			if c.mask != nil && cases.Number(c.mask, b*(c.past+1)+j) == 0 {
				sum -= 10000
			}
			return sum
		}}
	out, _ := a.Run()
	want := cases.Want(PackedRows(tensor.F32, out, batch, heads, 1, size))
	attrs := cases.Attrs("num_heads", heads)
	if !encoder {
		for part := range 2 {
			all := grown(part)
			at := func(at []int) float64 { return all(at[0], at[1], at[2], at[3]) }
			want = append(want, cases.Filled(tensor.F32, at, shape...))
		}
		attrs = cases.Attrs("num_heads", heads, "past_present_share_buffer", 1)
	}
	s.Add(cases.Case{
		Domain: cases.Microsoft, Op: "DecoderMaskedMultiHeadAttention", Version: 1,
		In: in, Attrs: attrs, Want: want, Ulps: 3 * Ulps,
	})
}

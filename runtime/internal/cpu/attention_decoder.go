package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/op"
)

// bindDecoderAttention adds the new token to copies of the caches, or reads an encoder's keys and
// values. Beams and outputs of scores are computed in Go, which also checks operands that do not
// match.
func bindDecoderAttention(o *attention.DecoderAttention, b *binder) error {
	if b.Has(attention.DecoderBeams) || b.Has(attention.DecoderIndirection) || b.Wants(3) {
		return device.Refuse("beams are followed, and scores shown, in Go")
	}
	in := make([]*op.Value, max(attention.DecoderBias+1, len(b.In)))
	copy(in, b.In)
	q, input := o.Token(in, attention.DecoderQuery)
	if !decoderFits(o, in, q) {
		return device.Refuse("operands are checked in Go")
	}
	query, err := b.decoderToken(lower.HeadsOf(b, input, q), 0, lower.Append{Room: q.Rows})
	if err != nil {
		return err
	}
	list, keys := device.Operand{}, [2]lower.Heads{}
	if !o.Encoder {
		room := in[attention.DecoderPastKey].Dims[2]
		list, err = b.Lengths(&lower.Lengths{Kind: lower.LengthsPast, Batch: q.Batch, Tokens: q.Rows, Room: room, Past: room,
			Counts: lower.Input(b, attention.DecoderPastLength)})
		if err != nil {
			return err
		}
	}
	for i := range keys {
		if o.Encoder {
			at := attention.DecoderKey + i
			keys[i] = lower.HeadsOf(b, at, attention.WholeHeads(in[at].Dims))
			continue
		}
		if err := b.wholeCopy(attention.DecoderPastKey+i, 1+i); err != nil {
			return err
		}
		x, input := o.Token(in, attention.DecoderKey+i)
		room := in[attention.DecoderPastKey].Dims[2]
		grow := lower.Append{Past: b.out(1 + i), PastRows: room, Lengths: list, Cache: b.out(1 + i), Room: room}
		if keys[i], err = b.decoderToken(lower.HeadsOf(b, input, x), 1+i, grow); err != nil {
			return err
		}
	}
	a := lower.NewAttention(query, keys[0], keys[1])
	a.Scale, a.Filter, a.Lengths = o.Scale, o.Filter, list
	a.Mask, a.Scores = attention.DecoderMask, attention.DecoderScores
	return b.Attend(a)
}

// decoderFits reports whether the operands of a decoder's attention match.
func decoderFits(o *attention.DecoderAttention, in []*op.Value, q attention.HeadRows) bool {
	hidden, known := q.Heads.Mul(q.Size).Value()
	token := graph.Dims{q.Batch, graph.Known(1), graph.Known(hidden)}
	width := hidden
	if in[attention.DecoderKey] == nil {
		width = 3 * hidden // queries, keys and values side by side
	}
	if !known || hidden == 0 || hidden%o.Heads != 0 || !q.Rows.Is(1) || !in[attention.DecoderQuery].Dims[2].Is(width) {
		return false
	}
	if bias := in[attention.DecoderBias]; bias != nil && !bias.Dims.Len().Is(3*hidden) {
		return false
	}
	if mask := in[attention.DecoderMask]; mask != nil && len(mask.Dims) != 2 {
		return false
	}
	if !o.Encoder && in[attention.DecoderKey] != nil {
		for i := range 2 {
			if !in[attention.DecoderKey+i].Dims.Same(token) {
				return false
			}
		}
	}
	caches := in[attention.DecoderPastKey:][:2]
	if o.Encoder {
		caches = in[attention.DecoderKey:][:2]
	}
	d := caches[0].Dims
	return len(d) == 4 && d.Same(graph.Dims{q.Batch, q.Heads, d[2], q.Size}) && caches[1].Dims.Same(d)
}

// decoderToken adds part i of the bias to the rows of x and appends them as a says. Without a cache
// they go to scratch, or stay where they are if there is no bias.
func (b *binder) decoderToken(x lower.Heads, i int, a lower.Append) (lower.Heads, error) {
	if b.Has(attention.DecoderBias) {
		a.Bias, a.BiasAt = lower.Input(b, attention.DecoderBias), x.Heads.Mul(x.Size).Mul(graph.Known(i))
	} else if a.Cache.Place == device.None {
		return x, nil
	}
	return b.Append(x, &a)
}

package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// bindDecoderAttention adds the new token to copies of the caches, or reads an encoder's keys and
// values. Beams and outputs of scores are computed in Go, which also checks operands that do not
// match.
func bindDecoderAttention(o *attention.DecoderAttention, b *binder) error {
	if b.Has(attention.DecoderBeams) || b.Has(attention.DecoderIndirection) || b.Wants(3) {
		return device.Refuse("beams are followed, and scores shown, in Go")
	}
	in := padded(b.In, attention.DecoderBias)
	q, input := o.Token(in, attention.DecoderQuery)
	if !decoderFits(o, in, q) {
		return device.Refuse("operands are checked in Go")
	}
	query, err := b.decoderToken(b.heads(b.in(input), tensor.F32, q), 0, appending{room: q.Rows})
	if err != nil {
		return err
	}
	list, keys := device.Operand{}, [2]headRows{}
	if !o.Encoder {
		room := in[attention.DecoderPastKey].Dims[2]
		l := lengths{kind: lengthsPast, batch: q.Batch, tokens: q.Rows, room: room, past: room}
		l.types[0] = tensor.I32
		if list, err = b.lengths(l, b.in(attention.DecoderPastLength), device.Operand{}); err != nil {
			return err
		}
	}
	for i := range keys {
		if o.Encoder {
			at := attention.DecoderKey + i
			keys[i] = b.heads(b.in(at), tensor.F32, attention.WholeHeads(in[at].Dims))
			continue
		}
		if err := b.wholeCopy(attention.DecoderPastKey+i, 1+i); err != nil {
			return err
		}
		x, input := o.Token(in, attention.DecoderKey+i)
		room := in[attention.DecoderPastKey].Dims[2]
		grow := appending{past: b.out(1 + i), pastRows: room, lengths: list, cache: b.out(1 + i), room: room}
		if keys[i], err = b.decoderToken(b.heads(b.in(input), tensor.F32, x), 1+i, grow); err != nil {
			return err
		}
	}
	a := b.newAttention(query, keys[0], keys[1])
	a.scale, a.filter, a.lengths = o.Scale, o.Filter, list
	a.mask, a.scores = attention.DecoderMask, attention.DecoderScores
	return b.attend(a)
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
func (b *binder) decoderToken(x headRows, i int, a appending) (headRows, error) {
	if b.Has(attention.DecoderBias) {
		a.bias, a.biasType = b.in(attention.DecoderBias), tensor.F32
		a.bias = a.bias.At(x.Heads.Mul(x.Size).Mul(graph.Known(4 * i)))
	} else if a.cache.Place == device.None {
		return x, nil
	}
	a.dtype = tensor.F32
	if a.cache.Place == device.None {
		var err error
		if a.cache, err = b.tempOf(tensor.F32, x.Batch.Mul(x.Heads).Mul(x.Size)); err != nil {
			return x, err
		}
	}
	return b.appendRows(x, a)
}

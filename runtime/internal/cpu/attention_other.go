package cpu

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// The sources of positions, numbered as in csrc/attention/attention.h.
const (
	positionsOfTokens = iota
	positionsGiven
	positionsFrom
	positionsOfBatches
)

// rotation is a command f32_rotary.
type rotation struct {
	x, out      headRows
	pairs       graph.Dim
	interleaved bool
	norm        device.Operand // none if rows are not normalised
	normType    tensor.DType
	epsilon     float32
	cos, sin    device.Operand // none if angles are computed from base
	angleType   tensor.DType
	angleRows   graph.Dim
	base        float64
	positions   int
	index       device.Operand
	indexType   tensor.DType
	past        graph.Dim // position of the first token if there is no index
}

// given takes positions from an input.
func (r *rotation) given(b *binder, input int, offset bool) {
	r.index, r.indexType, r.positions = b.in(input), b.DType(input), positionsGiven
	if attention.OffsetPosition(b.In[input], offset) {
		r.positions = positionsFrom
	}
}

// rotate adds the command.
func (b *binder) rotate(r rotation) error {
	var w words
	w.part(b.dev.half)
	w.dim(r.x.Batch, r.x.Heads, r.x.Rows, r.x.Size, r.pairs)
	w.heads(r.x)
	w.heads(r.out)
	w.bool(r.interleaved)
	w.dtype(r.normType)
	w.float(float64(r.epsilon))
	w.dtype(r.angleType)
	w.dim(r.angleRows)
	w.float(r.base)
	w.int(r.positions)
	w.dtype(r.indexType)
	w.dim(r.past)
	return b.run("f32_rotary", w, r.x.at, r.cos, r.sin, r.index, r.norm, r.out.at)
}

func bindRotary(o *attention.RotaryEmbedding, b *binder) error {
	h, pairs, err := o.Operands(b.In)
	if err != nil {
		return err
	}
	d := b.DType(0)
	r := rotation{
		x: b.heads(b.in(0), d, h), out: b.heads(b.out(0), d, h), pairs: pairs, interleaved: o.Interleaved,
		cos: b.in(o.Cos), sin: b.in(o.Sin), angleType: d,
	}
	caches := b.In[o.Cos].Dims
	r.angleRows = caches[:len(caches)-1].Len()
	if b.Has(o.Positions) {
		r.given(b, o.Positions, o.Offset)
	}
	return b.rotate(r)
}

func bindLinearAttention(o *attention.LinearAttention, b *binder) error {
	k, v := b.In[1].Dims, b.In[2].Dims
	kvHeads := graph.Known(o.KVHeads)
	dk, dv := k[2].Div(kvHeads), v[2].Div(kvHeads)
	d := b.DType(0)
	state := d
	if b.Has(3) {
		state = b.DType(3)
	}
	scale := o.Scale
	if scale == 0 {
		n, ok := dk.Value()
		if !ok {
			return device.Refuse("the size %v of heads is not known", dk)
		}
		scale = float32(1 / math.Sqrt(float64(max(n, 1))))
	}
	var w words
	w.part(b.dev.half)
	w.dim(k[0], k[1], graph.Known(o.Heads), kvHeads, dk, dv)
	w.dtype(d, state)
	for i := 4; i < 6; i++ {
		cols := graph.Known(0)
		if b.Has(i) {
			cols = b.In[i].Dims[2]
		}
		w.dtype(b.DType(i))
		w.dim(cols)
	}
	w.float(float64(scale))
	w.int(o.Window)
	return b.run("f32_linear_attention", w, b.in(0), b.in(1), b.in(2), b.in(3), b.in(4), b.in(5), b.out(0), b.out(1))
}

func bindCausalConv(o *attention.CausalConv, b *binder) error {
	x, taps := b.In[0].Dims, b.In[1].Dims[2]
	var w words
	w.part(b.dev.half)
	w.dim(x...)
	w.dim(taps)
	w.int(o.Dilation)
	w.dtype(b.DType(0))
	w.bool(o.SiLU)
	return b.run("f32_causal_conv", w, b.in(0), b.in(1), b.in(2), b.in(3), b.out(0), b.out(1))
}

func bindTensorScatter(o *attention.TensorScatter, b *binder) error {
	d := b.DType(0)
	if d.Bits()%8 != 0 {
		return device.Refuse("elements below a byte are moved in Go")
	}
	cache := b.In[0].Dims
	axis, err := o.Axis(len(cache))
	if err != nil {
		return err
	}
	var w words
	w.dim(cache[0], cache[1:axis].Len(), cache[axis], b.In[1].Dims[axis],
		cache[axis+1:].Len().Mul(graph.Known(d.Bits()/8)))
	w.bool(o.Circular)
	w.dtype(b.DType(2))
	return b.run("tensor_scatter", w, b.in(0), b.in(1), b.in(2), b.out(0))
}

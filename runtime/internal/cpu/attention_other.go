package cpu

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Rotate adds a command for each rotation. Scratch is rotated in place.
func (b *binder) Rotate(list ...*lower.Rotation) error {
	for _, r := range list {
		y := *r.X
		switch {
		case r.Out.Place != device.None:
			y.Operand = r.Out
		case y.Operand.Place != device.Temp:
			width := y.Heads.Mul(y.Size)
			h := attention.HeadRows{Batch: y.Batch, Heads: y.Heads, Rows: y.Rows, Size: y.Size, PerBatch: y.Rows.Mul(width),
				PerHead: y.Size, PerRow: width}
			t := b.tempOf(tensor.F32, h.Batch.Mul(h.PerBatch))
			y = lower.Heads{HeadRows: h, DType: tensor.F32, Operand: t}
		}
		if err := b.rotate(r, y); err != nil {
			return err
		}
		*r.X = y
	}
	return nil
}

// rotate adds the command f32_rotary.
func (b *binder) rotate(r *lower.Rotation, out lower.Heads) error {
	x, rows, index := r.X, graph.Known(0), r.Index.DType
	if n := len(r.Cos.Dims); n > 0 {
		rows = r.Cos.Dims[:n-1].Len()
	}
	if r.Positions == lower.PositionsOfBatches {
		index = tensor.I64
	}
	var w words
	w.part(b.dev.half)
	w.dim(x.Batch, x.Heads, x.Rows, x.Size, r.Pairs)
	w.heads(*x)
	w.heads(out)
	w.bool(r.Interleaved)
	w.dtype(r.Norm.DType)
	w.float(float64(r.Epsilon))
	w.dtype(r.Cos.DType)
	w.dim(rows)
	w.float(r.Base)
	w.int(int(r.Positions))
	w.dtype(index)
	w.dim(r.Past)
	return b.run("f32_rotary", w, placeOf(*x), r.Cos.Operand, r.Sin.Operand, r.Index.Operand, r.Norm.Operand, placeOf(out))
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

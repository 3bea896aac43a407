package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var poolRows = []row{
	rowFor("windows", bindPool),
	rowFor("fold", bindCol2Im),
	rowFor("unpool", bindMaxUnpool),
}

// bindCol2Im sums, for each pixel, the elements of all blocks that cover it.
func bindCol2Im(o *nn.Col2Im, b *binder) error {
	variant := b.typeName(b.DType(0))
	var lists [3][]int
	var err error
	for i := 1; i < 3; i++ {
		list, ok := b.In[i].IntVec()
		if !ok {
			return &device.NeedValue{Input: i}
		}
		lists[i] = b.known(list...)
	}
	f, err := o.Extents(b.Shape(0), lists[1], lists[2])
	if err != nil {
		return err
	}
	if len(f.Image) > spatialAxes {
		return device.Refuse("an image of %d axes", len(f.Image))
	}
	n := b.OutShape(0).Len()
	var w words
	w.int(n, f.Blocks.Len())
	for _, list := range [][]int{f.Image, f.Blocks, f.Block, f.Stride, f.Dilation} {
		w.int(spread(list, 1)...)
	}
	w.int(spread(f.Pad, 0)...)
	defer b.works(n * f.Block.Len())
	return b.flat("pool/fold", variant, n, nil, w, b.in(0), b.out(0))
}

// unpoolAxes is the axes of pool/unpool.
const unpoolAxes = 2 + spatialAxes

// bindMaxUnpool notes the last element written to each place, and writes only these.
func bindMaxUnpool(o *nn.MaxUnpool, b *binder) error {
	variant := b.widthName(b.DType(0))
	indexWords := b.intWords(b.DType(1))
	x, y := b.Shape(0), b.OutShape(0)
	var given []int
	if b.Has(2) {
		given = y
	}
	from, to, err := o.Extents(x, given)
	if err != nil {
		return err
	}
	if len(to) > unpoolAxes || b.Shape(1).Len() != x.Len() {
		return device.Refuse("a value of %d axes with %v indices", len(to), b.Shape(1))
	}
	n := x.Len()
	w := words{uint32(n), uint32(from.Len())}
	for _, s := range []tensor.Shape{from, to} {
		for range unpoolAxes - len(s) {
			w.int(1)
		}
		w.int(s...)
	}
	winners := b.temp(4 * y.Len())
	if err := b.clear(winners, tensor.I32, y.Len()); err != nil {
		return err
	}
	if err := b.clear(b.out(0), b.DType(0), y.Len()); err != nil {
		return err
	}
	for _, note := range []uint32{1, 0} {
		if err := b.flat("pool/unpool", variant, n, []uint32{note, uint32(indexWords)}, w, b.in(0), b.in(1), winners,
			b.out(0), b.fault("the index of element %d is not there")); err != nil {
			return err
		}
	}
	return nil
}

func bindPool(o *nn.Pool, b *binder) error {
	variant := b.floatName(b.DType(0))
	p, err := o.Windows(b.Shape(0))
	if err != nil {
		return err
	}
	if len(p.Axes) > spatialAxes {
		return device.Refuse("a window of %d axes", len(p.Axes))
	}
	var in, out, taps, stride, dilation, pad, end []int
	for _, a := range p.Axes {
		in, out, taps = append(in, a.In), append(out, a.Out), append(taps, a.Taps)
		stride, dilation, pad, end = append(stride, a.Stride), append(dilation, a.Dilation), append(pad, a.Pad),
			append(end, a.PadEnd)
	}
	n := b.OutShape(0).Len()
	var w words
	w.int(n)
	for _, list := range [][]int{in, out, taps, stride, dilation} {
		w.int(spread(list, 1)...)
	}
	w.int(spread(pad, 0)...)
	w.int(spread(end, 0)...)
	w.bool(p.CountPad)
	w.float(o.P)
	w.int(b.Shape(0)[1])
	kind := map[nn.PoolKind]uint32{nn.PoolMax: 0, nn.PoolNorm: 2}[o.Kind]
	if o.Kind != nn.PoolMax && o.Kind != nn.PoolNorm {
		kind = 1
	}
	defer b.works(n * product3(taps))
	indices := uint32(kit.Btoi(b.Wants(1)))
	if indices != 0 && o.ColumnMajor {
		indices = 2
	}
	last := uint32(kit.Btoi(hasLast(b.Binding)))
	return b.flat("pool/pool", variant, n, []uint32{kind, indices, last}, w, b.in(0), b.out(0), b.out(1))
}

package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/op/nn"
)

var poolRows = []row{
	rowFor("windows", bindPool),
}

func bindPool(o *nn.Pool, b *binder) error {
	variant, err := floatName(b.DType(0))
	if err != nil {
		return err
	}
	p, err := o.Windows(b.Shape(0))
	if err != nil {
		return err
	}
	switch {
	case b.Wants(1):
		return device.Refuse("indices of maxima are found in Go")
	case len(p.Axes) > spatialAxes:
		return device.Refuse("a window of %d axes", len(p.Axes))
	}
	var in, out, taps, stride, dilation, pad, end []int
	for _, a := range p.Axes {
		in, out, taps = append(in, a.In), append(out, a.Out), append(taps, a.Taps)
		stride, dilation, pad, end = append(stride, a.Stride), append(dilation, a.Dilation), append(pad, a.Pad), append(end, a.PadEnd)
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
	kind := map[nn.PoolKind]uint32{nn.PoolMax: 0, nn.PoolNorm: 2}[o.Kind]
	if o.Kind != nn.PoolMax && o.Kind != nn.PoolNorm {
		kind = 1
	}
	defer b.works(n * product3(taps))
	return b.flat("pool/pool", variant, n, []uint32{kind}, w, b.in(0), b.out(0))
}

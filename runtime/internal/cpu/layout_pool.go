package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var blockedPoolRows = []blockedRow{
	blockedRowFor("windows", offerPool, bindBlockedPool),
	blockedRowFor("reduce", offerGlobalPool, bindBlockedGlobalPool),
}

// offerPool accepts maxima and means over up to three axes.
func offerPool(o *nn.Pool, b *device.Binding, l device.Layout) *offer {
	if b.Wants(1) {
		return nil
	}
	if o.Kind == nn.PoolMax && blockableAs(b.In[0], isByte) && blockableAs(b.Out[0], isByte) {
		n, blocks := elementCounts(b.In[0], l)
		return &offer{in: []int{0}, out: true, plain: byteElement * n, blocked: byteElement * blocks}
	}
	if !blockable(b.In[0]) || !blockable(b.Out[0]) || o.Kind == nn.PoolNorm || len(b.In[0].Dims) > 5 {
		return nil
	}
	p, err := o.Windows(b.Shape(0))
	if err != nil {
		return nil
	}
	rows, columns := 1, p.Axes[len(p.Axes)-1].Taps
	for _, a := range p.Axes[:len(p.Axes)-1] {
		rows *= a.Taps
	}
	w := windowOf(p.Planes, b.Shape(0)[2:], b.OutShape(0)[2:], rows*columns)
	blocks := w
	blocks.planes = l.Extents(b.Shape(0))[:2].Len()
	return &offer{in: []int{0}, out: true, plain: w.poolCost(rows + columns), blocked: blocks.blockedCost(l)}
}

func bindBlockedPool(o *nn.Pool, b *binder) error {
	p, err := o.Windows(b.Shape(0))
	if err != nil {
		return err
	}
	if isByte(b.DType(0)) {
		return b.poolBytes(bytePool(&quant.BytePooling{Pooling: *p, Inner: 1}, b.Shape(0), b.InLayout(0)), true)
	}
	return b.run("f32_pooling_blocked", blockedPoolWords(p, o.Kind == nn.PoolMax, b.Shape(0), b.OutLayout(0)), b.in(0),
		b.out(0))
}

// blockedPoolWords is nacre_pooling_blocked_words of csrc/pool/blocked.h for a value of shape s.
func blockedPoolWords(p *nn.Pooling, maximum bool, s tensor.Shape, l device.Layout) (w words) {
	planes := *p
	planes.Planes = l.Extents(s)[:2].Len()
	w.pooling(&planes, maximum)
	w.int(l.Block())
	return w
}

// offerGlobalPool accepts maxima, means, and norms that are reductions.
func offerGlobalPool(o *nn.GlobalPool, b *device.Binding, l device.Layout) *offer {
	if _, _, _, ok := o.Reduction(); !ok || !blockable(b.In[0]) || !blockable(b.Out[0]) {
		return nil
	}
	n, blocks := elementCounts(b.In[0], l)
	planes := float64(b.Shape(0)[:2].Len())
	return &offer{in: []int{0}, out: true, plain: planes*globalPlane + globalElement*n, blocked: globalElement * blocks}
}

// bindBlockedGlobalPool reduces the pixels of every block.
func bindBlockedGlobalPool(o *nn.GlobalPool, b *binder) error {
	s := b.InLayout(0).Extents(b.Shape(0))
	last := len(s) - 1
	r, err := lower.GlobalPool(o, lower.Along(graph.DimsOf(tensor.Shape{s[:2].Len(), s[2:last].Len(), s[last]}), 1))
	if err != nil {
		return err
	}
	r.From, r.To, r.X, r.Y = tensor.F32, tensor.F32, b.in(0), b.out(0)
	return b.Reduce(r)
}

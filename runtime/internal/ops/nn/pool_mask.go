package nn

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// maskedPool is MaxpoolWithMask: MaxPool with a mask of the input's planes. In each row of a
// window, the elements from the first masked one on are left out. In a plane with more than one
// axis, the first element is never masked. If no element is left, the result is the lowest float32.
type maskedPool struct{ Pool }

func newMaskedPool(n *op.Node) (op.Op, error) {
	o, err := newPool(PoolMax)(n)
	if err != nil {
		return nil, err
	}
	return &maskedPool{*o.(*Pool)}, nil
}

// Infer checks the mask and applies the rule of Pool.
func (o *maskedPool) Infer(c *op.Infer) error {
	x, mask := c.In[0], c.In[1]
	if mask.DType != tensor.I32 || x.Dims != nil && mask.Dims != nil && len(x.Dims) != len(mask.Dims) {
		return graph.Errorf(graph.ErrShape, "mask %v is no int32 with the axes of %v", mask.Type, x.Type)
	}
	return o.Pool.Infer(c)
}

// Run computes in Go.
func (o *maskedPool) Run(c *op.Run) error {
	p, err := o.Windows(c.In[0].Shape())
	if err != nil || c.Out[0].Len() == 0 {
		return err
	}
	x, out, mask := tensor.View[float32](c.In[0]), tensor.View[float32](c.Out[0]), tensor.View[int32](c.In[1])
	shape, channels := c.In[0].Shape(), c.In[1].Shape()[:2].Len()
	plane, row := shape[2:].Len(), shape[len(shape)-1]
	if channels == 0 || len(mask) < plane+channels-1 {
		return graph.Errorf(graph.ErrShape, "mask %v is smaller than a plane of %v", c.In[1], c.In[0])
	}
	// Windows over the other axes list rows; windows along the last axis then list elements.
	axis, lead := p.Axes[len(p.Axes)-1], *p
	lead.Axes = p.Axes[:len(p.Axes)-1]
	rows, line := plane/max(row, 1), len(shape) == 3
	spans := make([][2]int, axis.Out) // first element and end of each window
	for o := range spans {
		first, count, _ := tapsOf(axis, o, false)
		at := o*axis.Stride + first*axis.Dilation - axis.Pad
		spans[o] = [2]int{at, at + count*axis.Dilation}
	}
	pace, work := c.Pace(), 0 // per row
	for _, span := range spans {
		work += 8 + 2*(span[1]-span[0])/axis.Dilation
	}
	eachWindow(pace, &lead, func(i int, taps []int, _ int) {
		to := out[i*axis.Out:][:axis.Out]
		for o := range to {
			to[o] = -math.MaxFloat32
		}
		for _, r := range taps {
			base := r / rows * plane
			from := r*row - base
			keep, x := mask[base%channels+from:][:row], x[base+from:][:row]
			pace.Work(work)
			for o, span := range spans {
				best := to[o]
				for at := span[0]; at < span[1]; at += axis.Dilation {
					if keep[at] == 0 && (line || from+at > 0) {
						break
					}
					best = max(best, x[at])
				}
				to[o] = best
			}
		}
	})
	return nil
}

var maskedRows = []op.Row{
	{Domain: kit.Microsoft, Name: "MaxpoolWithMask", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32}, New: newMaskedPool},
}

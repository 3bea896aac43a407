package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/array"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var reorderRows = []blockedRow{
	blockedRowFor("reorder", offerReorder, bindReorder),
}

func offerReorder(_ device.Reorder, b *device.Binding, l device.Layout) *offer {
	from, to := b.InLayout(0), b.OutLayout(0)
	if !movable(b.In[0]) || min(from, to) != device.Plain || max(from, to) != l {
		return nil
	}
	n, _ := elementCounts(b.In[0], l)
	x := &offer{out: to != device.Plain, blocked: reorderCommand + reorderElement*n}
	if from != device.Plain {
		x.in = []int{0}
	}
	return x
}

// bindReorder copies between a plain and a blocked value.
func bindReorder(_ device.Reorder, b *binder) error {
	block := max(b.InLayout(0), b.OutLayout(0)).Block()
	return b.copy(b.DType(0), reorderCopies(b.Shape(0), block, b.InLayout(0) == device.Plain), b.in(0), b.out(0))
}

// reorderCopies returns the copies into blocks, or out of them: one of the whole blocks and one of
// the last block, if it has padding.
func reorderCopies(s tensor.Shape, block int, into bool) []array.Copy {
	images, channels, inner := s[0], s[1], s[2:].Len()
	blocks := (channels + block - 1) / block
	known := graph.Known
	part := func(first, count, width int) array.Copy {
		c := array.Copy{From: known(first * block * inner), To: known(first * block * inner), Axes: []array.CopyAxis{
			{N: known(images), From: known(channels * inner), To: known(blocks * block * inner)},
			{N: known(count), From: known(block * inner), To: known(block * inner)},
			{N: known(inner), From: known(1), To: known(block)},
			{N: known(width), From: known(inner), To: known(1)},
		}}
		if into {
			return c
		}
		for i, a := range c.Axes {
			c.Axes[i].From, c.Axes[i].To = a.To, a.From
		}
		c.Axes[2], c.Axes[3] = c.Axes[3], c.Axes[2]
		return c
	}
	var list []array.Copy
	if whole := channels / block; whole > 0 {
		list = append(list, part(0, whole, block))
	}
	if rest := channels % block; rest > 0 {
		list = append(list, part(channels/block, 1, rest))
	}
	return list
}

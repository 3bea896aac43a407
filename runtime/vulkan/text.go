package vulkan

import (
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/text"
)

var textRows = []row{
	rowFor("grams", bindTfIdf),
}

// Bounds of a result: its coordinates, each with a list of n-grams, and the items of a row.
const (
	mostCoordinates = 1 << 20
	mostItems       = 1 << 16
)

// bindTfIdf counts the n-grams of a pool of integers.
func bindTfIdf(o *text.TfIdf, b *binder) error {
	size := b.intWords(b.DType(0))
	x, y := b.Shape(0), b.OutShape(0)
	n, width := x[len(x)-1], y[len(y)-1]
	if width > mostCoordinates || n > mostItems {
		return device.Refuse("%d items are counted at %d coordinates", n, width)
	}
	grams, longest := o.Grams(), 0
	firsts, starts := make([]uint32, width+1), make([]uint32, 1, len(grams)+1)
	var items []uint32
	weights := make([]float32, 0, len(grams)+1)
	for _, g := range grams {
		firsts[g.To+1]++
		longest = max(longest, len(g.Items))
		weights = append(weights, g.Weight)
		for _, v := range g.Items {
			items = append(items, uint32(v), uint32(uint64(v)>>32))
		}
		starts = append(starts, uint32(len(items)/2))
	}
	most := uint32(0)
	for i := range width {
		most = max(most, firsts[i+1])
		firsts[i+1] += firsts[i]
	}
	distances := min(o.Skips, n) + 1
	b.Note(b.loops(int(most) * (1 + distances*n*(1+longest))))
	flags, w := words{uint32(size)}, words{}
	w.int(y.Len(), width, n, distances, len(grams))
	flags.bool(o.Counted(), o.Weighted())
	lists := append(append(firsts, starts...), items...)
	return b.flat("text/grams", "integers", y.Len(), flags, w, b.in(0), constant(lists...),
		constant(append(weights, 0)...), b.out(0))
}

package openinfer

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// window finds the elements of a tensor that each result of a reduction reads.
type window struct {
	t     *tensor.Tensor
	kept  []spreadAxis // the axes of the results, outermost first, neighbours merged
	over  []spreadAxis // the reduced axes without inner
	inner int          // contiguous elements reduced to one result; 0 if results are contiguous
	count int          // elements of a result
}

// newWindow returns the windows of a reduction along axes.
func newWindow(t *tensor.Tensor, axes []int) (*window, error) {
	shape := t.Shape()
	list, err := kit.NormAxes(axes, len(shape))
	if err != nil {
		return nil, err
	}
	w := &window{t: t.Aligned(), count: 1}
	step := shape.Len()
	for i, n := range shape {
		if n == 0 {
			step = 0
		} else {
			step /= n
		}
		if slices.Contains(list, i) {
			w.count *= n
			w.over = joined(w.over, n, step)
		} else {
			w.kept = joined(w.kept, n, step)
		}
	}
	if last := len(w.over) - 1; last >= 0 && w.over[last].step == 1 {
		w.inner, w.over = w.over[last].n, w.over[:last]
	}
	return w, nil
}

// joined appends an axis, or merges it with the last one if they are contiguous.
func joined(axes []spreadAxis, n, step int) []spreadAxis {
	last := len(axes) - 1
	switch {
	case n == 1:
	case last >= 0 && axes[last].step == step*n:
		axes[last] = spreadAxis{axes[last].n * n, step}
	default:
		axes = append(axes, spreadAxis{n, step})
	}
	return axes
}

// run returns the number of results from result at on that read contiguous elements.
func (w *window) run(at int) int {
	if w.inner > 0 || len(w.kept) == 0 {
		return 1
	}
	n := w.kept[len(w.kept)-1].n
	return n - at%n
}

// each calls f with the offset of every element of result at. If w.inner is not 0, it calls f once
// per w.inner contiguous elements.
func (w *window) each(c *op.Run, at int, f func(from int)) error {
	from := 0
	for _, axis := range slices.Backward(w.kept) {
		from += at % axis.n * axis.step
		at /= axis.n
	}
	if w.count == 0 {
		return nil
	}
	index := make([]int, len(w.over))
	for {
		if c.Stopped() {
			return op.ErrStopped
		}
		f(from)
		i := len(index) - 1
		for ; i >= 0; i-- {
			index[i]++
			from += w.over[i].step
			if index[i] < w.over[i].n {
				break
			}
			from -= w.over[i].step * w.over[i].n
			index[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

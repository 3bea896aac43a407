package cpu

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/device"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Limits of convolutions of few positions.
const (
	mostFewPositions = 14      // rows of the tallest tile of f32_gemm
	leastFewFilters  = 16      // columns below which tiles are no fuller than those of the other rows
	leastFewWeights  = 1 << 12 // that make up for two more commands
	mostFewBoxes     = 64
)

// bindConvFew binds a convolution of so few positions that they leave most columns of a
// tile empty: positions are the rows of the product, and filters its columns.
func bindConvFew(o *op.Conv, then op.Epilogue, b *binder) error {
	s, err := o.Shape(b.Shape(0), b.Shape(1))
	if err != nil {
		return err
	}
	f := &fewConv{ConvShape: s, positions: tensor.Shape(s.Out).Len(), taps: tensor.Shape(s.Kernel).Len()}
	f.rows, f.depth = s.Images*f.positions, s.Channels*f.taps
	switch {
	case b.DType(0) != tensor.F32 || s.Groups != 1 || b.Has(3) || b.Const(1) == nil:
		return device.Refuse("few positions are computed of float32 in one group, by constant weights")
	case f.rows == 0 || f.rows > mostFewPositions || s.Filters < leastFewFilters || s.Filters*f.depth < leastFewWeights:
		return device.Refuse("%d positions of %d filters fill columns of tiles", f.rows, s.Filters)
	}
	boxes, padded := f.boxes()
	if len(boxes) > mostFewBoxes {
		return device.Refuse("%d boxes are too many", len(boxes))
	}
	columns := b.temp(4 * f.rows * f.depth)
	if padded {
		zero := op.Copy{From: graph.Known(0), To: graph.Known(0), Axes: []op.CopyAxis{copyAxis(f.rows*f.depth, 0, 1)}}
		if err := b.copy(tensor.F32, []op.Copy{zero}, constant[float32](0), columns); err != nil {
			return err
		}
	}
	if err := b.copy(tensor.F32, boxes, b.in(0), columns); err != nil {
		return err
	}
	out := b.out(0)
	if f.positions > 1 {
		out = b.temp(4 * f.rows * s.Filters)
	}
	if err := b.fewProduct(f, then, columns, out); err != nil || f.positions == 1 {
		return err
	}
	// [images,positions,filters] becomes [images,filters,positions].
	turn := op.Copy{From: graph.Known(0), To: graph.Known(0), Axes: []op.CopyAxis{
		copyAxis(s.Images, f.positions*s.Filters, f.positions*s.Filters), copyAxis(s.Filters, 1, f.positions), copyAxis(f.positions, s.Filters, 1),
	}}
	return b.copy(tensor.F32, []op.Copy{turn}, out, b.out(0))
}

// fewConv is a convolution as the product of a matrix [rows,depth], a row for each
// position of each image, and the weights.
type fewConv struct {
	*op.ConvShape
	positions, taps, rows, depth int
}

func copyAxis(n, from, to int) op.CopyAxis {
	return op.CopyAxis{N: graph.Known(n), From: graph.Known(from), To: graph.Known(to)}
}

// fewProduct adds the product of the matrix and the weights, with the bias and the
// epilogue.
func (b *binder) fewProduct(f *fewConv, then op.Epilogue, columns, out device.Operand) error {
	apply, err := b.mapped(tensor.F32, then)
	if err != nil {
		return err
	}
	one, depth := graph.Known(1), graph.Known(f.depth)
	g := &gemm{
		product: &product{m: graph.Known(f.rows), n: graph.Known(f.Filters), k: depth, aRow: depth, aCol: one, bRow: one, bCol: depth},
		dtype:   tensor.F32, alpha: 1, then: then, apply: apply,
	}
	k, err := b.choose("f32_gemm", g.words())
	if err != nil {
		return err
	}
	weights, packed, err := b.packed(1, k, g.forPacking(), 1)
	if err != nil {
		return err
	}
	if g.bPacked = packed; !packed {
		weights = b.in(1)
	}
	return b.add(k, []bindings.Kernel{apply}, g.words(), columns, weights, device.Operand{}, b.in(2), device.Operand{}, out)
}

// tapRun is taps of one axis that meet the same positions: taps from tap on, and positions
// from first up to end.
type tapRun struct{ tap, taps, first, end int }

// runs cuts the taps of an axis where the positions that they meet inside the value
// change.
func (f *fewConv) runs(axis int) (list []tapRun, padded bool) {
	for t := range f.Kernel[axis] {
		r := tapRun{tap: t, taps: 1, end: f.Out[axis]}
		at := t*f.Dilation[axis] - f.Pad[axis]
		for r.first < r.end && r.first*f.Stride[axis]+at < 0 {
			r.first++
		}
		for r.end > r.first && (r.end-1)*f.Stride[axis]+at >= f.In[axis] {
			r.end--
		}
		padded = padded || r.end-r.first < f.Out[axis]
		if last := len(list) - 1; last >= 0 && list[last].first == r.first && list[last].end == r.end {
			list[last].taps++
		} else if r.end > r.first {
			list = append(list, r)
		} else {
			list = append(list, tapRun{tap: t})
		}
	}
	return list, padded
}

// boxes are the copies that make the matrix, and whether elements between them are zero.
func (f *fewConv) boxes() (list []op.Copy, padded bool) {
	plane := tensor.Shape(f.In).Len()
	start := op.Copy{From: graph.Known(0), To: graph.Known(0), Axes: []op.CopyAxis{
		copyAxis(f.Images, f.Channels*plane, f.positions*f.depth), copyAxis(f.Channels, plane, f.taps),
	}}
	list = []op.Copy{start}
	in, out, tap := 1, 1, 1 // strides, from the last axis on
	for axis := len(f.In) - 1; axis >= 0; axis-- {
		runs, cut := f.runs(axis)
		padded = padded || cut
		var next []op.Copy
		for _, c := range list {
			for _, r := range runs {
				if r.end == r.first {
					continue
				}
				from := (r.first*f.Stride[axis] + r.tap*f.Dilation[axis] - f.Pad[axis]) * in
				n := op.Copy{From: c.From.Add(graph.Known(from)), To: c.To.Add(graph.Known(r.first*out*f.depth + r.tap*tap))}
				n.Axes = append(append(n.Axes, c.Axes...),
					copyAxis(r.end-r.first, f.Stride[axis]*in, out*f.depth), copyAxis(r.taps, f.Dilation[axis]*in, tap))
				next = append(next, n)
			}
		}
		list = next
		in, out, tap = in*f.In[axis], out*f.Out[axis], tap*f.Kernel[axis]
	}
	return list, padded
}

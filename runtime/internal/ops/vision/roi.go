package vision

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// MaxRoiGrid bounds the samples of one bin along an axis, in case a region is far larger than the
// image.
const MaxRoiGrid = 1 << 12

// RoiAlign samples regions of feature maps between pixels and pools the samples of every bin.
type RoiAlign struct {
	Height, Width int
	Ratio         int // samples of a bin along each axis; 0 for one per pixel
	Scale         float64
	Offset        float64 // of pixel centres
	Largest       bool
}

func newRoiAlign(n *op.Node) (op.Op, error) {
	o := &RoiAlign{
		Height: n.Int("output_height", 1), Width: n.Int("output_width", 1),
		Ratio: n.Int("sampling_ratio", 0), Scale: float64(n.Float("spatial_scale", 1)),
	}
	if o.Height < 1 || o.Width < 1 || o.Ratio < 0 || o.Ratio > MaxRoiGrid {
		return nil, graph.Errorf(graph.ErrFormat,
			"output is %dx%d of %d samples; it takes 1 or more, and samples from 0 to %d",
			o.Height, o.Width, o.Ratio, MaxRoiGrid)
	}
	switch mode := n.Str("mode", "avg"); mode {
	case "avg", "max":
		o.Largest = mode == "max"
	default:
		return nil, graph.Errorf(graph.ErrFormat, "mode is %q; it takes avg or max", mode)
	}
	if n.Since >= 16 {
		switch mode := n.Str("coordinate_transformation_mode", "half_pixel"); mode {
		case "half_pixel":
			o.Offset = 0.5
		case "output_half_pixel":
		default:
			return nil, graph.Errorf(graph.ErrFormat,
				"coordinate_transformation_mode is %q; it takes half_pixel or output_half_pixel", mode)
		}
	}
	return o, nil
}

// Infer sets [regions,channels,height,width].
func (o *RoiAlign) Infer(c *op.Infer) error {
	if d := c.In[2].DType; !d.IsInteger() {
		return graph.Errorf(graph.ErrShape, "batch_indices have elements of type %v, not int64", d)
	}
	return inferRegions(c, 4, o.Height, o.Width)
}

// inferRegions infers the output of an operator on images and a list of regions, each of the given
// count of numbers.
func inferRegions(c *op.Infer, numbers, height, width int) error {
	x, rois := c.In[0], c.In[1]
	if rois.DType != x.DType {
		return graph.Errorf(graph.ErrShape, "images are %v and regions %v", x.Type, rois.Type)
	}
	channels, count := graph.Unknown(), graph.Unknown()
	if rank, ok := x.Rank(); ok {
		if rank != 4 {
			return graph.Errorf(graph.ErrShape, "input is %v; it takes [batch,channels,height,width]", x.Type)
		}
		channels = x.Dims[1]
	}
	if rank, ok := rois.Rank(); ok {
		if rank != 2 || rois.Dims[1].IsKnown() && !rois.Dims[1].Is(numbers) {
			return graph.Errorf(graph.ErrShape, "regions are %v; they take [regions,%d]", rois.Type, numbers)
		}
		count = rois.Dims[0]
	}
	c.Set(0, x.DType, graph.Dims{count, channels, graph.Known(height), graph.Known(width)})
	return nil
}

// Run pools the regions.
func (o *RoiAlign) Run(c *op.Run) error {
	batch, err := op.Ints(c.In[2])
	if err != nil {
		return err
	}
	if n := c.In[1].Len(); n != 4*len(batch) {
		return graph.Errorf(graph.ErrShape, "%v regions with %d batch indices", c.In[1].Shape(), len(batch))
	}
	shape := c.In[0].Shape()
	if c.In[0].DType() == tensor.F64 {
		x, rois, out := tensor.View[float64](c.In[0]), tensor.View[float64](c.In[1]), tensor.View[float64](c.Out[0])
		return alignRegions(c, o, x, shape, rois, batch, out)
	}
	x, out, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	rois, err := c.Floats(c.In[1])
	if err != nil {
		return err
	}
	if err := alignRegions(c, o, x, shape, rois, batch, out); err != nil {
		return err
	}
	c.PutFloats(c.Out[0], out)
	return nil
}

// between is a place between two neighbours along an axis, with their weights. Outside the image
// both weights are 0.
type between[T float32 | float64] struct {
	lo, hi         int
	loPart, hiPart T
}

// axisSamples returns the places of the samples along an axis of n pixels, the same number for each
// bin. It computes in the image's type, as PyTorch and ONNX Runtime do.
func axisSamples[T float32 | float64](o *RoiAlign, from, to T, bins, n int) ([]between[T], error) {
	start, end := T(from*T(o.Scale))-T(o.Offset), T(to*T(o.Scale))-T(o.Offset)
	extent := end - start
	if o.Offset == 0 {
		extent = max(extent, 1)
	}
	bin, count := extent/T(bins), o.Ratio
	if count == 0 {
		f := math.Ceil(float64(bin))
		if !(f <= MaxRoiGrid) {
			return nil, graph.Errorf(graph.ErrShape, "a region from %g to %g takes more than %d samples a bin",
				from, to, MaxRoiGrid)
		}
		count = max(int(f), 0)
	}
	list := make([]between[T], 0, bins*count)
	for b := range bins {
		for i := range count {
			list = append(list, placeBetween(start+T(T(b)*bin)+T((T(i)+0.5)*bin)/T(count), n))
		}
	}
	return list, nil
}

func placeBetween[T float32 | float64](at T, n int) between[T] {
	if !(at >= -1 && at <= T(n)) {
		return between[T]{}
	}
	at = max(at, 0)
	lo := int(at)
	if lo >= n-1 {
		return between[T]{n - 1, n - 1, 1, 0}
	}
	part := at - T(lo)
	return between[T]{lo, lo + 1, 1 - part, part}
}

// alignRegions samples the regions of images of the given shape.
func alignRegions[T float32 | float64](
	c *op.Run, o *RoiAlign, x []T, shape tensor.Shape, rois []T, batch []int, out []T,
) error {
	if len(x) == 0 {
		clear(out)
		return nil
	}
	image, bins := shape[2]*shape[3], o.Height*o.Width
	return c.Parallel(len(batch), 1, func(first, end int) error {
		pace := c.Pace()
		for r := first; r < end; r++ {
			b := batch[r]
			if b < 0 || b >= shape[0] {
				return graph.Errorf(graph.ErrShape, "batch index %d of %d images", b, shape[0])
			}
			roi := rois[4*r:][:4]
			ys, err := axisSamples(o, roi[1], roi[3], o.Height, shape[2])
			if err != nil {
				return err
			}
			xs, err := axisSamples(o, roi[0], roi[2], o.Width, shape[3])
			if err != nil {
				return err
			}
			h, w := len(ys)/o.Height, len(xs)/o.Width
			for ch := range shape[1] {
				plane, to := x[(b*shape[1]+ch)*image:][:image], out[(r*shape[1]+ch)*bins:][:bins]
				for i := range to {
					to[i] = poolSamples(pace, o, plane, shape[3], ys[i/o.Width*h:][:h], xs[i%o.Width*w:][:w])
				}
			}
		}
		return nil
	})
}

// poolSamples returns the mean of the samples of a bin. For max, it returns the largest of their
// terms, as the standard does: a sample is the sum of four terms.
func poolSamples[T float32 | float64](pace *op.Pace, o *RoiAlign, plane []T, row int, ys, xs []between[T]) T {
	if len(ys)*len(xs) == 0 {
		return 0
	}
	sum, top := 0.0, T(math.Inf(-1))
	for i := range ys {
		pace.Work(4 * len(xs))
		y := &ys[i]
		above, below := plane[y.lo*row:][:row], plane[y.hi*row:][:row]
		for k := range xs {
			x := &xs[k]
			a, b := y.loPart*x.loPart*above[x.lo], y.loPart*x.hiPart*above[x.hi]
			c, d := y.hiPart*x.loPart*below[x.lo], y.hiPart*x.hiPart*below[x.hi]
			if !o.Largest {
				sum += float64(a) + float64(b) + float64(c) + float64(d)
				continue
			}
			if a > top {
				top = a
			}
			if b > top {
				top = b
			}
			if c > top {
				top = c
			}
			if d > top {
				top = d
			}
		}
	}
	if o.Largest {
		return top
	}
	return T(sum / float64(len(ys)*len(xs)))
}

// MaxRoiPool cuts regions of whole pixels into bins and takes the largest pixel of each. An empty
// bin gives 0.
type MaxRoiPool struct {
	Height, Width int
	Scale         float64
}

func newMaxRoiPool(n *op.Node) (op.Op, error) {
	shape := n.Ints("pooled_shape")
	if len(shape) != 2 || shape[0] < 1 || shape[1] < 1 {
		return nil, graph.Errorf(graph.ErrFormat, "pooled_shape is %v; it takes two extents of 1 or more", shape)
	}
	return &MaxRoiPool{shape[0], shape[1], float64(n.Float("spatial_scale", 1))}, nil
}

// Infer sets [regions,channels,height,width].
func (o *MaxRoiPool) Infer(c *op.Infer) error { return inferRegions(c, 5, o.Height, o.Width) }

// Run pools the regions.
func (o *MaxRoiPool) Run(c *op.Run) error {
	rois := kit.Doubles(c.In[1])
	if c.In[0].DType() == tensor.F64 {
		return poolRegions(c.Pace(), o, tensor.View[float64](c.In[0]), c.In[0].Shape(), rois, tensor.View[float64](c.Out[0]))
	}
	x, out, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	if err := poolRegions(c.Pace(), o, x, c.In[0].Shape(), rois, out); err != nil {
		return err
	}
	c.PutFloats(c.Out[0], out)
	return nil
}

// bins returns, for every bin along an axis of n pixels, its first pixel and the pixel after its
// last.
func (o *MaxRoiPool) bins(from, to float64, bins, n int) ([][2]int, error) {
	start, end := math.Round(from*o.Scale), math.Round(to*o.Scale)
	const far = 1 << 40
	if !(math.Abs(start) < far && math.Abs(end) < far) {
		return nil, graph.Errorf(graph.ErrShape,
			"a region of interest from %g to %g; scaled by %g, both must be within ±%d", from, to, o.Scale, int64(far))
	}
	size := max(end-start+1, 1) / float64(bins)
	list := make([][2]int, bins)
	for b := range list {
		lo, hi := math.Floor(float64(b)*size)+start, math.Ceil(float64(b+1)*size)+start
		list[b] = [2]int{int(min(max(lo, 0), float64(n))), int(min(max(hi, 0), float64(n)))}
	}
	return list, nil
}

func poolRegions[T float32 | float64](
	pace *op.Pace, o *MaxRoiPool, x []T, shape tensor.Shape, rois []float64, out []T,
) error {
	image, bins, tops := shape[2]*shape[3], o.Height*o.Width, make([]T, shape[3])
	for r := range len(rois) / 5 {
		roi := rois[5*r:][:5]
		if !(roi[0] >= 0 && roi[0] < float64(shape[0])) {
			return graph.Errorf(graph.ErrShape, "batch index %g of %d images", roi[0], shape[0])
		}
		ys, err := o.bins(roi[2], roi[4], o.Height, shape[2])
		if err != nil {
			return err
		}
		xs, err := o.bins(roi[1], roi[3], o.Width, shape[3])
		if err != nil {
			return err
		}
		for ch := range shape[1] {
			plane := x[(int(roi[0])*shape[1]+ch)*image:][:image]
			to := out[(r*shape[1]+ch)*bins:][:bins]
			for i, y := range ys {
				pace.Work(max(y[1]-y[0], 1) * (len(tops) + len(xs)))
				largestInBand(plane, tops, y, xs, to[i*o.Width:][:o.Width])
			}
		}
	}
	return nil
}

// largestInBand sets out to the largest elements of adjacent bins, or 0 for an empty bin. It
// overwrites tops, which has the length of a row.
func largestInBand[T float32 | float64](plane, tops []T, ys [2]int, xs [][2]int, out []T) {
	n, first, end := len(tops), xs[0][0], xs[len(xs)-1][1]
	if ys[0] >= ys[1] || first >= end {
		clear(out)
		return
	}
	band := tops[first:end]
	copy(band, plane[ys[0]*n+first:])
	for y := ys[0] + 1; y < ys[1]; y++ {
		for k, v := range plane[y*n+first : y*n+end] {
			band[k] = max(band[k], v)
		}
	}
	for i, x := range xs {
		if out[i] = 0; x[0] < x[1] {
			out[i] = tops[x[0]]
			for _, v := range tops[x[0]+1 : x[1]] {
				out[i] = max(out[i], v)
			}
		}
	}
}

var roiRows = []op.Row{
	{Name: "RoiAlign", Since: []int{10, 16, 22}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, New: newRoiAlign},
	{Name: "MaxRoiPool", Since: []int{1, 22}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, New: newMaxRoiPool},
}

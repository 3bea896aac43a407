package vision

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// CropResize is CropAndResize. It cuts regions out of feature maps and resizes each to the height
// and width given by an input, corners on corners. A region is [top,left,bottom,right], with 0 to 1
// for the whole image.
type CropResize struct {
	Nearest bool
	Outside float32 // value outside the image
}

func newCropResize(n *op.Node) (op.Op, error) {
	o := &CropResize{Outside: n.Float("extrapolation_value", 0)}
	switch mode := n.Str("mode", "bilinear"); mode {
	case "bilinear":
	case "nearest":
		o.Nearest = true
	default:
		return nil, graph.Errorf(graph.ErrFormat, "mode is %q; it takes bilinear or nearest", mode)
	}
	return o, nil
}

// Infer sets [regions,channels,height,width].
func (o *CropResize) Infer(c *op.Infer) error {
	if c.In[2].DType != tensor.I32 || c.In[3].DType != tensor.I32 {
		return graph.Errorf(graph.ErrUnsupported, "batch_indices %v and crop_size %v are not both of int32", c.In[2].Type,
			c.In[3].Type)
	}
	if err := inferRegions(c, 4, 1, 1); err != nil {
		return err
	}
	out := kit.JoinDims(c.Out[0].Dims[:2], graph.UnknownDims(2))
	if size, ok := c.In[3].KnownInts(); ok {
		if len(size) != 2 || size[0] < 1 || size[1] < 1 {
			return graph.Errorf(graph.ErrShape, "crop_size is %v; it takes a height and a width", size)
		}
		out[2], out[3] = graph.Known(size[0]), graph.Known(size[1])
	}
	c.Set(0, c.In[0].DType, out)
	return nil
}

// Run samples region by region.
func (o *CropResize) Run(c *op.Run) error {
	x, rois := c.In[0].Shape(), c.In[1].Shape()
	batch, size := tensor.View[int32](c.In[2]), tensor.View[int32](c.In[3])
	if len(size) != 2 || size[0] < 1 || size[1] < 1 || len(batch) != rois[0] {
		return graph.Errorf(graph.ErrShape, "%d regions with %d batch indices and crop_size %v", rois[0], len(batch), size)
	}
	out, err := c.Output(0, tensor.F32, tensor.Shape{rois[0], x[1], int(size[0]), int(size[1])})
	if err != nil {
		return err
	}
	if out.Len() == 0 {
		return nil
	}
	image, regions, y := tensor.View[float32](c.In[0]), tensor.View[float32](c.In[1]), tensor.View[float32](out)
	plane, cut := x[2]*x[3], int(size[0])*int(size[1])
	pace := c.Pace()
	for i, b := range batch {
		if b < 0 || int(b) >= x[0] {
			return graph.Errorf(graph.ErrShape, "batch index %d is not among %d images", b, x[0])
		}
		r := regions[4*i:][:4]
		rows, columns := places(r[0], r[2], x[2], int(size[0])), places(r[1], r[3], x[3], int(size[1]))
		for ch := range x[1] {
			pace.Work(8 * cut)
			o.sample(image[(int(b)*x[1]+ch)*plane:][:plane], y[(i*x[1]+ch)*cut:][:cut], rows, columns, x[3])
		}
	}
	return nil
}

// places returns the places of n samples from one end of a region to the other, along an axis of
// the given extent. A single sample is in the middle.
func places(from, to float32, extent, n int) []float32 {
	list := make([]float32, n)
	last := float32(extent - 1)
	for i := range list {
		if n == 1 {
			list[i] = 0.5 * (from + to) * last
			continue
		}
		list[i] = from*last + float32(i)*((to-from)*last/float32(n-1))
	}
	return list
}

// sample fills one plane of the output. A place outside the image, or NaN, gets o.Outside.
func (o *CropResize) sample(plane, out []float32, rows, columns []float32, width int) {
	height := len(plane) / max(width, 1)
	for i, y := range rows {
		for j, x := range columns {
			at := i*len(columns) + j
			if !(y >= 0 && y <= float32(height-1) && x >= 0 && x <= float32(width-1)) {
				out[at] = o.Outside
				continue
			}
			if o.Nearest {
				out[at] = plane[int(roundHalfAway(y))*width+int(roundHalfAway(x))]
				continue
			}
			top, left := int(y), int(x)
			bottom, right := int(math.Ceil(float64(y))), int(math.Ceil(float64(x)))
			fy, fx := y-float32(top), x-float32(left)
			above := plane[top*width+left] + (plane[top*width+right]-plane[top*width+left])*fx
			below := plane[bottom*width+left] + (plane[bottom*width+right]-plane[bottom*width+left])*fx
			out[at] = above + (below-above)*fy
		}
	}
}

func roundHalfAway(v float32) float64 { return math.Round(float64(v)) }

var cropResizeRows = []op.Row{
	{Domain: kit.Microsoft, Name: "CropAndResize", Since: []int{1}, In: [2]int{4, 4}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32}, New: newCropResize},
}

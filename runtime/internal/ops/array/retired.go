package array

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// imageCrop is Crop, which ONNX withdrew. It cuts borders off images,
// [batch,channels,height,width].
type imageCrop struct {
	Slice
	need [2]int // least numbers of rows and columns
}

func newImageCrop(n *op.Node) (op.Op, error) {
	border, scale := n.Ints("border"), n.Ints("scale")
	if len(border) != 4 || scale != nil && len(scale) != 2 {
		return nil, graph.Errorf(graph.ErrFormat,
			"border %v and scale %v are not left, top, right, bottom and height, width", border, scale)
	}
	for _, v := range append(border, scale...) {
		if v < 0 || v > math.MaxInt32 {
			return nil, graph.Errorf(graph.ErrFormat, "border %v or scale %v cannot be", border, scale)
		}
	}
	left, top, right, bottom := border[0], border[1], border[2], border[3]
	o := &imageCrop{Slice{attrs: true, axes: []int{2, 3}, starts: []int{top, left}, ends: []int{-bottom, -right}},
		[2]int{top + bottom, left + right}}
	if scale != nil {
		o.ends = []int{top + scale[0], left + scale[1]}
		o.need = [2]int{o.ends[0], o.ends[1]}
	}
	for i, end := range o.ends {
		if end == 0 {
			o.ends[i] = math.MaxInt32
		}
	}
	return o, nil
}

// Infer checks that the image is large enough.
func (o *imageCrop) Infer(c *op.Infer) error {
	if d := c.In[0].Dims; d != nil {
		if len(d) != 4 {
			return graph.Errorf(graph.ErrShape, "input %v is not [batch,channels,height,width]", c.In[0].Type)
		}
		for i, need := range o.need {
			if n, ok := d[2+i].Value(); ok && n < need {
				return graph.Errorf(graph.ErrShape, "axis %d of %v is shorter than %d", 2+i, c.In[0].Type, need)
			}
		}
	}
	return o.Slice.Infer(c)
}

func newDynamicSlice(*op.Node) (op.Op, error) { return &Slice{}, nil }

var retiredRows = []op.Row{
	{Name: "Crop", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Types: op.Floats, Selects: true, New: newImageCrop},
	{Name: "DynamicSlice", Since: []int{1}, In: [2]int{3, 4}, Out: [2]int{1, 1}, Selects: true, New: newDynamicSlice},
	{Domain: kit.Microsoft, Name: "SampleOp", Since: []int{1}, In: [2]int{1, 1}, Out: [2]int{1, 1}, View: true, Elementwise: true, New: newIdentity},
}

package vision

import (
	"cmp"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Suppress picks, for every class of every batch, boxes by score, best first, and
// leaves out those that overlap one picked before by more than a threshold. Of
// equal scores the box with the lower index comes first. With a score threshold,
// only boxes above it are looked at; a score that is no number never is.
type Suppress struct {
	Center bool // a box is a center and extents, not two corners
}

func newSuppress(n *op.Node) (op.Op, error) {
	switch v := n.Int("center_point_box", 0); v {
	case 0, 1:
		return &Suppress{v == 1}, nil
	default:
		return nil, graph.Errorf(graph.ErrFormat, "center_point_box is %d; it takes 0 or 1", v)
	}
}

// Infer leaves the number of boxes open.
func (o *Suppress) Infer(c *op.Infer) error {
	boxes, scores := c.In[0], c.In[1]
	if scores.DType != boxes.DType {
		return graph.Errorf(graph.ErrShape, "boxes are %v and scores %v", boxes.Type, scores.Type)
	}
	for i, v := range []*op.Value{boxes, scores} {
		if rank, ok := v.Rank(); ok && rank != 3 {
			return graph.Errorf(graph.ErrShape, "input %d is %v; it takes 3 axes", i, v.Type)
		}
	}
	if boxes.Dims != nil {
		if n, ok := boxes.Dims[2].Value(); ok && n != 4 {
			return graph.Errorf(graph.ErrShape, "boxes are %v; a box is 4 numbers", boxes.Type)
		}
	}
	c.Set(0, tensor.I64, graph.Dims{graph.Unknown(), graph.Known(3)})
	return nil
}

// pickLimits are the numbers that inputs 2 to 4 hold.
type pickLimits struct {
	most       int
	iou, score float64
	scored     bool
}

func (o *Suppress) limits(c *op.Run) (l pickLimits, err error) {
	if c.Has(2) && c.In[2].Len() > 0 {
		if l.most, err = op.ScalarInt(c.In[2], "max_output_boxes_per_class"); err != nil {
			return l, err
		}
	}
	if c.Has(3) && c.In[3].Len() > 0 {
		if l.iou, err = op.ScalarNumber(c.In[3], "iou_threshold"); err != nil {
			return l, err
		}
	}
	if c.Has(4) && c.In[4].Len() > 0 {
		l.scored = true
		l.score, err = op.ScalarNumber(c.In[4], "score_threshold")
	}
	return l, err
}

// Most returns the boxes of all classes.
func (o *Suppress) Most(in []tensor.Shape) int { return in[1].Len() }

// Check returns an error for boxes and scores that do not fit each other.
func (o *Suppress) Check(boxes, scores tensor.Shape) error {
	if len(boxes) != 3 || len(scores) != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2] {
		return graph.Errorf(graph.ErrShape, "boxes are %v and scores %v; they take [batch,boxes,4] and [batch,classes,boxes]", boxes, scores)
	}
	return nil
}

// Run computes the output.
func (o *Suppress) Run(c *op.Run) error {
	bs, ss := c.In[0].Shape(), c.In[1].Shape()
	if err := o.Check(bs, ss); err != nil {
		return err
	}
	l, err := o.limits(c)
	if err != nil {
		return err
	}
	boxes := o.corners(tensor.View[float32](c.In[0]))
	scores := tensor.View[float32](c.In[1])
	var picked []int64
	for b := range ss[0] {
		for class := range ss[1] {
			at := (b*ss[1] + class) * ss[2]
			for _, i := range pickBoxes(boxes[b*bs[1]:][:bs[1]], scores[at:][:ss[2]], l) {
				picked = append(picked, int64(b), int64(class), int64(i))
			}
		}
	}
	out, err := c.Output(0, tensor.I64, tensor.Shape{len(picked) / 3, 3})
	if err != nil {
		return err
	}
	copy(tensor.View[int64](out), picked)
	return nil
}

// corners is a box by its lower and its upper corner.
type corners struct{ lo, hi [2]float32 }

func (o *Suppress) corners(list []float32) []corners {
	boxes := make([]corners, len(list)/4)
	for i := range boxes {
		p := list[4*i:][:4]
		for a := range 2 {
			lo, hi := p[a], p[a+2]
			if o.Center {
				lo, hi = p[a]-p[a+2]/2, p[a]+p[a+2]/2
			}
			boxes[i].lo[a], boxes[i].hi[a] = min(lo, hi), max(lo, hi)
		}
	}
	return boxes
}

func (b corners) area() float32 { return (b.hi[0] - b.lo[0]) * (b.hi[1] - b.lo[1]) }

// overlaps reports whether the intersection of two boxes is more than that part
// of their union.
func (b corners) overlaps(d corners, part float64) bool {
	h := min(b.hi[0], d.hi[0]) - max(b.lo[0], d.lo[0])
	w := min(b.hi[1], d.hi[1]) - max(b.lo[1], d.lo[1])
	if !(h > 0 && w > 0) {
		return false
	}
	union := b.area() + d.area() - h*w
	return union > 0 && float64(h*w/union) > part
}

func pickBoxes(boxes []corners, scores []float32, l pickLimits) []int {
	var order, picked []int
	for i, s := range scores {
		if s == s && (!l.scored || float64(s) > l.score) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), a-b) })
	for _, i := range order {
		if len(picked) >= l.most {
			break
		}
		if !slices.ContainsFunc(picked, func(j int) bool { return boxes[i].overlaps(boxes[j], l.iou) }) {
			picked = append(picked, i)
		}
	}
	return picked
}

var suppressRows = []op.Row{
	{Name: "NonMaxSuppression", Since: []int{10, 11}, In: [2]int{2, 5}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32}, New: newSuppress},
}

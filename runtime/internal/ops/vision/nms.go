package vision

import (
	"math"
	"slices"
	"sync"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Suppress is NonMaxSuppression. For every class of every batch it picks boxes in descending order
// of score. It skips a box that overlaps a picked one by more than a threshold. The lower index
// goes first on equal scores. If a score threshold is given, only boxes above it take part. A score
// of NaN never does.
type Suppress struct {
	Center bool // a box is a center and extents; if false, two corners
}

func newSuppress(n *op.Node) (op.Op, error) {
	switch v := n.Int("center_point_box", 0); v {
	case 0, 1:
		return &Suppress{v == 1}, nil
	default:
		return nil, graph.Errorf(graph.ErrFormat, "center_point_box is %d; it takes 0 or 1", v)
	}
}

// Infer leaves the number of boxes unknown.
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

// pickLimits holds the numbers in inputs 2 to 4.
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
		if l.iou, err = kit.ScalarNumber(c.In[3], "iou_threshold"); err != nil {
			return l, err
		}
	}
	if c.Has(4) && c.In[4].Len() > 0 {
		l.scored = true
		l.score, err = kit.ScalarNumber(c.In[4], "score_threshold")
	}
	return l, err
}

// Most returns the number of boxes of all classes.
func (o *Suppress) Most(in []tensor.Shape) int { return in[1].Len() }

// Check returns an error if boxes and scores do not fit each other.
func (o *Suppress) Check(boxes, scores tensor.Shape) error {
	if len(boxes) != 3 || len(scores) != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2] {
		return graph.Errorf(graph.ErrShape,
			"boxes are %v and scores %v; they take [batch,boxes,4] and [batch,classes,boxes]", boxes, scores)
	}
	return nil
}

// Run picks the boxes.
func (o *Suppress) Run(c *op.Run) error {
	bs, ss := c.In[0].Shape(), c.In[1].Shape()
	if err := o.Check(bs, ss); err != nil {
		return err
	}
	l, err := o.limits(c)
	if err != nil {
		return err
	}
	boxes, scores := tensor.View[float32](c.In[0]), tensor.View[float32](c.In[1])
	classes := ss[:2].Len()
	lists := make([][]int32, classes)
	err = c.Parallel(classes, 1, func(first, end int) error {
		p := pickers.Get().(*picker)
		defer pickers.Put(p)
		p.center = o.Center
		for i := first; i < end; i++ {
			b := i / ss[1]
			if !p.pick(c, boxes[4*b*bs[1]:][:4*bs[1]], scores[i*ss[2]:][:ss[2]], l) {
				return op.ErrStopped
			}
			lists[i] = slices.Clone(p.picked)
		}
		return nil
	})
	if err != nil {
		return err
	}
	picked := 0
	for _, list := range lists {
		picked += len(list)
	}
	out, err := c.Output(0, tensor.I64, tensor.Shape{picked, 3})
	if err != nil {
		return err
	}
	y := tensor.View[int64](out)[:0]
	for i, list := range lists {
		for _, k := range list {
			y = append(y, int64(i/ss[1]), int64(i%ss[1]), int64(k))
		}
	}
	return nil
}

// corners holds the lower and upper corner of a box and its area. keys holds integers
// ordered as lo[0], lo[1], hi[0] and hi[1].
type corners struct {
	keys   [4]int32
	lo, hi [2]float32
	area   float32
}

// cornersOf reads a box of 4 numbers.
func cornersOf(p []float32, center bool) (b corners) {
	for a := range 2 {
		lo, hi := p[a], p[a+2]
		if center {
			lo, hi = p[a]-p[a+2]/2, p[a]+p[a+2]/2
		}
		b.lo[a], b.hi[a] = min(lo, hi), max(lo, hi)
		b.keys[a], b.keys[2+a] = orderedKey(b.lo[a]), orderedKey(b.hi[a])
	}
	b.area = (b.hi[0] - b.lo[0]) * (b.hi[1] - b.lo[1])
	return b
}

// orderedKey returns an integer that grows with v.
func orderedKey(v float32) int32 {
	bits := int32(math.Float32bits(v))
	return bits ^ int32(uint32(bits>>31)>>1)
}

// struck reports whether the intersection of b with a box of list exceeds the fraction part of
// their union.
func struck(list []corners, b *corners, part float64) bool {
	lo0, lo1, hi0, hi1 := int64(b.keys[0]), int64(b.keys[1]), int64(b.keys[2]), int64(b.keys[3])
	for i := range list {
		d := &list[i]
		// The value is below 0 if the boxes do not meet along an axis. This takes one branch
		// instead of four.
		if (int64(d.keys[2])-lo0-1)|(hi0-int64(d.keys[0])-1)|(int64(d.keys[3])-lo1-1)|(hi1-int64(d.keys[1])-1) < 0 {
			continue
		}
		h := min(b.hi[0], d.hi[0]) - max(b.lo[0], d.lo[0])
		w := min(b.hi[1], d.hi[1]) - max(b.lo[1], d.lo[1])
		if !(h > 0 && w > 0) {
			continue
		}
		if union := b.area + d.area - h*w; union > 0 && float64(h*w/union) > part {
			return true
		}
	}
	return false
}

// picker picks the boxes of one class after another and reuses its memory.
type picker struct {
	center bool
	heap   []uint64 // candidates, best first; the children of i are at 2i+1 and 2i+2
	picked []int32
	boxes  []corners // picked boxes
}

var pickers = sync.Pool{New: func() any { return new(picker) }}

// rank returns a number that is larger for a better candidate.
func rank(score float32, i int) uint64 {
	bits := math.Float32bits(score)
	switch {
	case score == 0: // either sign
		bits = 1 << 31
	case score < 0:
		bits = ^bits
	default:
		bits |= 1 << 31
	}
	return uint64(bits)<<32 | uint64(^uint32(i))
}

// pick sets p.picked. It returns false if the run must stop.
func (p *picker) pick(c *op.Run, boxes []float32, scores []float32, l pickLimits) bool {
	p.heap, p.picked, p.boxes = slices.Grow(p.heap[:0], len(scores)), p.picked[:0], p.boxes[:0]
	least := float32(math.Inf(-1))
	if l.scored {
		least = float32(l.score)
	}
	for i, s := range scores {
		if s > least || s == least && !l.scored {
			p.heap = append(p.heap, rank(s, i))
		}
	}
	for i := len(p.heap)/2 - 1; i >= 0; i-- {
		p.sink(i)
	}
	for n := 0; len(p.heap) > 0 && len(p.picked) < l.most; n++ {
		if n%16 == 0 && c.Stopped() {
			return false
		}
		i := int(^uint32(p.heap[0]))
		last := len(p.heap) - 1
		p.heap[0] = p.heap[last]
		p.heap = p.heap[:last]
		p.sink(0)
		if b := cornersOf(boxes[4*i:][:4], p.center); !struck(p.boxes, &b, l.iou) {
			p.picked, p.boxes = append(p.picked, int32(i)), append(p.boxes, b)
		}
	}
	return true
}

// sink moves candidate i of the heap below better ones.
func (p *picker) sink(i int) {
	h := p.heap
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1] > h[child] {
			child++
		}
		if h[i] >= h[child] {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

var suppressRows = []op.Row{
	{Name: "NonMaxSuppression", Since: []int{10, 11}, In: [2]int{2, 5}, Out: [2]int{1, 1}, Types: op.Types{tensor.F32}, Heap: 8, New: newSuppress},
}

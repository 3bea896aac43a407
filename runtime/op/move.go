package op

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

type transpose struct {
	mover
	perm []int // nil reverses the axes
}

func newTranspose(n *Node) (Op, error) { return &transpose{perm: n.Ints("perm")}, nil }

func (o *transpose) order(rank int) ([]int, error) {
	if o.perm == nil {
		perm := make([]int, rank)
		for i := range perm {
			perm[i] = rank - 1 - i
		}
		return perm, nil
	}
	if len(o.perm) != rank {
		return nil, graph.Mark(graph.ErrShape, "perm %v is for %d axes, the input has %d", o.perm, len(o.perm), rank)
	}
	return normAxes(o.perm, rank)
}

func (o *transpose) Infer(c *Infer) error {
	in := c.In[0]
	rank, ok := in.Rank()
	if !ok {
		if o.perm == nil {
			c.Set(0, in.DType, nil)
		} else {
			c.Set(0, in.DType, graph.UnknownDims(len(o.perm)))
		}
		return nil
	}
	perm, err := o.order(rank)
	if err != nil {
		return err
	}
	out := make(graph.Dims, rank)
	for i, p := range perm {
		out[i] = in.Dims[p]
	}
	c.Set(0, in.DType, out)
	return nil
}

func (o *transpose) Run(c *Run) error {
	shape := c.In[0].Shape()
	perm, err := o.order(len(shape))
	if err != nil {
		return err
	}
	o.move(c, permuted(c.In[0], c.Out[0], shape, perm))
	return nil
}

// expand repeats the input along axes of extent 1.
type expand struct{ mover }

func newExpand(*Node) (Op, error) { return &expand{}, nil }

func (o *expand) Infer(c *Infer) error {
	shape, err := c.In[1].extentsIn()
	if err != nil {
		return err
	}
	for _, d := range shape {
		if n, ok := d.Value(); ok && n < 0 {
			return graph.Mark(graph.ErrShape, "shape %v has a negative extent", shape)
		}
	}
	dims, err := broadcast(c.In[0].Dims, shape)
	if err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, dims)
	if list, ok := c.In[0].shortInts(); ok && len(list) == 1 && len(dims) == 1 {
		if n, ok := dims[0].Value(); ok && n <= maxInts {
			c.setInts(0, slices.Repeat(list, n))
		}
	}
	return nil
}

func (o *expand) Run(c *Run) error {
	to, err := Ints(c.In[1])
	if err != nil {
		return err
	}
	in, out := c.In[0].Shape(), c.Out[0].Shape()
	want, err := broadcast(graph.DimsOf(in), graph.DimsOf(to))
	if err != nil {
		return err
	}
	shape, _ := want.Concrete()
	if err := wantShape(c.Out[0], shape); err != nil {
		return err
	}
	from, steps := in.Strides(), out.Strides()
	axes := make([]boxAxis, len(out))
	for i, n := range out {
		axes[i] = boxAxis{n: n, to: steps[i]}
		if j := i - (len(out) - len(in)); j >= 0 && in[j] != 1 {
			axes[i].from = from[j]
		}
	}
	o.move(c, box{src: c.In[0], dst: c.Out[0], axes: axes})
	return nil
}

// tile repeats the input along every axis, or in version 1 along one.
type tile struct {
	mover
	oneAxis bool
}

func newTile(n *Node) (Op, error) {
	return &tile{oneAxis: n.Since < 6}, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// repeats returns how often each of rank axes is repeated; second and third are
// the inputs after the first.
func (o *tile) repeats(rank int, second, third []int) ([]int, error) {
	list := second
	if o.oneAxis {
		if len(second) != 1 || len(third) != 1 {
			return nil, graph.Mark(graph.ErrShape, "tiles and axis have %d and %d elements, not one each", len(second), len(third))
		}
		axis, err := normAxis(third[0], rank)
		if err != nil {
			return nil, err
		}
		list = slices.Repeat([]int{1}, rank)
		list[axis] = second[0]
	}
	if len(list) != rank {
		return nil, graph.Mark(graph.ErrShape, "repeats %v is for %d axes, the input has %d", list, len(list), rank)
	}
	for _, r := range list {
		if r < 0 {
			return nil, graph.Mark(graph.ErrShape, "repeats %v has a negative count", list)
		}
	}
	return list, nil
}

func (o *tile) Infer(c *Infer) error {
	in := c.In[0]
	rank, ok := in.Rank()
	c.Set(0, in.DType, nil)
	if !ok {
		return nil
	}
	if !o.oneAxis {
		return o.inferAll(c)
	}
	tiles, ok1, err := c.In[1].axesIn()
	if err != nil {
		return err
	}
	axis, ok2, err := c.In[2].axesIn()
	if err != nil {
		return err
	}
	if !ok1 || !ok2 {
		c.Set(0, in.DType, graph.UnknownDims(rank))
		return nil
	}
	list, err := o.repeats(rank, tiles, axis)
	if err != nil {
		return err
	}
	return o.setRepeated(c, graph.DimsOf(list))
}

func (o *tile) inferAll(c *Infer) error {
	in := c.In[0]
	list, err := c.In[1].extentsIn()
	if err != nil {
		return err
	}
	if list == nil {
		list = graph.UnknownDims(len(in.Dims))
	}
	if len(list) != len(in.Dims) {
		return graph.Mark(graph.ErrShape, "repeats %v is for %d axes, the input has %d", list, len(list), len(in.Dims))
	}
	return o.setRepeated(c, list)
}

func (o *tile) setRepeated(c *Infer, repeats graph.Dims) (err error) {
	in := c.In[0]
	out := make(graph.Dims, len(repeats))
	for i, r := range repeats {
		if n, ok := r.Value(); ok && n < 0 {
			return graph.Mark(graph.ErrShape, "repeats %v has a negative count", repeats)
		}
		if out[i], err = product(in.Dims[i], r); err != nil {
			return err
		}
	}
	c.Set(0, in.DType, out)
	return nil
}

func (o *tile) Run(c *Run) error {
	second, err := Ints(c.In[1])
	if err != nil {
		return err
	}
	var third []int
	if o.oneAxis {
		if third, err = Ints(c.In[2]); err != nil {
			return err
		}
	}
	in := c.In[0].Shape()
	repeats, err := o.repeats(len(in), second, third)
	if err != nil {
		return err
	}
	shape := in.Clone()
	for i, r := range repeats {
		d, err := product(graph.Known(in[i]), graph.Known(r))
		if err != nil {
			return err
		}
		shape[i], _ = d.Value()
	}
	if err := wantShape(c.Out[0], shape); err != nil {
		return err
	}
	from, to := in.Strides(), shape.Strides()
	axes := make([]boxAxis, 0, 2*len(in))
	for i, r := range repeats {
		axes = append(axes, boxAxis{r, 0, in[i] * to[i]}, boxAxis{in[i], from[i], to[i]})
	}
	o.move(c, box{src: c.In[0], dst: c.Out[0], axes: axes})
	return nil
}

// depthSpace moves blocks of the channel axis to the two axes of space, or back.
type depthSpace struct {
	mover
	block int
	perm  []int // of the input seen with six axes
	deep  bool  // space to depth
}

func newDepthToSpace(n *Node) (Op, error) {
	o := &depthSpace{block: n.Int("blocksize", 0), perm: []int{0, 3, 4, 1, 5, 2}}
	if n.Since >= 11 {
		switch mode := n.Str("mode", "DCR"); mode {
		case "DCR":
		case "CRD":
			o.perm = []int{0, 1, 4, 2, 5, 3}
		default:
			return nil, graph.Mark(graph.ErrFormat, "mode %q is neither DCR nor CRD", mode)
		}
	}
	return o, o.check()
}

func newSpaceToDepth(n *Node) (Op, error) {
	o := &depthSpace{block: n.Int("blocksize", 0), perm: []int{0, 3, 5, 1, 2, 4}, deep: true}
	return o, o.check()
}

func (o *depthSpace) check() error {
	if o.block < 1 || o.block > 1<<15 {
		return graph.Mark(graph.ErrFormat, "blocksize %d is not a positive number of pixels", o.block)
	}
	return nil
}

func (o *depthSpace) Infer(c *Infer) error {
	in := c.In[0]
	d := in.Dims
	if d == nil {
		d = graph.UnknownDims(4)
	}
	if len(d) != 4 {
		return graph.Mark(graph.ErrShape, "input is %v; it needs 4 axes, batch, channel, height, width", in.Type)
	}
	b, bb := graph.Known(o.block), graph.Known(o.block*o.block)
	var out graph.Dims
	var err error
	if o.deep {
		out = graph.Dims{d[0], graph.Dim{}, d[2].Div(b), d[3].Div(b)}
		out[1], err = product(d[1], bb)
		if !divides(o.block, d[2]) || !divides(o.block, d[3]) {
			return graph.Mark(graph.ErrShape, "height and width of %v are no multiples of blocksize %d", in.Type, o.block)
		}
	} else {
		out = graph.Dims{d[0], d[1].Div(bb), graph.Dim{}, graph.Dim{}}
		var err2 error
		out[2], err = product(d[2], b)
		if out[3], err2 = product(d[3], b); err == nil {
			err = err2
		}
		if !divides(o.block*o.block, d[1]) {
			return graph.Mark(graph.ErrShape, "the channels of %v are no multiple of %d, blocksize squared", in.Type, o.block*o.block)
		}
	}
	c.Set(0, in.DType, out)
	return err
}

// divides reports whether n may divide d.
func divides(n int, d graph.Dim) bool {
	v, ok := d.Value()
	return !ok || v%n == 0
}

func (o *depthSpace) Run(c *Run) error {
	s, b := c.In[0].Shape(), o.block
	var six tensor.Shape
	switch {
	case o.deep:
		six = tensor.Shape{s[0], s[1], s[2] / b, b, s[3] / b, b}
	case o.perm[1] == 1:
		six = tensor.Shape{s[0], s[1] / (b * b), b, b, s[2], s[3]}
	default:
		six = tensor.Shape{s[0], b, b, s[1] / (b * b), s[2], s[3]}
	}
	o.move(c, permuted(c.In[0], c.Out[0], six, o.perm))
	return nil
}

var moveRows = []Row{
	{Name: "Transpose", Since: []int{1, 13, 21, 23, 24, 25}, In: [2]int{1, 1}, Out: [2]int{1, 1}, New: newTranspose},
	{Name: "Expand", Since: []int{8, 13}, In: [2]int{2, 2}, Out: [2]int{1, 1}, New: newExpand},
	{Name: "Tile", Since: []int{1, 6, 13}, In: [2]int{3, 3}, Later: []Arity{{Since: 6, In: [2]int{2, 2}}}, Out: [2]int{1, 1}, New: newTile},
	{Name: "DepthToSpace", Since: []int{1, 11, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, New: newDepthToSpace},
	{Name: "SpaceToDepth", Since: []int{1, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, New: newSpaceToDepth},
}

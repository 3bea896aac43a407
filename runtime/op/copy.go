package op

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
)

type Transpose struct {
	perm []int // nil reverses the axes
}

func newTranspose(n *Node) (Op, error) { return &Transpose{perm: n.Ints("perm")}, nil }

// Perm returns the input axis of each output axis, for an input of that rank.
func (o *Transpose) Perm(rank int) ([]int, error) {
	if o.perm == nil {
		perm := make([]int, rank)
		for i := range perm {
			perm[i] = rank - 1 - i
		}
		return perm, nil
	}
	if len(o.perm) != rank {
		return nil, graph.Errorf(graph.ErrShape, "perm %v is for %d axes, the input has %d", o.perm, len(o.perm), rank)
	}
	return normAxes(o.perm, rank)
}

func (o *Transpose) Infer(c *Infer) error {
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
	perm, err := o.Perm(rank)
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

// Copies permutes the axes.
func (o *Transpose) Copies(c *Infer) ([]Copy, error) {
	perm, err := o.Perm(len(c.In[0].Dims))
	if err != nil {
		return nil, err
	}
	return []Copy{{Axes: permutedAxes(c.In[0].Dims, perm)}}, nil
}

// Run computes the output in Go.
func (o *Transpose) Run(c *Run) error { return runCopies(o, c) }

// Expand repeats the input along axes of extent 1.
type Expand struct{}

func newExpand(*Node) (Op, error) { return &Expand{}, nil }

func (o *Expand) Infer(c *Infer) error {
	shape, err := c.In[1].extentsIn()
	if err != nil {
		return err
	}
	for _, d := range shape {
		if n, ok := d.Value(); ok && n < 0 {
			return graph.Errorf(graph.ErrShape, "shape %v has a negative extent", shape)
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

// Copies repeats elements along axes of extent 1.
func (o *Expand) Copies(c *Infer) ([]Copy, error) {
	if c.In[1].Const == nil && c.In[1].Ints == nil {
		return nil, &ElementsError{1}
	}
	shape, err := c.In[1].extentsIn()
	if err != nil {
		return nil, err
	}
	in, out := c.In[0].Dims, c.Out[0].Dims
	dims, err := broadcast(in, shape)
	if err == nil {
		err = c.wantDims(0, dims)
	}
	if err != nil {
		return nil, err
	}
	from, to := stridesOf(in), stridesOf(out)
	axes := make([]CopyAxis, len(out))
	for i, n := range out {
		axes[i] = CopyAxis{N: n, To: to[i]}
		j := i - (len(out) - len(in))
		switch {
		case j < 0 || in[j].Is(1):
		case in[j].Same(n):
			axes[i].From = from[j]
		default:
			return nil, ErrSymbolic
		}
	}
	return []Copy{{Axes: axes}}, nil
}

// Run computes the output in Go.
func (o *Expand) Run(c *Run) error { return runCopies(o, c) }

// Tile repeats the input along every axis, or in version 1 along one.
type Tile struct {
	oneAxis bool
}

func newTile(n *Node) (Op, error) {
	return &Tile{oneAxis: n.Since < 6}, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// repeats returns how often each of rank axes is repeated; second and third are
// the inputs after the first.
func (o *Tile) repeats(rank int, second, third []int) ([]int, error) {
	list := second
	if o.oneAxis {
		if len(second) != 1 || len(third) != 1 {
			return nil, graph.Errorf(graph.ErrShape, "tiles and axis have %d and %d elements, not one each", len(second), len(third))
		}
		axis, err := normAxis(third[0], rank)
		if err != nil {
			return nil, err
		}
		list = slices.Repeat([]int{1}, rank)
		list[axis] = second[0]
	}
	if len(list) != rank {
		return nil, graph.Errorf(graph.ErrShape, "repeats %v is for %d axes, the input has %d", list, len(list), rank)
	}
	for _, r := range list {
		if r < 0 {
			return nil, graph.Errorf(graph.ErrShape, "repeats %v has a negative count", list)
		}
	}
	return list, nil
}

func (o *Tile) Infer(c *Infer) error {
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

func (o *Tile) inferAll(c *Infer) error {
	in := c.In[0]
	list, err := c.In[1].extentsIn()
	if err != nil {
		return err
	}
	if list == nil {
		list = graph.UnknownDims(len(in.Dims))
	}
	if len(list) != len(in.Dims) {
		return graph.Errorf(graph.ErrShape, "repeats %v is for %d axes, the input has %d", list, len(list), len(in.Dims))
	}
	return o.setRepeated(c, list)
}

func (o *Tile) setRepeated(c *Infer, repeats graph.Dims) (err error) {
	in := c.In[0]
	out := make(graph.Dims, len(repeats))
	for i, r := range repeats {
		if n, ok := r.Value(); ok && n < 0 {
			return graph.Errorf(graph.ErrShape, "repeats %v has a negative count", repeats)
		}
		if out[i], err = product(in.Dims[i], r); err != nil {
			return err
		}
	}
	c.Set(0, in.DType, out)
	return nil
}

// Copies adds an axis of repetitions before every axis.
func (o *Tile) Copies(c *Infer) ([]Copy, error) {
	second, err := c.elements(1)
	if err != nil {
		return nil, err
	}
	var third []int
	if o.oneAxis {
		if third, err = c.elements(2); err != nil {
			return nil, err
		}
	}
	in := c.In[0].Dims
	repeats, err := o.repeats(len(in), second, third)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(in)
	for i, r := range repeats {
		if out[i], err = product(in[i], graph.Known(r)); err != nil {
			return nil, err
		}
	}
	if err := c.wantDims(0, out); err != nil {
		return nil, err
	}
	from, to := stridesOf(in), stridesOf(out)
	axes := make([]CopyAxis, 0, 2*len(in))
	for i, r := range repeats {
		axes = append(axes, CopyAxis{graph.Known(r), graph.Dim{}, in[i].Mul(to[i])}, CopyAxis{in[i], from[i], to[i]})
	}
	return []Copy{{Axes: axes}}, nil
}

// Run computes the output in Go.
func (o *Tile) Run(c *Run) error { return runCopies(o, c) }

// DepthToSpace moves blocks of the channel axis to the two axes of space, or back.
type DepthToSpace struct {
	block int
	perm  []int // of the input seen with six axes
	deep  bool  // space to depth
}

func newDepthToSpace(n *Node) (Op, error) {
	o := &DepthToSpace{block: n.Int("blocksize", 0), perm: []int{0, 3, 4, 1, 5, 2}}
	if n.Since >= 11 {
		switch mode := n.Str("mode", "DCR"); mode {
		case "DCR":
		case "CRD":
			o.perm = []int{0, 1, 4, 2, 5, 3}
		default:
			return nil, graph.Errorf(graph.ErrFormat, "mode %q is neither DCR nor CRD", mode)
		}
	}
	return o, o.check()
}

func newSpaceToDepth(n *Node) (Op, error) {
	o := &DepthToSpace{block: n.Int("blocksize", 0), perm: []int{0, 3, 5, 1, 2, 4}, deep: true}
	return o, o.check()
}

func (o *DepthToSpace) check() error {
	if o.block < 1 || o.block > 1<<15 {
		return graph.Errorf(graph.ErrFormat, "blocksize %d is not a positive number of pixels", o.block)
	}
	return nil
}

func (o *DepthToSpace) Infer(c *Infer) error {
	in := c.In[0]
	d := in.Dims
	if d == nil {
		d = graph.UnknownDims(4)
	}
	if len(d) != 4 {
		return graph.Errorf(graph.ErrShape, "input is %v; it needs 4 axes, batch, channel, height, width", in.Type)
	}
	b, bb := graph.Known(o.block), graph.Known(o.block*o.block)
	var out graph.Dims
	var err error
	if o.deep {
		out = graph.Dims{d[0], graph.Dim{}, d[2].Div(b), d[3].Div(b)}
		out[1], err = product(d[1], bb)
		if !divides(o.block, d[2]) || !divides(o.block, d[3]) {
			return graph.Errorf(graph.ErrShape, "height and width of %v are no multiples of blocksize %d", in.Type, o.block)
		}
	} else {
		out = graph.Dims{d[0], d[1].Div(bb), graph.Dim{}, graph.Dim{}}
		var err2 error
		out[2], err = product(d[2], b)
		if out[3], err2 = product(d[3], b); err == nil {
			err = err2
		}
		if !divides(o.block*o.block, d[1]) {
			return graph.Errorf(graph.ErrShape, "the channels of %v are no multiple of %d, blocksize squared", in.Type, o.block*o.block)
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

// Copies permutes the axes of the input seen with six.
func (o *DepthToSpace) Copies(c *Infer) ([]Copy, error) {
	s, b := c.In[0].Dims, graph.Known(o.block)
	var six graph.Dims
	switch {
	case o.deep:
		six = graph.Dims{s[0], s[1], s[2].Div(b), b, s[3].Div(b), b}
	case o.perm[1] == 1:
		six = graph.Dims{s[0], s[1].Div(b.Mul(b)), b, b, s[2], s[3]}
	default:
		six = graph.Dims{s[0], b, b, s[1].Div(b.Mul(b)), s[2], s[3]}
	}
	return []Copy{{Axes: permutedAxes(six, o.perm)}}, nil
}

// Run computes the output in Go.
func (o *DepthToSpace) Run(c *Run) error { return runCopies(o, c) }

var copyOpRows = []Row{
	{Name: "Transpose", Since: []int{1, 13, 21, 23, 24, 25}, In: [2]int{1, 1}, Out: [2]int{1, 1}, New: newTranspose},
	{Name: "Expand", Since: []int{8, 13}, In: [2]int{2, 2}, Out: [2]int{1, 1}, New: newExpand},
	{Name: "Tile", Since: []int{1, 6, 13}, In: [2]int{3, 3}, Later: []Arity{{Since: 6, In: [2]int{2, 2}}}, Out: [2]int{1, 1}, New: newTile},
	{Name: "DepthToSpace", Since: []int{1, 11, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, New: newDepthToSpace},
	{Name: "SpaceToDepth", Since: []int{1, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, New: newSpaceToDepth},
}

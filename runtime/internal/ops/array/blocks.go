package array

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
)

// DepthToSpace moves blocks of the channel axis to the two spatial axes, or back.
type DepthToSpace struct {
	block int
	perm  []int // of the input viewed with six axes
	deep  bool  // space to depth
}

func newDepthToSpace(n *op.Node) (op.Op, error) {
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

func newSpaceToDepth(n *op.Node) (op.Op, error) {
	o := &DepthToSpace{block: n.Int("blocksize", 0), perm: []int{0, 3, 5, 1, 2, 4}, deep: true}
	return o, o.check()
}

func (o *DepthToSpace) check() error {
	if o.block < 1 || o.block > 1<<15 {
		return graph.Errorf(graph.ErrFormat, "blocksize %d is not a positive number of pixels", o.block)
	}
	return nil
}

func (o *DepthToSpace) Infer(c *op.Infer) error {
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
		out[1], err = kit.MulDim(d[1], bb)
		if !divides(o.block, d[2]) || !divides(o.block, d[3]) {
			return graph.Errorf(graph.ErrShape, "height and width of %v are no multiples of blocksize %d", in.Type, o.block)
		}
	} else {
		out = graph.Dims{d[0], d[1].Div(bb), graph.Dim{}, graph.Dim{}}
		var err2 error
		out[2], err = kit.MulDim(d[2], b)
		if out[3], err2 = kit.MulDim(d[3], b); err == nil {
			err = err2
		}
		if !divides(o.block*o.block, d[1]) {
			return graph.Errorf(graph.ErrShape, "the channels of %v are no multiple of %d, blocksize squared", in.Type,
				o.block*o.block)
		}
	}
	c.Set(0, in.DType, out)
	return err
}

// divides reports whether n can divide d.
func divides(n int, d graph.Dim) bool {
	v, ok := d.Value()
	return !ok || v%n == 0
}

// Copies permutes the axes of the input viewed with six axes.
func (o *DepthToSpace) Copies(c *op.Infer) ([]Copy, error) {
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
func (o *DepthToSpace) Run(c *op.Run) error { return runCopies(o, c) }

var blockRows = []op.Row{
	{Name: "DepthToSpace", Since: []int{1, 11, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Selects: true, Items: kit.ItemsFirst(0), New: newDepthToSpace},
	{Name: "SpaceToDepth", Since: []int{1, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, Selects: true, Items: kit.ItemsFirst(0), New: newSpaceToDepth},
}

package nn

import (
	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Dropout copies its input. In training it sets random elements to 0 and scales up the others.
type Dropout struct {
	ratio  float64 // used if no input has it
	train  bool    // used if no input has it
	inputs bool    // inputs 1 and 2 may be the ratio and the training mode
	typed  bool    // the mask has the input's element type instead of bool
	seed   uint32
	seeded bool // if false, every run draws its own mask
}

func newDropout(n *op.Node) (op.Op, error) {
	o := &Dropout{inputs: n.Since >= 12, typed: n.Since < 10, ratio: 0.5}
	if o.inputs {
		o.seed, o.seeded = uint32(n.Int("seed", 0)), n.Has("seed")
		return o, nil
	}
	o.ratio = float64(n.Float("ratio", 0.5))
	if n.Since < 7 {
		n.Ignore("consumed_inputs")
		o.train = !n.Bool("is_test", false)
	}
	return o, nil
}

func (o *Dropout) Infer(c *op.Infer) error {
	in := c.In[0]
	c.Set(0, in.DType, in.Dims)
	if o.typed {
		c.Set(1, in.DType, in.Dims)
	} else {
		c.Set(1, tensor.Bool, in.Dims)
	}
	if c.Has(1) && !op.Floats.Has(c.In[1].DType) {
		return graph.Errorf(graph.ErrUnsupported, "ratio has elements of type %v", c.In[1].DType)
	}
	if c.Has(2) && c.In[2].DType != tensor.Bool {
		return graph.Errorf(graph.ErrShape, "training_mode is %v, not bool", c.In[2].DType)
	}
	for i := 1; i < len(c.In); i++ {
		if c.Has(i) && c.In[i].Dims != nil && c.In[i].Dims.Len().Exceeds(graph.Known(1)) {
			return graph.Errorf(graph.ErrShape, "input %d is %v, not one element", i, c.In[i].Type)
		}
	}
	return nil
}

// Copies reports whether the node is known to drop no element.
func (o *Dropout) Copies(in []*op.Value) bool {
	if len(in) > 2 && in[2] != nil {
		train := in[2].Const
		return train != nil && train.Len() == 1 && train.Bytes()[0] == 0
	}
	return !o.train
}

// settings returns whether elements are dropped, and the fraction of dropped elements.
func (o *Dropout) settings(c *op.Run) (train bool, ratio float64, err error) {
	train, ratio = o.train, o.ratio
	for _, i := range []int{1, 2} {
		if c.Has(i) && c.In[i].Len() != 1 {
			return false, 0, graph.Errorf(graph.ErrShape, "input %d is %v, not one element", i, c.In[i])
		}
	}
	if c.Has(1) {
		ratio = kit.FirstFloat(c.In[1])
	}
	if c.Has(2) {
		train = c.In[2].Bytes()[0] != 0
	}
	if train && !(ratio >= 0 && ratio < 1) {
		return false, 0, graph.Errorf(graph.ErrShape, "ratio %g is not in [0,1)", ratio)
	}
	return train && ratio != 0, ratio, nil
}

func (o *Dropout) Run(c *op.Run) error {
	train, ratio, err := o.settings(c)
	if err != nil {
		return err
	}
	in, out := c.In[0], c.Out[0]
	if out != nil {
		kit.CopyInto(out, in)
	}
	if train {
		return o.drop(c, ratio)
	}
	if c.Wants(1) {
		one := kit.One(c.Out[1].DType())
		for i := range c.Out[1].Len() {
			kit.CopyElement(c.Out[1], i, one, 0)
		}
	}
	return nil
}

// drop writes the mask and applies it to output 0, which already has a copy of the input.
func (o *Dropout) drop(c *op.Run, ratio float64) error {
	if o.typed {
		return graph.Errorf(graph.ErrUnsupported,
			"training with a mask of elements of type %v; write the model for opset 12 or later", c.In[0].DType())
	}
	seed := o.seed
	if !o.seeded {
		seed = uint32(op.Random(c.Ctx))
	}
	g := newTwister(seed)
	keep, pace := make([]bool, c.In[0].Len()), c.Pace()
	for i := range keep {
		pace.Work(8)
		keep[i] = g.uniform() >= ratio
	}
	if c.Wants(1) {
		copy(tensor.View[bool](c.Out[1]), keep)
	}
	scale := float32(1 / (1 - ratio))
	switch out := c.Out[0]; {
	case out == nil:
	case out.DType() == tensor.F64:
		dropIn(out, keep, func(v float64) float64 { return v / (1 - ratio) })
	default:
		dropIn(out, keep, func(v float32) float32 { return v * scale })
	}
	return nil
}

// dropIn scales the elements of t, read as N, that keep lists, and sets the others to 0.
func dropIn[N float32 | float64](t *tensor.Tensor, keep []bool, scale func(N) N) {
	var block [512]N
	for at := 0; at < len(keep); at += len(block) {
		list := block[:min(len(keep)-at, len(block))]
		elements.Get(list, t, at)
		for i, v := range list {
			if list[i] = 0; keep[at+i] {
				list[i] = scale(v)
			}
		}
		elements.Put(t, at, list)
	}
}

// twister is the Mersenne Twister MT19937. The standard's test data for training comes from it.
type twister struct {
	state [624]uint32
	next  int
}

func newTwister(seed uint32) *twister {
	g := &twister{next: len(twister{}.state)}
	g.state[0] = seed
	for i := 1; i < len(g.state); i++ {
		seed = 1812433253*(seed^seed>>30) + uint32(i)
		g.state[i] = seed
	}
	return g
}

func (g *twister) uint32() uint32 {
	const n, m = len(g.state), 397
	if g.next == n {
		for i := range g.state {
			y := g.state[i]&0x80000000 | g.state[(i+1)%n]&0x7fffffff
			g.state[i] = g.state[(i+m)%n] ^ y>>1 ^ y&1*0x9908b0df
		}
		g.next = 0
	}
	y := g.state[g.next]
	g.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// uniform returns a number in [0,1) made of 53 random bits.
func (g *twister) uniform() float64 {
	a, b := g.uint32()>>5, g.uint32()>>6
	return (float64(a)*(1<<26) + float64(b)) / (1 << 53)
}

var dropoutRows = []op.Row{
	{Name: "Dropout", Since: []int{1, 6, 7, 10, 12, 13, 22}, In: [2]int{1, 1}, Later: []op.Arity{{Since: 12, In: [2]int{1, 3}}}, Out: [2]int{1, 2}, Types: op.Floats, InPlace: []int{0}, Impure: true, Items: itemsOfDropout, New: newDropout},
}

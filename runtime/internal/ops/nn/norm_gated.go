package nn

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// gatedNorm is GatedRMSNorm. It divides each group of elements by its root mean square and
// multiplies it by a scale and by a function of a gate.
type gatedNorm struct {
	epsilon float32
	silu    bool
}

func newGatedNorm(n *op.Node) (op.Op, error) {
	o := &gatedNorm{epsilon: n.Float("epsilon", 1e-5)}
	switch activation := n.Str("activation", "silu"); activation {
	case "silu", "swish":
		o.silu = true
	case "sigmoid":
	default:
		return nil, graph.Errorf(graph.ErrFormat, "activation is %q; it takes silu, swish or sigmoid", activation)
	}
	return o, nil
}

// Infer keeps type and shape.
func (o *gatedNorm) Infer(c *op.Infer) error {
	if err := kit.SameTypes(c.In); err != nil {
		return err
	}
	x, scale, gate := c.In[0], c.In[1].Dims, c.In[2]
	if scale != nil && len(scale) != 1 {
		return graph.Errorf(graph.ErrShape, "scale is %v, no vector", c.In[1].Type)
	}
	if x.Dims != nil && gate.Dims != nil && !kit.MayEqual(x.Dims, gate.Dims) {
		return graph.Errorf(graph.ErrShape, "gate %v has not the shape of %v", gate.Type, x.Type)
	}
	if x.Dims != nil && len(x.Dims) == 0 {
		return graph.Errorf(graph.ErrShape, "a scalar has no axis to normalise")
	}
	if x.Dims != nil && scale != nil {
		n, k1 := x.Dims[len(x.Dims)-1].Value()
		group, k2 := scale[0].Value()
		if k1 && k2 && (group == 0 || n%group != 0) {
			return graph.Errorf(graph.ErrShape, "the last axis of %v is no multiple of the %d elements of the scale", x.Type,
				group)
		}
	}
	c.Set(0, x.DType, x.Dims)
	return nil
}

// Run computes in float32 and rounds once.
func (o *gatedNorm) Run(c *op.Run) error {
	x, y, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	scale, err := c.Floats(c.In[1])
	if err != nil {
		return err
	}
	gate, err := c.Floats(c.In[2])
	if err != nil {
		return err
	}
	n := len(scale)
	for at := 0; at < len(x); at += n {
		if c.Stopped() {
			return op.ErrStopped
		}
		inverse := inverseRMS(x[at:at+n], o.epsilon)
		for i, v := range x[at : at+n] {
			g := sigmoid(gate[at+i])
			if o.silu {
				g *= gate[at+i]
			}
			y[at+i] = v * inverse * scale[i] * g
		}
	}
	c.PutFloats(c.Out[0], y)
	return nil
}

// inverseRMS returns 1 over the root of the mean square of x plus epsilon.
func inverseRMS(x []float32, epsilon float32) float32 {
	return float32(1 / math.Sqrt(squares(x)/float64(len(x))+float64(epsilon)))
}

// squares returns the sum of squares of x, in four partial sums.
func squares[T float32 | float64](x []T) float64 {
	var a, b, c, d float64
	for ; len(x) >= 4; x = x[4:] {
		p := (*[4]T)(x)
		a += float64(p[0]) * float64(p[0])
		b += float64(p[1]) * float64(p[1])
		c += float64(p[2]) * float64(p[2])
		d += float64(p[3]) * float64(p[3])
	}
	for _, v := range x {
		a += float64(v) * float64(v)
	}
	return (a + b) + (c + d)
}

func sigmoid(v float32) float32 { return float32(1 / (1 + math.Exp(-float64(v)))) }

// branches describes a value of several streams of features: [...,C,H], or [...,C*H] if the node
// has the number of streams.
type branches struct{ flat int }

func readBranches(n *op.Node) (branches, error) {
	b := branches{n.Int("num_branches", 0)}
	if b.flat < 0 {
		return b, graph.Errorf(graph.ErrFormat, "num_branches is %d", b.flat)
	}
	return b, nil
}

// split returns the extents before the branches, the number of branches and the features of each.
func (b branches) split(v *op.Value) (outer graph.Dims, count, features graph.Dim, err error) {
	d := v.Dims
	switch {
	case d == nil:
		return nil, graph.Unknown(), graph.Unknown(), nil
	case b.flat == 0 && len(d) < 2:
		return nil, count, features, graph.Errorf(graph.ErrShape, "%v has no axes of branches and features", v.Type)
	case b.flat == 0:
		return d[:len(d)-2], d[len(d)-2], d[len(d)-1], nil
	case len(d) < 1:
		return nil, count, features, graph.Errorf(graph.ErrShape, "%v has no axis of features", v.Type)
	}
	last := d[len(d)-1]
	if n, ok := last.Value(); ok && n%b.flat != 0 {
		return nil, count, features, graph.Errorf(graph.ErrShape, "the last axis of %v is no multiple of num_branches %d",
			v.Type, b.flat)
	}
	return d[:len(d)-1], graph.Known(b.flat), last.Div(graph.Known(b.flat)), nil
}

// extents is split for a tensor.
func (b branches) extents(t *tensor.Tensor) (rows, count, features int) {
	s := t.Shape()
	if b.flat == 0 {
		count, features = s[len(s)-2], s[len(s)-1]
		s = s[:len(s)-2]
	} else {
		count, features = b.flat, s[len(s)-1]/b.flat
		s = s[:len(s)-1]
	}
	return s.Len(), count, features
}

// branchNorm is BranchwiseRMSNorm. It divides every branch by its root mean square.
type branchNorm struct {
	branches
	epsilon float32
}

func newBranchNorm(n *op.Node) (op.Op, error) {
	b, err := readBranches(n)
	return &branchNorm{b, n.Float("epsilon", 1e-5)}, err
}

// Infer keeps type and shape.
func (o *branchNorm) Infer(c *op.Infer) error {
	x := c.In[0]
	_, count, features, err := o.split(x)
	if err != nil {
		return err
	}
	if c.Has(1) {
		if !kit.ComputedInF32.Has(c.In[1].DType) {
			return graph.Errorf(graph.ErrUnsupported, "scale has element type %v; it takes %v", c.In[1].DType, kit.ComputedInF32)
		}
		if s := c.In[1].Dims; s != nil && x.Dims != nil {
			all := count.Mul(features)
			if !kit.MayEqual(s, graph.Dims{all}) && !kit.MayEqual(s, graph.Dims{count, features}) &&
				!kit.MayEqual(s, graph.Dims{features}) {
				return graph.Errorf(graph.ErrShape, "scale %v is not of [%v], [%v,%v] or [%v]", c.In[1].Type, all, count,
					features, features)
			}
		}
	}
	c.Set(0, x.DType, x.Dims)
	return nil
}

// Run computes in float32 and rounds once.
func (o *branchNorm) Run(c *op.Run) error {
	x, y, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	scale, err := c.Floats(c.Given(1))
	if err != nil {
		return err
	}
	rows, count, n := o.extents(c.In[0])
	if n == 0 {
		return nil
	}
	for r := range rows * count {
		if c.Stopped() {
			return op.ErrStopped
		}
		at := r * n
		inverse := inverseRMS(x[at:at+n], o.epsilon)
		for i, v := range x[at : at+n] {
			y[at+i] = v * inverse
			if scale != nil {
				y[at+i] *= scale[(r%count*n+i)%len(scale)]
			}
		}
	}
	c.PutFloats(c.Out[0], y)
	return nil
}

var gatedNormRows = []op.Row{
	{Domain: kit.Microsoft, Name: "GatedRMSNorm", Since: []int{1}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: kit.ComputedInF32, New: newGatedNorm},
	{Domain: kit.Microsoft, Name: "BranchwiseRMSNorm", Since: []int{1}, In: [2]int{1, 2}, Out: [2]int{1, 1}, Types: kit.ComputedInF32, New: newBranchNorm},
}

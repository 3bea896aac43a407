package nn

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Hyper-connections keep several streams of features between the blocks of a network. A block reads
// their weighted sum (preMix), and its output goes to all of them (postMix).

// preMix is HyperConnectionPreMix.
type preMix struct {
	branches
	scale float32
}

func newPreMix(n *op.Node) (op.Op, error) {
	b, err := readBranches(n)
	return &preMix{b, n.Float("reduction_scale", 1)}, err
}

// Infer sets the shape of one stream.
func (o *preMix) Infer(c *op.Infer) error {
	outer, count, features, err := o.split(c.In[0])
	if err != nil {
		return err
	}
	if err := o.checkMix(c, 1, outer, count, features); err != nil {
		return err
	}
	if c.In[0].Dims == nil {
		c.Set(0, c.In[0].DType, nil)
		return nil
	}
	c.Set(0, c.In[0].DType, kit.JoinDims(outer, graph.Dims{features}))
	return nil
}

// checkMix checks that factors are one for every branch, or one for every feature of every branch.
func (b branches) checkMix(c *op.Infer, i int, outer graph.Dims, count, features graph.Dim) error {
	mix := c.In[i]
	if !kit.ComputedInF32.Has(mix.DType) {
		return graph.Errorf(graph.ErrUnsupported, "input %d has element type %v; it takes %v", i, mix.DType,
			kit.ComputedInF32)
	}
	if mix.Dims == nil || c.In[0].Dims == nil {
		return nil
	}
	one := graph.Known(1)
	tails := []graph.Dims{{count}, {count, one}, {count, features}}
	if b.flat > 0 {
		tails = append(tails, graph.Dims{count.Mul(features)})
	}
	for _, tail := range tails {
		if kit.MayEqual(mix.Dims, kit.JoinDims(outer, tail)) {
			return nil
		}
	}
	return graph.Errorf(graph.ErrShape, "factors %v do not belong to streams %v", mix.Type, c.In[0].Type)
}

// factor returns the factors of row r of the streams, and whether there is one for each feature.
func factor(mix []float32, r, rows, count, features int) (list []float32, each bool) {
	n := len(mix) / rows
	return mix[r*n : (r+1)*n], n == count*features && features > 1
}

// Run computes in float32 and rounds once.
func (o *preMix) Run(c *op.Run) error {
	x, y, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	mix, err := c.Floats(c.In[1])
	if err != nil {
		return err
	}
	rows, count, n := o.extents(c.In[0])
	for r := range rows {
		if c.Stopped() {
			return op.ErrStopped
		}
		f, each := factor(mix, r, rows, count, n)
		for h := range n {
			sum := float32(0)
			for k := range count {
				w := k
				if each {
					w = k*n + h
				}
				sum += x[(r*count+k)*n+h] * f[w]
			}
			y[r*n+h] = o.scale * sum
		}
	}
	c.PutFloats(c.Out[0], y)
	return nil
}

// postMix is HyperConnectionPostMix.
type postMix struct{ branches }

func newPostMix(n *op.Node) (op.Op, error) {
	b, err := readBranches(n)
	return &postMix{b}, err
}

// Infer keeps type and shape.
func (o *postMix) Infer(c *op.Infer) error {
	x, block := c.In[0], c.In[1]
	outer, count, features, err := o.split(x)
	if err != nil {
		return err
	}
	if block.DType != x.DType {
		return graph.Errorf(graph.ErrShape, "streams are of %v, the output of the block of %v", x.DType, block.DType)
	}
	if x.Dims != nil && block.Dims != nil && !kit.MayEqual(block.Dims, kit.JoinDims(outer, graph.Dims{features})) {
		return graph.Errorf(graph.ErrShape, "the output of the block %v does not belong to streams %v", block.Type, x.Type)
	}
	if err := (branches{}).checkMix(c, 2, outer, count, features); err != nil {
		return err
	}
	if c.Has(3) {
		m := c.In[3]
		if !kit.ComputedInF32.Has(m.DType) {
			return graph.Errorf(graph.ErrUnsupported, "stream_mix has element type %v; it takes %v", m.DType, kit.ComputedInF32)
		}
		if m.Dims != nil && x.Dims != nil && !kit.MayEqual(m.Dims, kit.JoinDims(outer, graph.Dims{count, count})) {
			return graph.Errorf(graph.ErrShape, "stream_mix %v does not belong to streams %v", m.Type, x.Type)
		}
	}
	c.Set(0, x.DType, x.Dims)
	return nil
}

// Run computes in float32 and rounds once.
func (o *postMix) Run(c *op.Run) error {
	x, y, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	var in [3][]float32 // the block's output, its factors, the mixing of streams
	for i, t := range []*tensor.Tensor{c.In[1], c.In[2], c.Given(3)} {
		if in[i], err = c.Floats(t); err != nil {
			return err
		}
	}
	rows, count, n := o.extents(c.In[0])
	for r := range rows {
		if c.Stopped() {
			return op.ErrStopped
		}
		f, each := factor(in[1], r, rows, count, n)
		streams := x[r*count*n:][:count*n]
		for k := range count {
			for h := range n {
				v := streams[k*n+h]
				if in[2] != nil {
					v = 0
					for j := range count {
						v += in[2][(r*count+j)*count+k] * streams[j*n+h]
					}
				}
				w := k
				if each {
					w = k*n + h
				}
				y[(r*count+k)*n+h] = v + f[w]*in[0][r*n+h]
			}
		}
	}
	c.PutFloats(c.Out[0], y)
	return nil
}

var hyperRows = []op.Row{
	{Domain: kit.Microsoft, Name: "HyperConnectionPreMix", Since: []int{1}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Types: kit.ComputedInF32, New: newPreMix},
	{Domain: kit.Microsoft, Name: "HyperConnectionPostMix", Since: []int{1}, In: [2]int{3, 4}, Out: [2]int{1, 1}, Types: kit.ComputedInF32, New: newPostMix},
}

package nn

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Loss is the negative logarithm of the probability of each sample's class. Scores are
// [batch,classes,...] and classes [batch,...]. The scores are log-probabilities, or, with Softmax,
// become log-probabilities first. A sample of class Ignore does not count.
type Loss struct {
	Softmax   bool
	Reduction string // none, mean or sum
	Ignore    int
	Ignores   bool
}

func newLoss(softmax bool) func(n *op.Node) (op.Op, error) {
	return func(n *op.Node) (op.Op, error) {
		o := &Loss{Softmax: softmax, Reduction: n.Str("reduction", "mean"), Ignore: n.Int("ignore_index", 0),
			Ignores: n.Has("ignore_index")}
		if !slices.Contains([]string{"none", "mean", "sum"}, o.Reduction) {
			return nil, graph.Errorf(graph.ErrFormat, "reduction is %q; it takes none, mean or sum", o.Reduction)
		}
		return o, nil
	}
}

// Infer sets a scalar, or one number per sample.
func (o *Loss) Infer(c *op.Infer) error {
	scores, classes := c.In[0], c.In[1]
	if d := classes.DType; d != tensor.I32 && d != tensor.I64 {
		return graph.Errorf(graph.ErrShape, "classes have elements of type %v, not int32 or int64", d)
	}
	if err := kit.SameTypes([]*op.Value{scores, c.Given(2)}); err != nil {
		return err
	}
	c.Set(1, scores.DType, scores.Dims)
	samples := classes.Dims
	if scores.Dims != nil {
		if len(scores.Dims) < 2 {
			return graph.Errorf(graph.ErrShape, "scores are %v; they take [batch,classes,...]", scores.Type)
		}
		want := kit.JoinDims(scores.Dims[:1], scores.Dims[2:])
		if samples == nil {
			samples = want
		}
		if len(want) != len(samples) {
			return graph.Errorf(graph.ErrShape, "scores are %v and classes %v", scores.Type, classes.Type)
		}
		samples = slices.Clone(samples)
		for i, d := range want {
			var ok bool
			if samples[i], ok = kit.JoinDim(samples[i], d); !ok {
				return graph.Errorf(graph.ErrShape, "scores are %v and classes %v", scores.Type, classes.Type)
			}
		}
		if w := c.Given(2); w != nil && w.Dims != nil {
			if len(w.Dims) != 1 {
				return graph.Errorf(graph.ErrShape, "weights are %v; there is one for each of %v classes", w.Type, scores.Dims[1])
			}
			if _, ok := kit.JoinDim(w.Dims[0], scores.Dims[1]); !ok {
				return graph.Errorf(graph.ErrShape, "weights are %v; there is one for each of %v classes", w.Type, scores.Dims[1])
			}
		}
	}
	if o.Reduction != "none" {
		samples = graph.Dims{}
	}
	c.Set(0, scores.DType, samples)
	return nil
}

// Run computes the outputs that the node has.
func (o *Loss) Run(c *op.Run) error {
	shape := c.In[0].Shape()
	s := kit.ViewAlong(shape, 1)
	classes, err := op.Ints(c.In[1])
	if err != nil {
		return err
	}
	log := tensor.Numbers(c.In[0])
	if o.Softmax {
		logs := make([]float64, shape.Len())
		SoftmaxDoubles(c.Pace(), kit.Doubles(c.In[0]), s, true, logs)
		if c.Wants(1) {
			kit.PutDoubles(c.Out[1], logs)
		}
		log = func(i int) float64 { return logs[i] }
	}
	weights := kit.Doubles(c.Given(2))
	list := make([]float64, len(classes))
	sum, total, pace := 0.0, 0.0, c.Pace()
	for i, class := range classes {
		pace.Work(16)
		if o.Ignores && class == o.Ignore {
			continue
		}
		if class < 0 || class >= s.N {
			return graph.Errorf(graph.ErrShape, "class %d of sample %d is not in 0..%d", class, i, s.N-1)
		}
		weight := 1.0
		if weights != nil {
			weight = weights[class]
		}
		list[i] = -weight * log((i/s.Inner*s.N+class)*s.Inner+i%s.Inner)
		sum, total = sum+list[i], total+weight
	}
	switch o.Reduction {
	case "sum":
		list = []float64{sum}
	case "mean":
		list = []float64{math.NaN()}
		if total != 0 {
			list[0] = sum / total
		}
	}
	kit.PutDoubles(c.Out[0], list)
	return nil
}

var lossRows = []op.Row{
	{Name: "NegativeLogLikelihoodLoss", Since: []int{12, 13, 22}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 16, New: newLoss(false)},
	{Name: "SoftmaxCrossEntropyLoss", Since: []int{12, 13}, In: [2]int{2, 3}, Out: [2]int{1, 2}, Types: op.Floats, Heap: 16, New: newLoss(true)},
}

package nn

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Optimizer is one step of a method that moves values against their gradients. Inputs are the rate,
// the number of earlier steps, all values, all gradients, and then all states of the first kind, of
// the second kind and so on. Outputs are all new values and all new states.
type Optimizer struct {
	Method              Method
	Norm, Post, Epsilon float64 // norm_coefficient, norm_coefficient_post, epsilon
	Alpha, Beta, Decay  float64
	states              int
}

// Method is the rule by which an Optimizer moves values.
type Method int

// The methods.
const (
	Adagrad Method = iota
	Adam
	Momentum
	Nesterov
)

func newAdagrad(n *op.Node) (op.Op, error) {
	return &Optimizer{
		Method: Adagrad, states: 1,
		Norm: float64(n.Float("norm_coefficient", 0)), Decay: float64(n.Float("decay_factor", 0)),
		Epsilon: float64(n.Float("epsilon", 1e-6)),
	}, nil
}

func newAdam(n *op.Node) (op.Op, error) {
	return &Optimizer{
		Method: Adam, states: 2,
		Norm: float64(n.Float("norm_coefficient", 0)), Post: float64(n.Float("norm_coefficient_post", 0)),
		Epsilon: float64(n.Float("epsilon", 1e-6)),
		Alpha:   float64(n.Float("alpha", 0.9)), Beta: float64(n.Float("beta", 0.999)),
	}, nil
}

func newMomentum(n *op.Node) (op.Op, error) {
	o := &Optimizer{states: 1, Norm: float64(n.Float("norm_coefficient", 0)), Alpha: float64(n.Float("alpha", 0)),
		Beta: float64(n.Float("beta", 0))}
	switch mode := n.Str("mode", ""); mode {
	case "standard":
		o.Method = Momentum
	case "nesterov":
		o.Method = Nesterov
	default:
		return nil, graph.Errorf(graph.ErrFormat, "mode is %q; it takes standard or nesterov", mode)
	}
	return o, nil
}

// begin returns the rate of a step, and the factor of a gradient in a momentum.
func (o *Optimizer) begin(rate float64, steps int) (rateNow, part float64) {
	part = o.Beta
	switch t := float64(steps); {
	case o.Method == Adagrad:
		rate /= 1 + t*o.Decay
	case o.Method == Adam && steps > 0:
		rate *= math.Sqrt(1-math.Pow(o.Beta, t)) / (1 - math.Pow(o.Alpha, t))
	case steps <= 0:
		part = 1
	}
	return rate, part
}

// step returns the new value of one element and updates its states.
func (o *Optimizer) step(rate, part, x, gradient float64, state []float64) float64 {
	gradient += o.Norm * x
	switch o.Method {
	case Adagrad:
		state[0] += gradient * gradient
		return x - rate*gradient/(math.Sqrt(state[0])+o.Epsilon)
	case Adam:
		state[0] = o.Alpha*state[0] + (1-o.Alpha)*gradient
		state[1] = o.Beta*state[1] + (1-o.Beta)*gradient*gradient
		return (1 - o.Post) * (x - rate*state[0]/(math.Sqrt(state[1])+o.Epsilon))
	}
	state[0] = o.Alpha*state[0] + part*gradient
	if o.Method == Nesterov {
		return x - rate*(gradient+o.Alpha*state[0])
	}
	return x - rate*state[0]
}

// Values returns the number of values that a node with the given number of inputs optimizes.
func (o *Optimizer) Values(inputs int) (int, error) {
	n := (inputs - 2) / (2 + o.states)
	if inputs != 2+n*(2+o.states) || n == 0 {
		return 0, graph.Errorf(graph.ErrFormat, "has %d inputs; it takes two and then %d for every value", inputs, 2+o.states)
	}
	return n, nil
}

// Infer keeps the types of values and states.
func (o *Optimizer) Infer(c *op.Infer) error {
	n, err := o.Values(len(c.In))
	if err != nil {
		return err
	}
	if len(c.Out) > n*(1+o.states) {
		return graph.Errorf(graph.ErrFormat, "has %d outputs; %d values have %d", len(c.Out), n, n*(1+o.states))
	}
	for i, v := range c.In[2:] {
		value := c.In[2+i%n]
		if v.DType != value.DType || v.DType != tensor.F32 && v.DType != tensor.F64 {
			return graph.Errorf(graph.ErrShape, "input %d is %v, and the value that it belongs to is %v", 2+i, v.Type,
				value.Type)
		}
		a, ok := v.Dims.Concrete()
		b, known := value.Dims.Concrete()
		if ok && known && !a.Equal(b) {
			return graph.Errorf(graph.ErrShape, "input %d is %v, and the value that it belongs to is %v", 2+i, v.Type,
				value.Type)
		}
	}
	for i := range c.Out {
		from := i
		if i >= n {
			from = i + n // gradients have no output
		}
		c.Set(i, c.In[2+from].DType, c.In[2+from].Dims)
	}
	return nil
}

// Run computes the outputs that the node has.
func (o *Optimizer) Run(c *op.Run) error {
	n, err := o.Values(len(c.In))
	if err != nil {
		return err
	}
	rate, err := kit.ScalarNumber(c.In[0], "the rate")
	if err != nil {
		return err
	}
	steps, err := op.ScalarInt(c.In[1], "the number of steps")
	if err != nil {
		return err
	}
	rate, part := o.begin(rate, steps)
	state, pace := make([]float64, o.states), c.Pace()
	for v := range n {
		x, gradients := kit.Doubles(c.In[2+v]), kit.Doubles(c.In[2+n+v])
		lists := make([][]float64, 1+o.states) // the new value and its new states
		for k := range lists {
			lists[k] = make([]float64, len(x))
			if k > 0 {
				copy(lists[k], kit.Doubles(c.In[2+(1+k)*n+v]))
			}
		}
		for i := range x {
			pace.Work(16)
			for k := range state {
				state[k] = lists[1+k][i]
			}
			lists[0][i] = o.step(rate, part, x[i], gradients[i], state)
			for k := range state {
				lists[1+k][i] = state[k]
			}
		}
		for k, list := range lists {
			if at := k*n + v; at < len(c.Out) {
				kit.PutDoubles(c.Out[at], list)
			}
		}
	}
	return nil
}

const trainingDomain = "ai.onnx.preview.training"

var (
	trainingTypes = op.Types{tensor.F32, tensor.F64}
	trainingRows  = []op.Row{
		{Domain: trainingDomain, Name: "Adagrad", Since: []int{1}, In: [2]int{3, op.Any}, Out: [2]int{1, op.Any}, Types: trainingTypes, Typed: 2, New: newAdagrad},
		{Domain: trainingDomain, Name: "Adam", Since: []int{1}, In: [2]int{3, op.Any}, Out: [2]int{1, op.Any}, Types: trainingTypes, Typed: 2, New: newAdam},
		{Domain: trainingDomain, Name: "Momentum", Since: []int{1}, In: [2]int{3, op.Any}, Out: [2]int{1, op.Any}, Types: trainingTypes, Typed: 2, New: newMomentum},
	}
)

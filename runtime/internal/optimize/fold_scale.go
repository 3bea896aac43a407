package optimize

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/fold"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// foldScale folds constant factors and addends per channel, such as a BatchNormalization has, into
// the constant weights of the convolution or the product before them. Results are rounded
// differently.
func foldScale(s *Scope) (*Edit, error) {
	m := newMatcher(s)
	for _, n := range m.live {
		l, ok := m.linear(n)
		if !ok {
			continue
		}
		last := n
		for next := m.consumer(last); next != nil && m.uses(last.Outputs[0]) == 1 &&
			m.then(&l, next, last.Outputs[0]); next = m.consumer(last) {
			last = next
		}
		if last == n {
			continue
		}
		if by := m.folded(&l); by != nil {
			by.Outputs = last.Outputs[:1]
			m.replace(last, by)
		}
	}
	return m.result()
}

// linear is a convolution or a product with constant weights. Each channel of the result has its
// own weights and addend.
type linear struct {
	node    *graph.Node
	weights *tensor.Tensor
	bias    []float64 // of every channel
	rank    int       // of the result
	axis    int       // of the result's channels
	bare    bool      // the node cannot take addends
	// Element i of the weights belongs to channel i/step%count + i/group*count.
	step, count, group int
	mul, add           []float64 // factor and addend to apply to each channel
}

// linear returns a node with constant weights and addends as a linear.
func (m *matcher) linear(n *graph.Node) (l linear, ok bool) {
	if !is(n, "Conv", "ConvTranspose", "Gemm", "MatMul", matMulBias) {
		return l, false
	}
	w := m.constant(n.Inputs[1])
	if w == nil || !slices.Contains(floats, w.DType()) || !m.own(n.Inputs[1], w) {
		return l, false
	}
	l = linear{node: n, weights: w, rank: len(w.Shape()), axis: 1}
	shape, channels, a := w.Shape(), 0, attrs(n)
	switch {
	case l.rank < 2 || w.Len() == 0 || n.Attr("activation") != nil || len(n.Inputs) > 3:
		return l, false
	case n.Op == "Conv":
		channels = shape[0]
		l.step, l.count, l.group = w.Len()/channels, channels, w.Len()
	case n.Op == "ConvTranspose":
		groups := a.Int("group", 1)
		if groups < 1 || shape[0]%groups != 0 {
			return l, false
		}
		channels = shape[1] * groups
		l.step, l.count, l.group = shape[2:].Len(), shape[1], w.Len()/groups
	case n.Op == "Gemm" && a.Bool("transB", false):
		channels = shape[0]
		l.step, l.count, l.group = shape[1], channels, w.Len()
	default:
		if l.rank != 2 {
			return l, false
		}
		channels = shape[1]
		l.step, l.count, l.group = 1, channels, w.Len()
		if rank, known := m.rank(n.Outputs[0]); n.Op != "Gemm" && known {
			l.rank, l.axis = rank, rank-1
		} else if n.Op != "Gemm" {
			return l, false
		}
		l.bare = n.Op == "MatMul"
	}
	if !m.lists(4 * channels) {
		return l, false
	}
	l.mul, l.add = make([]float64, channels), make([]float64, channels)
	for i := range l.mul {
		l.mul[i] = 1
	}
	l.bias, ok = m.addends(n, channels)
	return l, ok
}

// own reports whether changed weights may replace constant t of the given name: it is small, or the
// graph defines it and uses it once.
func (m *matcher) own(name string, t *tensor.Tensor) bool {
	return t.Size() <= fold.Constants.Growth || m.known[name] != nil && m.uses(name) == 1
}

// addends returns the values that input 2 of a node adds to the channels.
func (m *matcher) addends(n *graph.Node, channels int) (list []float64, ok bool) {
	list = make([]float64, channels)
	if len(n.Inputs) < 3 || n.Inputs[2] == "" {
		return list, true
	}
	t := m.constant(n.Inputs[2])
	if t == nil {
		return nil, false
	}
	beta := 1.0
	if n.Op == "Gemm" {
		beta = float64(attrs(n).Float("beta", 1))
	}
	given, ok := perChannel(t, 2, 1, channels)
	for i := range given {
		list[i] = beta * given[i]
	}
	return list, ok
}

// lists reports whether the budget has memory for a list of a number for each channel. Lists of few
// channels do not count.
func (m *matcher) lists(channels int) bool {
	const few = 1 << 12
	return channels <= few || m.take(8*channels) == nil
}

// perChannel returns the element of a tensor for each channel of a value of the given rank. If the
// elements differ along another axis than channels, ok is false.
func perChannel(t *tensor.Tensor, rank, axis, channels int) (list []float64, ok bool) {
	shape := t.Shape()
	if len(shape) > rank || t.Len() != 1 && t.Len() != channels {
		return nil, false
	}
	for i, d := range shape {
		if at := rank - len(shape) + i; d != 1 && at != axis {
			return nil, false
		}
	}
	given, ok := kit.Numbers(t)
	if !ok {
		return nil, false
	}
	list = make([]float64, channels)
	for i := range list {
		list[i] = given[min(i, len(given)-1)]
	}
	return list, true
}

// then applies the factors and addends of node n to l, with x as the result so far. If n has none,
// or they cannot be folded, it changes nothing and reports false.
func (m *matcher) then(l *linear, n *graph.Node, x string) bool {
	mul, add, ok := m.channelwise(n, x, l.rank, l.axis, len(l.mul))
	if !ok {
		return false
	}
	for i, m := range mul {
		if a := add[i]; l.bare && a != 0 || math.IsNaN(m*a) || math.IsInf(m, 0) || math.IsInf(a, 0) {
			return false
		}
	}
	for i := range mul {
		l.mul[i] *= mul[i]
		l.add[i] = l.add[i]*mul[i] + add[i]
	}
	return true
}

// channelwise returns the factor and the addend that a node applies to each channel of x, a value
// of the given rank.
func (m *matcher) channelwise(n *graph.Node, x string, rank, axis, channels int) (mul, add []float64, ok bool) {
	if is(n, "BatchNormalization") {
		if !m.same(n.Inputs[0], x) || axis != 1 {
			return nil, nil, false
		}
		return m.normalizing(n, channels)
	}
	if !is(n, "Mul", "Div", "Add", "Sub") || len(n.Inputs) != 2 || m.same(n.Inputs[0], n.Inputs[1]) {
		return nil, nil, false
	}
	i := 0 // the index of the constant
	if m.same(n.Inputs[0], x) {
		i = 1
	}
	t := m.constant(n.Inputs[i])
	if t == nil || i == 0 && n.Op == "Div" {
		return nil, nil, false
	}
	c, ok := perChannel(t, rank, axis, channels)
	if !ok {
		return nil, nil, false
	}
	mul, add = make([]float64, channels), make([]float64, channels)
	for k, v := range c {
		mul[k] = 1
		switch {
		case n.Op == "Mul":
			mul[k] = v
		case n.Op == "Div":
			mul[k] = 1 / v
		case n.Op == "Add":
			add[k] = v
		case i == 1:
			add[k] = -v
		default:
			mul[k], add[k] = -1, v
		}
	}
	return mul, add, true
}

// normalizing returns the factors and addends of a BatchNormalization for inference with constant
// statistics.
func (m *matcher) normalizing(n *graph.Node, channels int) (mul, add []float64, ok bool) {
	a := attrs(n)
	if a.Bool("training_mode", false) || !a.Bool("spatial", true) || len(n.Outputs) > 1 || len(n.Inputs) != 5 {
		return nil, nil, false
	}
	var list [4][]float64 // scale, shift, mean, variance
	for i := range list {
		t := m.constant(n.Inputs[1+i])
		if t == nil || t.Len() != channels || !m.lists(channels) {
			return nil, nil, false
		}
		if list[i], ok = kit.Numbers(t); !ok {
			return nil, nil, false
		}
	}
	epsilon := float64(a.Float("epsilon", 1e-5))
	mul, add = make([]float64, channels), make([]float64, channels)
	for i := range mul {
		mul[i] = list[0][i] / math.Sqrt(list[3][i]+epsilon)
		add[i] = list[1][i] - list[2][i]*mul[i]
	}
	return mul, add, true
}

// folded returns the node with changed weights and addends. If the weights exceed their element
// type, it returns nil.
func (m *matcher) folded(l *linear) *graph.Node {
	r := *l.node
	r.Inputs = slices.Clone(r.Inputs[:2])
	if slices.ContainsFunc(l.mul, func(v float64) bool { return v != 1 }) {
		weights, ok := l.scaled()
		if !ok {
			return nil
		}
		r.Inputs[1] = m.add(r.Inputs[1], weights)
	}
	some := false
	for i := range l.bias {
		l.bias[i] = l.bias[i]*l.mul[i] + l.add[i]
		some = some || l.bias[i] != 0
	}
	if !some && (len(l.node.Inputs) < 3 || l.node.Inputs[2] == "") && (r.Op != "Gemm" || r.Version >= 11) {
		return &r
	}
	bias := tensor.New(l.weights.DType(), len(l.bias))
	kit.SetNumbers(bias, l.bias)
	r.Inputs = append(r.Inputs, m.add(l.node.Outputs[0]+".bias", bias))
	if r.Op == "Gemm" {
		r.Attrs = without(r.Attrs, "beta")
	}
	return &r
}

package optimize

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// normAsConv rewrites a BatchNormalization with constant statistics, if only an activation reads
// the result, as a depthwise convolution of single pixels, which can apply the activation. A
// BatchNormalization after a convolution is left to foldScale, an earlier pass. Results are rounded
// differently.
func normAsConv(s *Scope) (*Edit, error) {
	m := newMatcher(s)
	for _, n := range m.live {
		if !is(n, "BatchNormalization") || m.uses(n.Outputs[0]) != 1 {
			continue
		}
		if next := m.consumer(n); next == nil || !is(next, activations...) {
			continue
		}
		if conv := m.depthwise(n); conv != nil {
			m.replace(n, conv)
		}
	}
	return m.result()
}

// depthwise returns the convolution that computes a float32 BatchNormalization with one or two
// spatial axes. For others, or if factors or addends exceed the type, it returns nil.
func (m *matcher) depthwise(n *graph.Node) *graph.Node {
	rank, known := m.rank(n.Inputs[0])
	scale := m.constant(n.Inputs[1])
	if !known || rank < 3 || rank > 4 || scale == nil || m.dtype(n.Inputs[0]) != tensor.F32 {
		return nil
	}
	channels := scale.Len()
	mul, add, ok := m.normalizing(n, channels)
	beyond := func(v float64) bool { return !(math.Abs(v) <= math.MaxFloat32) }
	if !ok || channels == 0 || slices.ContainsFunc(mul, beyond) || slices.ContainsFunc(add, beyond) {
		return nil
	}
	shape := tensor.Shape{channels, 1, 1, 1}[:rank]
	weights, bias := tensor.New(tensor.F32, shape...), tensor.New(tensor.F32, channels)
	kit.SetNumbers(weights, mul)
	kit.SetNumbers(bias, add)
	return &graph.Node{
		Name: n.Name, Op: "Conv", Version: n.Version, Outputs: n.Outputs,
		Inputs: []string{n.Inputs[0], m.add(n.Inputs[1], weights), m.add(n.Inputs[2], bias)},
		Attrs:  []*graph.Attr{intAttr("group", int64(channels))},
	}
}

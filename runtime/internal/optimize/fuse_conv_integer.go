package optimize

import "github.com/nacre-ml/nacre/runtime/graph"

// scaledConv computes the product of a scale and a ConvInteger, to which a bias of integers may be
// added, without storing its sums. A device beside the CPU computes the nodes one by one.
func (m *matcher) scaledConv(n *graph.Node) *graph.Node {
	if m.Accelerated || !is(n, "Mul") {
		return nil
	}
	for i, name := range n.Inputs {
		cast := m.only(name, "Cast")
		if cast == nil {
			continue
		}
		conv, bias := m.biasedConv(cast.Inputs[0])
		if conv == nil {
			continue
		}
		scale, w := n.Inputs[1-i], m.dims(conv.Inputs[1])
		if len(w) == 0 || len(m.dims(scale)) > len(w) || !m.isOne(scale) && !m.isPerChannel(scale, len(w), w[0]) {
			continue
		}
		inputs := make([]string, 4, 6)
		copy(inputs, conv.Inputs)
		inputs = append(inputs, scale)
		if bias != "" {
			inputs = append(inputs, bias)
		}
		return instead(n, nacreDomain, "ConvIntegerToFloat", 1, inputs, conv.Attrs...)
	}
	return nil
}

// biasedConv returns the ConvInteger that computes a value, and the bias for each filter that is
// added to it, if there is one. Nothing else reads its sums.
func (m *matcher) biasedConv(value string) (conv *graph.Node, bias string) {
	sum := m.producer(value, "ConvInteger", "Add")
	switch {
	case sum == nil || m.consumer(sum) == nil:
		return nil, ""
	case is(sum, "ConvInteger"):
		return sum, ""
	}
	for i, name := range sum.Inputs {
		conv, bias = m.producer(name, "ConvInteger"), sum.Inputs[1-i]
		if conv == nil || m.consumer(conv) == nil {
			continue
		}
		if w := m.dims(conv.Inputs[1]); len(w) > 0 && m.isPerChannel(bias, len(w), w[0]) {
			return conv, bias
		}
	}
	return nil, ""
}

// isPerChannel reports whether a value broadcasts to one with that many axes, and channels along the
// second, as an element for each channel.
func (m *matcher) isPerChannel(name string, axes int, channels graph.Dim) bool {
	dims := m.dims(name)
	at := len(dims) - axes + 1
	return (at == 0 || at == 1) && at < len(dims) && dims[at].Same(channels) && dims.Len().Same(channels)
}

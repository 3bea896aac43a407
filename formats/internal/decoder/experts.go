package decoder

import "github.com/nacre-ml/nacre/runtime/graph"

// experts adds the experts of a block.
func (m *maker) experts(e *Experts, x string) string {
	scores := m.linear(e.Router, x)
	if e.Sigmoid { // the softmax of logarithms
		scores = m.Op("Neg", []string{m.Op("Softplus", []string{m.Op("Neg", []string{scores})})})
	}
	in := []string{x, scores}
	add := func(w Matrix) {
		weight, bias := m.float32s(w.Weight), ""
		if w.Scale != nil {
			weight = m.Op("Mul", []string{weight, m.Op("Reshape", []string{m.float32s(w.Scale), m.Ints(-1, 1, 1)})})
		}
		if w.Bias != nil {
			bias = m.float32s(w.Bias)
		}
		in = append(in, weight, bias)
	}
	attrs := []*graph.Attr{graph.IntAttr("k", int64(e.Chosen))}
	if e.Normalized {
		attrs = append(attrs, graph.IntAttr("normalize_routing_weights", 1))
	}
	gate := e.Gate
	if e.GateUp.given() {
		gate = e.GateUp
	}
	add(gate)
	add(e.Down)
	if !e.GateUp.given() {
		add(e.Up)
	}
	switch {
	case e.Limit != 0:
		attrs = append(attrs, graph.StringAttr("activation_type", "swiglu"), graph.FloatAttr("activation_alpha", 1.702),
			graph.FloatAttr("activation_beta", 1), graph.FloatAttr("swiglu_limit", float32(e.Limit)))
	case e.GateUp.given():
		attrs = append(attrs, graph.StringAttr("activation_type", "swiglu"))
	default:
		attrs = append(attrs, graph.StringAttr("activation_type", "silu"))
	}
	if e.GateUp.given() {
		attrs = append(attrs, graph.IntAttr("swiglu_fusion", 2))
	}
	for len(in) > 0 && in[len(in)-1] == "" {
		in = in[:len(in)-1]
	}
	y := m.times(m.Node(microsoft, "MoE", in, 1, attrs...)[0], e.Scale)
	if !e.SharedUp.given() {
		return y
	}
	return m.Op("Add", []string{y, m.shared(e, x)})
}

// shared adds the MLP of all tokens.
func (m *maker) shared(e *Experts, x string) string {
	gate := m.linear(e.SharedGate, x)
	gate = m.Op("Mul", []string{gate, m.Op("Sigmoid", []string{gate})})
	y := m.linear(e.SharedDown, m.Op("Mul", []string{gate, m.linear(e.SharedUp, x)}))
	if e.SharedRouter == nil {
		return y
	}
	w := m.Op("Reshape", []string{m.float32s(e.SharedRouter), m.Ints(1, -1)})
	share := m.Op("Sigmoid", []string{m.Op("Gemm", []string{x, w}, graph.IntAttr("transB", 1))})
	return m.Op("Mul", []string{y, share})
}

package decoder

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// batches adds the inputs of an encoder for texts of several lengths.
func (m *maker) batches() {
	row := graph.TensorOf(tensor.I64, dims("batch", "sequence"))
	mask := m.Input("attention_mask", row)
	m.seen = m.Op("Unsqueeze", []string{m.Op("Cast", []string{mask}, graph.IntAttr("to", 9)), m.Ints(1, 2)})
	if t := m.c.Types; t != nil && t.Tensor.Shape()[0] > 1 {
		m.types = m.Input("token_type_ids", row)
		m.Limit(graph.Limit{Input: m.types, Most: t.Tensor.Shape()[0] - 1, About: "types of tokens"})
	}
}

// typeIDs returns the rows of Types: the first one, or the input's.
func (m *maker) typeIDs() string {
	if m.types != "" {
		return m.types
	}
	return m.Int(0)
}

// counted returns the rows of Positions: [sequence], or [batch,sequence] with CountFrom.
func (m *maker) counted() string {
	if m.c.CountFrom == nil {
		return m.positions()
	}
	from := m.Int(int64(*m.c.CountFrom))
	real := m.Op("Cast", []string{m.Op("Not", []string{m.Op("Equal", []string{m.ids, from})})}, graph.IntAttr("to", 7))
	count := m.Op("CumSum", []string{real, m.Int(1)})
	return m.Op("Add", []string{m.Op("Mul", []string{count, real}), from})
}

// classified adds the output of an encoder with Batches: the last hidden state, or the logits of
// Head.
func (m *maker) classified(x string) {
	c := m.c
	if !c.Head.given() {
		m.Output(m.sequences(x, c.Hidden), "last_hidden_state", graph.TensorOf(tensor.F32, dims("batch", "sequence", c.Hidden)))
		return
	}
	labels := c.Head.width()
	if !c.First.given() {
		m.Output(m.sequences(m.linear(c.Head, x), labels), "logits", graph.TensorOf(tensor.F32, dims("batch", "sequence", labels)))
		return
	}
	first := m.Op("Gather", []string{m.sequences(x, c.Hidden), m.Int(0)}, graph.IntAttr("axis", 1))
	y := m.function(c.FirstActivation, m.linear(c.First, first))
	m.Output(m.linear(c.Head, y), "logits", graph.TensorOf(tensor.F32, dims("batch", labels)))
}

// function applies an activation.
func (m *maker) function(a Activation, x string) string {
	other := *m.c
	other.Activation = a
	c := m.c
	m.c = &other
	defer func() { m.c = c }()
	return m.activated(x)
}

package optimize

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// fuseMatMulAdd replaces x·y + bias, with matrices x and y and a bias for every
// column, by MatMulBias.
func fuseMatMulAdd() run {
	const sums variable = "sums"
	return rewriting(rule{
		pattern: add(as(sums, once(apply("MatMul", x, y))), bias),
		when:    func(m *match) bool { return m.multipliesMatrices(m.nodeOf(sums)) },
		write: func(m *match) *graph.Node {
			product := m.nodeOf(sums)
			vector := m.columnVector(m.values[bias], product.Outputs[0])
			if vector == "" {
				return nil
			}
			return &graph.Node{Name: product.Name, Domain: nacreDomain, Op: "MatMulBias", Version: 1,
				Inputs: []string{m.values[x], m.values[y], vector}, Outputs: m.root.Outputs}
		},
	})
}

// multipliesMatrices reports whether the operands of a MatMul are floats and have
// at least two axes each.
func (s *Scope) multipliesMatrices(n *graph.Node) bool {
	a, ok := s.rank(n.Inputs[0])
	b, ok2 := s.rank(n.Inputs[1])
	return ok && ok2 && a >= 2 && b >= 2 && s.ofType(n.Outputs[0], floats)
}

// columnVector returns the name of a vector with the element that an addend adds to each column of
// a product. If the addend differs between rows, it returns "". A constant addend may have leading
// axes of extent 1.
func (m *matcher) columnVector(addend, product string) string {
	d, v := m.dims(product), m.value(addend)
	if d == nil || v.DType != m.dtype(product) {
		return ""
	}
	columns := d[len(d)-1]
	if len(v.Dims) == 1 && v.Dims[0].Same(columns) {
		return addend
	}
	n, ok := columns.Value()
	if v.Const == nil || !ok || v.Const.Len() != n {
		return ""
	}
	if _, ok := perChannel(v.Const, len(d), len(d)-1, n); !ok {
		return ""
	}
	flat, err := v.Const.Reshape(tensor.Shape{n})
	if err != nil {
		return ""
	}
	return m.add(addend, flat)
}

package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// coded is a value of 8-bit codes that stand for (codes - zero) * scale.
type coded struct {
	codes, scale, zero string
}

// inputs lists the codes, the scale and the zero point.
func (c *coded) inputs() []string { return []string{c.codes, c.scale, c.zero} }

// fuseQuantized makes float32 operators between DequantizeLinear and QuantizeLinear compute on
// codes of 8 bits: convolutions with an added value and a clamp, functions of elements (by tables),
// products, sums, averages, and operators that move elements. A code may differ by one if the float
// that it is rounded from is halfway between two codes. It also makes scales factors of integer
// convolutions.
func fuseQuantized(s *Scope) (*Edit, error) {
	m := newMatcher(s)
	for _, n := range m.live {
		if m.replaced[n] || !is(n, quantizers...) {
			continue
		}
		y, ok := m.point(n, n.Outputs[0])
		if !ok {
			continue
		}
		for _, write := range codeRules {
			if by, used := write(m, n, y); by != nil && m.replace(n, by...) {
				m.retire(used...)
				m.retire(n)
				break
			}
		}
	}
	for _, n := range m.live {
		by := m.codedProduct(n)
		if by == nil {
			by = m.scaledConv(n)
		}
		if by != nil && !m.replaced[n] && m.replace(n, by) {
			m.retire(n)
		}
	}
	return m.result()
}

// Operators between floats and codes.
var (
	quantizers   = []string{"QuantizeLinear", microsoft + ".QuantizeLinear"}
	dequantizers = []string{"DequantizeLinear", microsoft + ".DequantizeLinear"}
)

// codeRules are functions that return the nodes that replace a QuantizeLinear node with result y,
// and the nodes before it that they also replace. They return nil if they do not apply.
var codeRules = []func(m *matcher, root *graph.Node, y coded) (by, used []*graph.Node){
	(*matcher).codedConv,
	(*matcher).codedTable,
	(*matcher).codedPair,
	(*matcher).codedMatMul,
	(*matcher).codedMean,
	(*matcher).codedMove,
	(*matcher).codedConcat,
}

// point returns codes with the scale and the zero point of a node between floats and codes. Unless
// these are a single float32 and a single zero point, ok is false.
func (m *matcher) point(n *graph.Node, codes string) (c coded, ok bool) {
	d := m.dtype(codes)
	if d != tensor.U8 && d != tensor.I8 || m.dtype(n.Inputs[1]) != tensor.F32 || !m.isOne(n.Inputs[1]) {
		return c, false
	}
	c = coded{codes, n.Inputs[1], ""}
	if len(n.Inputs) > 2 && n.Inputs[2] != "" {
		c.zero = n.Inputs[2]
		return c, m.isOne(c.zero)
	}
	c.zero = m.noZero(d)
	return c, true
}

func (m *matcher) isOne(name string) bool {
	d := m.dims(name)
	return d != nil && d.Len().Is(1)
}

// noZero returns the name of a zero point of 0.
func (m *matcher) noZero(d tensor.DType) string {
	key := "zero point of " + d.String()
	if m.vectors[key] == "" {
		m.vectors[key] = m.add("zero_point", tensor.New(d))
	}
	return m.vectors[key]
}

// dequantised returns the codes that DequantizeLinear turns into a float32 value.
func (m *matcher) dequantised(name string) (c coded, ok bool) {
	n := m.producer(name, dequantizers...)
	if n == nil || m.dtype(name) != tensor.F32 {
		return c, false
	}
	return m.point(n, n.Inputs[0])
}

// weights returns the codes that DequantizeLinear turns into weights, with a scale and a zero point
// for all or for each index along an axis.
func (m *matcher) weights(name string, axis int) (c coded, ok bool) {
	if c, ok = m.dequantised(name); ok {
		return c, true
	}
	n := m.producer(name, "DequantizeLinear")
	if n == nil || m.dtype(name) != tensor.F32 || m.dtype(n.Inputs[1]) != tensor.F32 || intOr(n, "block_size", 0) != 0 {
		return c, false
	}
	d, dims := m.dtype(n.Inputs[0]), m.dims(n.Inputs[0])
	if d != tensor.U8 && d != tensor.I8 || dims == nil || len(m.dims(n.Inputs[1])) != 1 {
		return c, false
	}
	if at := int(intOr(n, "axis", 1)); at != axis && at+len(dims) != axis {
		return c, false
	}
	c = coded{n.Inputs[0], n.Inputs[1], ""}
	if len(n.Inputs) > 2 && n.Inputs[2] != "" {
		c.zero = n.Inputs[2]
	} else {
		c.zero = m.noZero(d)
	}
	return c, true
}

// only returns the node that computes a float32 value, if it applies one of the operators and has
// one consumer. Without ops, any operator matches.
func (m *matcher) only(name string, ops ...string) *graph.Node {
	if n := m.producer(name, ops...); n != nil && m.consumer(n) != nil && m.dtype(name) == tensor.F32 {
		return n
	}
	return nil
}

// clamped returns the operand of the clamp that computes a value, the clamp as attributes of a
// node, and its node. If there is no clamp, it returns the value.
func (m *matcher) clamped(name string) (of string, list []*graph.Attr, used []*graph.Node) {
	n := m.only(name, "Relu", "Clip")
	if n == nil {
		return name, nil, nil
	}
	f, ok := m.activation(n)
	if !ok {
		return name, nil, nil
	}
	return n.Inputs[0], f.attrs("FusedConv"), []*graph.Node{n}
}

// codedConv computes a convolution, an added value if there is one, and a clamp on codes.
func (m *matcher) codedConv(root *graph.Node, y coded) (by, used []*graph.Node) {
	value, clamp, used := m.clamped(root.Inputs[0])
	conv, z := m.only(value, "Conv"), []string(nil)
	if sum := m.only(value, "Add"); sum != nil {
		for i := 0; i < 2 && conv == nil; i++ {
			added, ok := m.dequantised(sum.Inputs[i])
			if !ok || !m.sameDims(added.codes, value) {
				continue
			}
			n, stage, between := m.staged(sum.Inputs[1-i])
			conv, z, used = n, append(added.inputs(), stage...), slices.Concat(used, between, []*graph.Node{sum})
		}
	}
	if conv == nil {
		return nil, nil
	}
	x, ok := m.dequantised(conv.Inputs[0])
	w, ok2 := m.weights(conv.Inputs[1], 0)
	if !ok || !ok2 {
		return nil, nil
	}
	inputs := slices.Concat(x.inputs(), w.inputs(), []string{y.scale, y.zero})
	if len(conv.Inputs) > 2 {
		inputs = append(inputs, conv.Inputs[2])
	}
	if z != nil {
		inputs = append(inputs, make([]string, 9-len(inputs))...)
		inputs = append(inputs, z...)
	}
	return []*graph.Node{instead(root, nacreDomain, "FusedQLinearConv", 1, inputs, slices.Concat(conv.Attrs, clamp)...)},
		append(used, conv)
}

// staged returns the convolution that computes a value. If its result is quantised and dequantised,
// it also returns the scale and the zero point, and the two nodes.
func (m *matcher) staged(value string) (conv *graph.Node, stage []string, between []*graph.Node) {
	if conv = m.only(value, "Conv"); conv != nil {
		return conv, nil, nil
	}
	to := m.only(value, dequantizers...)
	if to == nil {
		return nil, nil, nil
	}
	c, ok := m.dequantised(value)
	from := m.producer(c.codes, quantizers...)
	if !ok || from == nil || m.consumer(from) == nil {
		return nil, nil, nil
	}
	p, ok := m.point(from, c.codes)
	if !ok || !m.equals(p.scale, c.scale) || !m.equals(p.zero, c.zero) {
		return nil, nil, nil
	}
	return m.only(from.Inputs[0], "Conv"), []string{c.scale, c.zero}, []*graph.Node{from, to}
}

// codedPair computes a sum or a product of two values on codes. If the zero point is the least
// code, saturation replaces a Relu.
func (m *matcher) codedPair(root *graph.Node, y coded) (by, used []*graph.Node) {
	value := root.Inputs[0]
	if relu := m.only(value, "Relu"); relu != nil && m.isLeast(y) {
		value, used = relu.Inputs[0], []*graph.Node{relu}
	}
	n := m.only(value, "Add", "Mul")
	if n == nil {
		return nil, nil
	}
	a, ok := m.dequantised(n.Inputs[0])
	b, ok2 := m.dequantised(n.Inputs[1])
	if !ok || !ok2 {
		return nil, nil
	}
	return []*graph.Node{instead(root, microsoft, "QLinear"+n.Op, 1,
		slices.Concat(a.inputs(), b.inputs(), []string{y.scale, y.zero}))}, append(used, n)
}

// isLeast reports whether a zero point is the least code.
func (m *matcher) isLeast(y coded) bool {
	zero, ok := m.scalar(y.zero)
	least := 0.0
	if m.dtype(y.codes) == tensor.I8 {
		least = -128
	}
	return ok && zero == least
}

// codedMatMul computes a product on codes.
func (m *matcher) codedMatMul(root *graph.Node, y coded) (by, used []*graph.Node) {
	n := m.only(root.Inputs[0], "MatMul")
	if n == nil {
		return nil, nil
	}
	a, ok := m.dequantised(n.Inputs[0])
	b, turned, ok2 := m.rightCodes(n.Inputs[1], false)
	if !ok || !ok2 || turned && m.constant(b.codes) == nil {
		return nil, nil
	}
	if turned {
		b.codes = m.transposedCodes(b.codes)
	}
	return []*graph.Node{instead(root, "", "QLinearMatMul", 10,
		slices.Concat(a.inputs(), b.inputs(), []string{y.scale, y.zero}))}, []*graph.Node{n}
}

// codedMean computes an average on codes.
func (m *matcher) codedMean(root *graph.Node, y coded) (by, used []*graph.Node) {
	n := m.only(root.Inputs[0], "AveragePool", "GlobalAveragePool")
	if n == nil {
		return nil, nil
	}
	x, ok := m.dequantised(n.Inputs[0])
	if !ok || m.dtype(x.codes) != m.dtype(y.codes) {
		return nil, nil
	}
	return []*graph.Node{instead(root, microsoft, "QLinear"+n.Op, 1, append(x.inputs(), y.scale, y.zero), n.Attrs...)},
		[]*graph.Node{n}
}

// byteMaxPool is the first version of MaxPool that takes codes.
const byteMaxPool = 12

// codedMove moves codes instead of floats, if codes mean the same before and after.
func (m *matcher) codedMove(root *graph.Node, y coded) (by, used []*graph.Node) {
	n := m.only(root.Inputs[0])
	if n == nil || len(n.Outputs) > 1 {
		return nil, nil
	}
	row := m.row(n)
	x, ok := m.dequantised(n.Inputs[0])
	if !ok || !row.Selects && !row.View || !row.Types.Has(m.dtype(x.codes)) || m.dtype(x.codes) != m.dtype(y.codes) ||
		!m.equals(x.scale, y.scale) || !m.equals(x.zero, y.zero) {
		return nil, nil
	}
	moved := instead(root, n.Domain, n.Op, n.Version, slices.Clone(n.Inputs), n.Attrs...)
	moved.Inputs[0] = x.codes
	if n.Op == "MaxPool" {
		moved.Version = max(byteMaxPool, n.Version)
	}
	return []*graph.Node{moved}, []*graph.Node{n}
}

// equals reports whether two values of one element are the same.
func (m *matcher) equals(a, b string) bool {
	if m.same(a, b) {
		return true
	}
	x, ok := m.scalar(a)
	y, ok2 := m.scalar(b)
	return ok && ok2 && x == y
}

// codedConcat joins codes. Codes with another meaning are converted by a table.
func (m *matcher) codedConcat(root *graph.Node, y coded) (by, used []*graph.Node) {
	n := m.only(root.Inputs[0], "Concat")
	if n == nil {
		return nil, nil
	}
	joined := instead(root, n.Domain, n.Op, n.Version, make([]string, len(n.Inputs)), n.Attrs...)
	for i, name := range n.Inputs {
		x, ok := m.dequantised(name)
		if !ok {
			return nil, nil
		}
		joined.Inputs[i] = x.codes
		if m.dtype(x.codes) == m.dtype(y.codes) && m.equals(x.scale, y.scale) && m.equals(x.zero, y.zero) {
			continue
		}
		c := &codeChain{matcher: m}
		if !c.take(m.producer(name, dequantizers...)) {
			return nil, nil
		}
		if joined.Inputs[i] = m.fresh(x.codes); !c.convert(root, joined.Inputs[i], &by) {
			return nil, nil
		}
	}
	return append(by, joined), []*graph.Node{n}
}

// rightCodes returns the codes of the right operand of a product, with a scale and a zero point for
// all or for each column of the result. turned reports that the axes of the codes are exchanged, by
// the product, as transposed says, or by a Transpose before it.
func (m *matcher) rightCodes(name string, transposed bool) (c coded, turned, ok bool) {
	if n := m.producer(name, "Transpose"); n != nil && m.isSwap(n) {
		name, transposed = n.Inputs[0], !transposed
	}
	axis := len(m.dims(name)) - 1
	if transposed {
		axis = 0
	}
	c, ok = m.weights(name, axis)
	return c, transposed, ok
}

// codedProduct computes a product of codes with a float32 result.
func (m *matcher) codedProduct(n *graph.Node) *graph.Node {
	if !is(n, "MatMul", "Gemm") || m.dtype(n.Outputs[0]) != tensor.F32 {
		return nil
	}
	a, ok := m.dequantised(n.Inputs[0])
	b, turned, ok2 := m.rightCodes(n.Inputs[1], intOr(n, "transB", 0) != 0)
	if !ok || !ok2 || m.constant(b.codes) == nil || intOr(n, "transA", 0) != 0 || floatOr(n, "alpha", 1) != 1 ||
		floatOr(n, "beta", 1) != 1 {
		return nil
	}
	inputs := []string{a.codes, b.codes, a.scale, b.scale, a.zero, b.zero}
	if len(n.Inputs) > 2 && n.Inputs[2] != "" {
		vector := m.columnVector(n.Inputs[2], n.Outputs[0])
		if vector == "" {
			return nil
		}
		inputs = append(inputs, vector)
	}
	if turned {
		inputs[1] = m.transposedCodes(b.codes)
	}
	return instead(n, microsoft, "MatMulIntegerToFloat", 1, inputs)
}

// transposedCodes returns the name of a constant matrix of codes with its axes exchanged.
func (m *matcher) transposedCodes(name string) string {
	key := "transposed " + m.canonical(name)
	if m.vectors[key] == "" {
		from := m.constant(name)
		rows, cols := from.Shape()[0], from.Shape()[1]
		m.vectors[key] = m.add(name, tensor.Derive(from.DType(), tensor.Shape{cols, rows}, func(y []byte) {
			x := from.Bytes()
			defer from.Forget()
			for i := range rows {
				for j := range cols {
					y[j*rows+i] = x[i*cols+j]
				}
			}
		}))
	}
	return m.vectors[key]
}

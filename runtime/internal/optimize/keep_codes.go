package optimize

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// keepCodes makes nodes read constant codes, where a DequantizeLinear makes floats of the whole
// value: a product becomes MatMulNBits, and a Gather takes codes, which are dequantised afterwards.
// A product reads constant integers that are cast to floats as codes with the scale 1. The weights of
// a convolution become a constant that derives from codes.
func keepCodes(s *Scope) (*Edit, error) {
	m := newMatcher(s)
	k := codeKeeper{matcher: m, made: map[string]*codeInputs{}}
	for _, n := range m.live {
		switch {
		case is(n, "MatMul", "Gemm"):
			k.product(n)
		case is(n, "Gather"):
			m.gatherCodes(n)
		case is(n, "Conv"):
			m.filterCodes(n)
		}
	}
	return m.result()
}

// codeKeeper rewrites products. It makes the inputs of equal weights once.
type codeKeeper struct {
	*matcher
	made map[string]*codeInputs
}

// codeInputs are weights as MatMulNBits takes them. zeros is "" for none.
type codeInputs struct {
	matrix               *codeMatrix
	codes, scales, zeros string
}

// product replaces a product with a constant matrix of codes, and an addition of a vector after it.
func (k *codeKeeper) product(n *graph.Node) {
	transposed := intOr(n, "transB", 0) != 0
	if intOr(n, "transA", 0) != 0 || floatOr(n, "alpha", 1) != 1 || floatOr(n, "beta", 1) != 1 || !k.ofType(n.Outputs[0], narrowFloats) {
		return
	}
	w := k.inputs(n.Inputs[1], transposed)
	if w == nil {
		return
	}
	root, bias := n, ""
	if len(n.Inputs) > 2 && n.Inputs[2] != "" {
		if bias = k.columnVector(n.Inputs[2], n.Outputs[0]); bias == "" {
			return
		}
	} else if sum := k.consumer(n); is(sum, "Add") {
		i := slices.IndexFunc(sum.Inputs, func(name string) bool { return !k.same(name, n.Outputs[0]) })
		if i >= 0 && k.sameDims(sum.Outputs[0], n.Outputs[0]) {
			if bias = k.columnVector(sum.Inputs[i], n.Outputs[0]); bias != "" {
				root = sum
			}
		}
	}
	inputs := []string{n.Inputs[0], w.codes, w.scales, w.zeros, "", bias}
	for inputs[len(inputs)-1] == "" {
		inputs = inputs[:len(inputs)-1]
	}
	k.replace(root, instead(root, microsoft, "MatMulNBits", 1, inputs, intAttr("N", int64(w.matrix.n)), intAttr("K", int64(w.matrix.k)),
		intAttr("bits", int64(w.matrix.bits)), intAttr("block_size", int64(w.matrix.block))))
}

// inputs returns the right operand of a product, if it is a constant matrix of codes that
// MatMulNBits can read, or nil. transposed tells that the operand is W [n,k], not its transpose.
func (k *codeKeeper) inputs(name string, transposed bool) *codeInputs {
	if n := k.producer(name, "Transpose"); n != nil && k.isSwap(n) {
		name, transposed = n.Inputs[0], !transposed
	}
	n := k.producer(name, append([]string{"Cast"}, dequantizers...)...)
	if n == nil {
		return nil
	}
	key := n.Outputs[0]
	if transposed {
		key += " transposed"
	}
	if w, ok := k.made[key]; ok {
		return w
	}
	w := &codeInputs{matrix: k.codeMatrix(n, transposed)}
	if w.matrix == nil {
		w = nil
	} else {
		w.codes = k.add(n.Inputs[0], w.matrix.packed())
		if w.matrix.ordered() {
			w.scales = n.Inputs[1]
		} else {
			w.scales = k.add("scales", w.matrix.orderedScales())
		}
		if zeros := w.matrix.packedZeros(); zeros != nil {
			w.zeros = k.add("zero_points", zeros)
		}
	}
	k.made[key] = w
	return w
}

// isSwap reports whether a Transpose exchanges the axes of a matrix.
func (m *matcher) isSwap(n *graph.Node) bool {
	perm, ok := m.perm(n)
	return ok && slices.Equal(perm, []int{1, 0})
}

// codeMatrix returns the matrix of a DequantizeLinear or a Cast, or nil if it is not constant or its
// codes and scales are not as MatMulNBits takes them.
func (m *matcher) codeMatrix(n *graph.Node, transposed bool) *codeMatrix {
	w := &codeMatrix{codes: m.constant(n.Inputs[0]), columns: !transposed}
	if n.Op == "Cast" {
		if !m.ofType(n.Outputs[0], narrowFloats) {
			return nil
		}
		w.scales = tensor.New(m.dtype(n.Outputs[0]))
		kit.SetNumbers(w.scales, []float64{1})
	} else {
		w.scales = m.constant(n.Inputs[1])
	}
	if w.codes == nil || w.scales == nil || len(w.codes.Shape()) != 2 || !kit.ComputedInF32.Has(w.scales.DType()) {
		return nil
	}
	if len(n.Inputs) > 2 && n.Inputs[2] != "" {
		if w.zeros = m.constant(n.Inputs[2]); w.zeros == nil || w.zeros.Len() != w.scales.Len() {
			return nil
		}
	}
	shape, deep := w.codes.Shape(), 1 // deep is the axis of products
	if w.columns {
		deep = 0
	}
	if w.n, w.k = shape[1-deep], shape[deep]; w.n == 0 || !w.readType() {
		return nil
	}
	axis, err := op.NormAxis(int(intOr(n, "axis", 1)), 2)
	size := intOr(n, "block_size", 0)
	w.stored = w.k
	switch {
	case w.scales.Len() == 1:
	case err != nil:
		return nil
	case size == 0 && axis != deep:
		w.rowStep = 1
	case size > 0 && axis == deep && size >= int64(w.k):
		w.rowStep = 1
	case size > 0 && axis == deep:
		w.stored = int(size)
		w.rowStep, w.blockStep = (w.k-1)/w.stored+1, 1
		if w.columns {
			w.rowStep, w.blockStep = 1, w.n
		}
	default:
		return nil
	}
	if !w.chooseBlock() {
		return nil
	}
	return w
}

// gatherCodes replaces a Gather of the first axis of dequantised codes by a DequantizeLinear of
// gathered codes, scales and zero points.
func (m *matcher) gatherCodes(n *graph.Node) {
	from := m.producer(n.Inputs[0], dequantizers...)
	if from == nil || intOr(n, "axis", 0) != 0 {
		return
	}
	codes, scales := m.constant(from.Inputs[0]), m.constant(from.Inputs[1])
	axis, err := op.NormAxis(int(intOr(from, "axis", 1)), max(len(m.dims(from.Inputs[0])), 1))
	if codes == nil || scales == nil || len(codes.Shape()) < 2 || err != nil {
		return
	}
	b := builder{matcher: m}
	rows, rest := b.apply("Gather", n.Version, []string{from.Inputs[0], n.Inputs[1]}, n.Attrs...), slices.Clone(from.Inputs[1:])
	list, size := from.Attrs, intOr(from, "block_size", 0)
	switch back := int64(axis - len(codes.Shape())); {
	case scales.Len() == 1:
	case size == 0 && axis > 0, size > 0 && axis > 0:
		list = append(without(list, "axis"), intAttr("axis", back))
	case size == 0 && len(codes.Shape()) == 2 && codes.Shape()[1] > 0:
		// One scale for each row is one block of the row.
		list, size = append(without(without(list, "axis"), "block_size"), intAttr("axis", -1), intAttr("block_size", int64(codes.Shape()[1]))), 1
		for i, name := range rest {
			if t := m.constant(name); name != "" && t != nil {
				flat, err := t.Reshape(tensor.Shape{t.Len(), 1})
				if err != nil {
					return
				}
				rest[i] = m.add(name, flat)
			}
		}
	default:
		return
	}
	for i, name := range rest {
		if name != "" && size > 0 && scales.Len() > 1 {
			rest[i] = b.apply("Gather", n.Version, []string{name, n.Inputs[1]}, n.Attrs...)
		}
	}
	b.replaceRoot(n, "", "DequantizeLinear", max(from.Version, blockedCodes), append([]string{rows}, rest...), list...)
	m.replace(n, b.nodes...)
}

// leastFilter is the least float32 weights, in bytes, of a convolution that stay codes. Codes of
// fewer save little, and each convolution with codes has a command more in a run.
const leastFilter = 16 << 10

// filterCodes replaces the DequantizeLinear of constant codes that a convolution of float32 has as
// weights by a constant with these codes as its source. Depthwise convolutions read floats: they
// have few weights.
func (m *matcher) filterCodes(n *graph.Node) {
	from := m.producer(n.Inputs[1], dequantizers...)
	if from == nil || m.edit.removes(from) || m.dtype(from.Outputs[0]) != tensor.F32 {
		return
	}
	codes, scales := m.constant(from.Inputs[0]), m.constant(from.Inputs[1])
	if codes == nil || scales == nil || len(codes.Shape()) < 3 || codes.Shape()[1] == 1 || tensor.F32.Bytes(codes.Len()) < leastFilter {
		return
	}
	var zeros *tensor.Tensor
	if len(from.Inputs) > 2 && from.Inputs[2] != "" {
		if zeros = m.constant(from.Inputs[2]); zeros == nil {
			return
		}
	}
	c, err := kit.NewCodes(codes, scales, zeros, int(intOr(from, "axis", 1)), int(intOr(from, "block_size", 0)))
	if err != nil {
		return
	}
	m.edit.Replace[from] = nil
	m.edit.add(from.Outputs[0], c.Floats())
}

// blockedCodes is the first version of DequantizeLinear with blocks.
const blockedCodes = 21

package cpu

import (
	"errors"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/attention"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

func bindProjectedAttention(o *attention.ProjectedAttention, b *binder) error {
	if err := b.OnlyRoom([]int{attention.ProjectedPast}, []int{1}); err != nil {
		return err
	}
	x, w := b.In[attention.ProjectedInput].Dims, b.In[attention.ProjectedWeights].Dims
	all := b.tempOf(tensor.F32, x[0].Mul(x[1]).Mul(w[1]))
	if err := b.project(x[0].Mul(x[1]), w[1], w[0], all); err != nil {
		return err
	}
	return lower.AttendProjected(o, b, tensor.F32, all)
}

// project adds the product of the input and the weights of ProjectedAttention, plus the bias.
func (b *binder) project(m, n, k graph.Dim, out device.Operand) error {
	const outType = 11 // the word with the element type of the product
	one := graph.Known(1)
	g := &gemm{Product: &lower.Product{M: m, N: n, K: k, ARow: k, ACol: one, BRow: n, BCol: one},
		dtype: b.DType(attention.ProjectedInput), alpha: 1}
	bias := b.floats(attention.ProjectedBias)
	best := b.tiles()
	right, packed, err := b.packed(attention.ProjectedWeights, best, g.forPacking(), 1)
	if err != nil {
		return err
	}
	if g.bPacked = packed; !packed {
		right = b.in(attention.ProjectedWeights)
	}
	w := g.words()
	w[outType] = graph.Known(typeWord(tensor.F32))
	kernel, err := b.choose("f32_gemv", w)
	if refusal := (*device.Refusal)(nil); errors.As(err, &refusal) {
		kernel, err = b.choose("f32_gemm", w)
	}
	if err != nil {
		return err
	}
	return b.add(kernel, nil, w, b.in(attention.ProjectedInput), right, device.Operand{}, bias, device.Operand{}, out)
}

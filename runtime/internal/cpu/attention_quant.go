package cpu

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// bindQAttention computes queries, keys and values by a product of bytes, with kernel. The rest is
// ProjectedAttention.
func bindQAttention(o *quant.QAttention, kernel string, b *binder) error {
	all, err := b.projectBytes(kernel)
	if err != nil {
		return err
	}
	inner := *b.Binding
	inner.In = quant.AsProjected(b.In)
	own := b.step.Commands
	x := &binder{Binding: &inner, dev: b.dev, step: b.step, skip: b.skip}
	if err := lower.AttendProjected(&o.ProjectedAttention, x, tensor.F32, all); err != nil {
		return err
	}
	numbers := make([]int, len(b.In))
	for i := range numbers {
		numbers[i] = i
	}
	numbers = quant.AsProjected(numbers)
	for _, c := range b.step.Commands[len(own):] {
		for i := range c.Operands {
			if p := c.Operands[i].Place; p == device.In || p == device.Packed {
				c.Operands[i].Index = numbers[c.Operands[i].Index]
			}
		}
	}
	return nil
}

// projectBytes adds the product of the input and the weights of QAttention, plus the bias. It
// returns the scratch with the result, [batch,tokens,columns] of float32.
func (b *binder) projectBytes(kernel string) (device.Operand, error) {
	rows, w, one := b.In[quant.QAttentionInput].Dims, b.In[quant.QAttentionWeights].Dims, graph.Known(1)
	p := &lower.Product{M: rows[0].Mul(rows[1]), N: w[1], K: w[0], ARow: w[0], ACol: one, BRow: w[1], BCol: one}
	all := b.tempOf(tensor.F32, p.M.Mul(p.N))
	bias := b.floats(quant.QAttentionBias)
	in := lower.ByteInputs{
		A: quant.QAttentionInput, AScale: quant.QAttentionScale, AZero: quant.QAttentionZero, B: quant.QAttentionWeights,
		BScale: quant.QAttentionWeightScale, BZero: quant.QAttentionWeightZero, YScale: lower.None, YZero: lower.None,
		Bias: lower.None,
	}
	return all, b.bytes(kernel, &byteProduct{Product: p, result: tensor.F32, alpha: 1}, in, bias, all)
}

package moe

import (
	"math/bits"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// QMoE is a mixture of experts with weights that stay stored as codes of 2, 4 or 8 bits. As in ONNX
// Runtime on CPUs, shares are scaled to a sum of 1 whatever normalize_routing_weights is, unless an
// input provides them. If Rounds is set, a kernel may round each block of a row to 8-bit integers
// with a scale.
type QMoE struct {
	Experts
	Rounds bool
	bits   [3]int
	block  int // 0 for one scale per row
}

// LayerInputs returns the inputs of layer i: codes [experts,out,in*bits/8], scales [experts,out] or
// [experts,out,blocks], bias [experts,out], and zero points [experts,out*bits/8] or
// [experts,out,blocks*bits/8]. The last axis of zero points is rounded up.
func (*QMoE) LayerInputs(i int) (codes, scales, bias, zeros int) {
	return 2 + 3*i, 3 + 3*i, 4 + 3*i, 11 + i
}

// Inputs of QMoE: the shares, and the first input that integer codes do not take.
const (
	ExpertShares = 14
	expertInts   = 15
)

func newQMoE(n *op.Node) (op.Op, error) {
	o := &QMoE{block: n.Int("block_size", 0)}
	all := n.Int("expert_weight_bits", 4)
	for i, name := range []string{"fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits"} {
		if o.bits[i] = n.Int(name, all); o.bits[i] != 2 && o.bits[i] != 4 && o.bits[i] != 8 {
			return nil, graph.Errorf(graph.ErrUnsupported, "weights of %d bits; 2, 4 and 8 are computed", o.bits[i])
		}
		codes, scales, _, _ := o.LayerInputs(i)
		if n.HasIn(codes) != n.HasIn(scales) {
			return nil, graph.Errorf(graph.ErrFormat,
				"of input %d, the codes of fc%d, and input %d, their scales, one is left out; the operator needs both", codes,
				i+1, scales)
		}
	}
	if kind := n.Str("quant_type", "int"); kind != "int" {
		return nil, graph.Errorf(graph.ErrUnsupported,
			"quant_type is %q and only int is computed; export the weights as integer codes", kind)
	}
	for i := expertInts; i < len(n.Inputs); i++ {
		if n.HasIn(i) {
			return nil, graph.Errorf(graph.ErrFormat, "input %d is there, which does not go with quant_type int", i)
		}
	}
	if n.Int("weights_prepacked", -1) == 1 {
		return nil, graph.Errorf(graph.ErrUnsupported,
			"weights_prepacked is 1: weights in the layout of one kind of GPU; export them without it")
	}
	var err error
	if o.Rounds, err = quant.ReadRound(n); err != nil {
		return nil, err
	}
	if o.Experts, err = readExperts(n, n.HasIn(8)); err != nil {
		return nil, err
	}
	if !n.HasIn(ExpertShares) && !o.mixer {
		o.scaled = true
	}
	if o.block > 0 {
		err = quant.CheckBlock(o.block)
	}
	return o, err
}

// Infer keeps the input's extents.
func (o *QMoE) Infer(c *op.Infer) error {
	for i := range o.bits {
		codes, scales, bias, zeros := o.LayerInputs(i)
		for _, k := range []int{codes, zeros} {
			if c.Has(k) && c.In[k].DType != tensor.U8 {
				return graph.Errorf(graph.ErrShape, "input %d is %v; codes are packed in uint8", k, c.In[k].Type)
			}
		}
		for _, k := range []int{scales, bias, ExpertShares} {
			if c.Has(k) && !kit.ComputedInF32.Has(c.In[k].DType) {
				return graph.Errorf(graph.ErrShape, "input %d is %v, not floats", k, c.In[k].Type)
			}
		}
	}
	return o.infer(c)
}

// QMoELayer describes the codes of a layer.
type QMoELayer struct {
	ExpertLayer
	Bits, Block, Blocks int // of a code, codes in a block, blocks in a row
	RowBytes            int // bytes of codes in a row
	// PackedZeros reports that the zero points of an expert, one per row, are packed in one row of
	// codes.
	PackedZeros bool
}

// ZeroBytes returns the size in bytes of an expert's zero points.
func (l *QMoELayer) ZeroBytes() int {
	if l.PackedZeros {
		return (l.Out*l.Bits + 7) / 8
	}
	return l.Out * ((l.Blocks*l.Bits + 7) / 8)
}

// Shape checks the shapes of the inputs. in returns nil for one that is left out.
func (o *QMoE) Shape(in func(i int) tensor.Shape) (*ExpertShape, *[3]QMoELayer, error) {
	if err := expertWeights(in, 2, 5); err != nil {
		return nil, nil, err
	}
	s, err := o.shape(in, in(2)[0], in(5)[2]*(8/o.bits[1]), func(layer int) bool { return in(2+3*layer) != nil })
	if err != nil {
		return nil, nil, err
	}
	if err := wantInput(in, ExpertShares, tensor.Shape{s.Rows, s.Experts}); err != nil {
		return nil, nil, err
	}
	layers := new([3]QMoELayer)
	for i, l := range s.Layers {
		if l.Out == 0 {
			continue
		}
		if layers[i], err = o.layer(in, i, s.Experts, l); err != nil {
			return nil, nil, err
		}
	}
	return s, layers, nil
}

// layer checks the inputs of layer i.
func (o *QMoE) layer(in func(i int) tensor.Shape, i, experts int, l ExpertLayer) (QMoELayer, error) {
	codes, scales, bias, zeros := o.LayerInputs(i)
	q := QMoELayer{ExpertLayer: l, Bits: o.bits[i], Block: o.block, RowBytes: l.In * o.bits[i] / 8}
	if q.Block <= 0 {
		q.Block = 1 << max(4, bits.Len(uint(max(l.In, 1)-1)))
	}
	q.Blocks = (max(l.In, 1)-1)/q.Block + 1
	if l.In*q.Bits%8 != 0 {
		return q, graph.Errorf(graph.ErrUnsupported, "rows of %d codes of %d bits, which do not fill bytes", l.In, q.Bits)
	}
	if err := wantInput(in, codes, tensor.Shape{experts, l.Out, q.RowBytes}); err != nil {
		return q, err
	}
	byRow, byBlock := tensor.Shape{experts, l.Out}, tensor.Shape{experts, l.Out, q.Blocks}
	if s := in(scales); !s.Equal(byBlock) && (q.Blocks > 1 || !s.Equal(byRow)) {
		return q, graph.Errorf(graph.ErrShape, "input %d has shape %v, not %v", scales, s, byBlock)
	}
	if err := wantInput(in, bias, byRow); err != nil {
		return q, err
	}
	switch z := in(zeros); {
	case z == nil, z.Equal(tensor.Shape{experts, l.Out, (q.Blocks*q.Bits + 7) / 8}):
	case q.Blocks == 1 && z.Equal(tensor.Shape{experts, (l.Out*q.Bits + 7) / 8}):
		q.PackedZeros = true
	default:
		return q, graph.Errorf(graph.ErrShape,
			"input %d has shape %v; %d zero points for each of %d experts and %d rows are needed", zeros, z, q.Blocks, experts,
			l.Out)
	}
	return q, nil
}

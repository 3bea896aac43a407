package op

import (
	"math/bits"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// lowBitExperts is experts whose weights are codes of 2, 4 or 8 bits, which stay
// stored so. Shares are scaled to a sum of 1 whatever normalize_routing_weights
// says, as ONNX Runtime does on CPUs, unless they are an input of their own.
type lowBitExperts struct {
	experts
	bits        [3]int
	block       int // 0 for one scale a row
	nbits, gemm bindings.Kernel
}

// lowBitInputs are those of layer i: codes [experts,out,in*bits/8], scales
// [experts,out] or [experts,out,blocks], bias [experts,out], and zero points
// [experts,out*bits/8] or [experts,out,blocks*bits/8], their last axis rounded up.
func lowBitInputs(i int) (codes, scales, bias, zeros int) { return 2 + 3*i, 3 + 3*i, 4 + 3*i, 11 + i }

const (
	expertShares = 14 // the input of shares
	expertInts   = 15 // inputs of integer codes
)

func newLowBitExperts(n *Node) (Op, error) {
	o := &lowBitExperts{block: n.Int("block_size", 0)}
	all := n.Int("expert_weight_bits", 4)
	for i, name := range []string{"fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits"} {
		if o.bits[i] = n.Int(name, all); o.bits[i] != 2 && o.bits[i] != 4 && o.bits[i] != 8 {
			return nil, graph.Mark(graph.ErrUnsupported, "weights of %d bits; 2, 4 and 8 are computed", o.bits[i])
		}
		codes, scales, _, _ := lowBitInputs(i)
		if n.HasIn(codes) != n.HasIn(scales) {
			return nil, graph.Mark(graph.ErrFormat, "of input %d, the codes of fc%d, and input %d, their scales, one is left out; the operator needs both", codes, i+1, scales)
		}
	}
	if kind := n.Str("quant_type", "int"); kind != "int" {
		return nil, graph.Mark(graph.ErrUnsupported, "quant_type is %q and only int is computed; export the weights as integer codes", kind)
	}
	for i := expertInts; i < len(n.Inputs); i++ {
		if n.HasIn(i) {
			return nil, graph.Mark(graph.ErrFormat, "input %d is there, which does not go with quant_type int", i)
		}
	}
	if n.Int("weights_prepacked", -1) == 1 {
		return nil, graph.Mark(graph.ErrUnsupported, "weights_prepacked is 1: weights in the layout of one kind of GPU; export them without it")
	}
	// How coarsely rows may be rounded is a permission.
	if l := n.Int("accuracy_level", 0); l < 0 || l > 4 {
		return nil, graph.Mark(graph.ErrFormat, "accuracy_level is %d, not in 0 to 4", l)
	}
	var err error
	if o.experts, err = readExperts(n, n.HasIn(8)); err != nil {
		return nil, err
	}
	if !n.HasIn(expertShares) && !o.mixer {
		o.scaled = true
	}
	if o.block > 0 {
		err = checkBlock(o.block)
	}
	return o, err
}

// Infer keeps the input's shape.
func (o *lowBitExperts) Infer(c *Infer) error {
	for i := range o.bits {
		codes, scales, bias, zeros := lowBitInputs(i)
		for _, k := range []int{codes, zeros} {
			if c.Has(k) && c.In[k].DType != tensor.U8 {
				return graph.Mark(graph.ErrShape, "input %d is %v; codes are packed in uint8", k, c.In[k].Type)
			}
		}
		for _, k := range []int{scales, bias, expertShares} {
			if c.Has(k) && !isNarrow(c.In[k].DType) {
				return graph.Mark(graph.ErrShape, "input %d is %v, not floats", k, c.In[k].Type)
			}
		}
	}
	return o.infer(c)
}

// Prepare chooses the kernels.
func (o *lowBitExperts) Prepare(c *Prepare) (err error) {
	if err = o.prepare(c); err != nil {
		return err
	}
	if o.nbits, err = c.Kernel("f32_nbits"); err == nil {
		o.gemm, err = c.Kernel("f32_gemm")
	}
	return err
}

// Describe names the kernels.
func (o *lowBitExperts) Describe() string { return describe(o.nbits, o.gemm) }

// Run computes the output.
func (o *lowBitExperts) Run(c *Run) error {
	first, second := c.In[2].Shape(), c.In[5].Shape()
	if len(first) != 3 || len(second) != 3 || c.In[2].Len() == 0 || c.In[5].Len() == 0 {
		return graph.Mark(graph.ErrShape, "codes are %v and %v, not [experts,out,bytes]", c.In[2], c.In[5])
	}
	m := &mixture{experts: first[0], size: fromEnd(c.In[0].Shape(), 1), deep: second[2] * (8 / o.bits[1])}
	if len(c.In) > expertShares {
		m.weights = c.In[expertShares]
	}
	for i, extents := range [][2]int{{m.deep * o.fused(), m.size}, {m.size, m.deep}, {m.deep, m.size}} {
		if codes, _, _, _ := lowBitInputs(i); !c.Has(codes) {
			continue
		}
		l, err := o.layer(c, i, m.experts, extents[0], extents[1])
		if err != nil {
			return err
		}
		m.layers[i] = l
	}
	return o.run(c, m)
}

// lowBitLayer is a layer whose weights are codes.
type lowBitLayer struct {
	g                    bindings.NBitsGemm
	codes, scales, zeros []byte // of all experts
	packed               bool   // zero points of rows, in a row of their own
	bias                 []float32
}

// layer checks and returns layer i.
func (o *lowBitExperts) layer(c *Run, i, experts, out, in int) (*lowBitLayer, error) {
	codes, scales, bias, zeros := lowBitInputs(i)
	width := o.bits[i]
	block := o.block
	if block <= 0 {
		block = 1 << max(4, bits.Len(uint(in-1)))
	}
	blocks := (in-1)/block + 1
	l := &lowBitLayer{g: bindings.NBitsGemm{Kernel: o.nbits, Gemm: o.gemm, N: out, K: in, Bits: width, Block: block,
		RowBytes: in * width / 8, RowScales: blocks, Type: floatTypes[c.In[scales].DType()]}}
	if in*width%8 != 0 {
		return nil, graph.Mark(graph.ErrUnsupported, "rows of %d codes of %d bits, which do not fill bytes", in, width)
	}
	if want := (tensor.Shape{experts, out, l.g.RowBytes}); !c.In[codes].Shape().Equal(want) {
		return nil, graph.Mark(graph.ErrShape, "input %d is %v, not of shape %v", codes, c.In[codes], want)
	}
	s := c.In[scales].Shape()
	if byRow := (tensor.Shape{experts, out}); !s.Equal(append(byRow, blocks)) && (blocks > 1 || !s.Equal(byRow)) {
		return nil, graph.Mark(graph.ErrShape, "input %d is %v, not of shape %v", scales, c.In[scales], append(byRow, blocks))
	}
	l.codes, l.scales = c.In[codes].Bytes(), c.In[scales].Bytes()
	var err error
	if l.bias, err = expertBias(c, bias, experts, out); err != nil || !c.Has(zeros) {
		return l, err
	}
	l.zeros, l.g.Zeros = c.In[zeros].Bytes(), bindings.NBitsCodes
	switch z := c.In[zeros].Shape(); {
	case z.Equal(tensor.Shape{experts, out, (blocks*width + 7) / 8}):
	case blocks == 1 && z.Equal(tensor.Shape{experts, (out*width + 7) / 8}):
		l.packed, l.g.Zeros, l.g.Type = true, bindings.NBitsFloats, bindings.Float32
		wide, err := c.floats(c.In[scales])
		if err != nil {
			return nil, err
		}
		l.scales = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(wide))), 4*len(wide))
	default:
		return nil, graph.Mark(graph.ErrShape, "input %d is %v; %d zero points for each of %d experts and %d rows are needed", zeros, c.In[zeros], blocks, experts, out)
	}
	return l, nil
}

// product is that of m rows, and the floats of scratch that it takes, rounded up to
// whole lines.
func (l *lowBitLayer) product(c *Run, m int) (bindings.NBitsGemm, int) {
	g := l.g
	g.M = m
	return g, (g.Scratch(c.Pool) + 15) / 16 * 16
}

func (l *lowBitLayer) scratch(c *Run, m int) int {
	_, n := l.product(c, m)
	if l.packed {
		n += l.g.N
	}
	return n
}

func (l *lowBitLayer) multiply(c *Run, expert, m int, a, dst, scratch []float32) {
	g, used := l.product(c, m)
	part := func(b []byte, each int) unsafe.Pointer {
		if b == nil {
			return nil
		}
		return unsafe.Pointer(unsafe.SliceData(b[expert*each:]))
	}
	var zeros unsafe.Pointer
	if !l.packed {
		zeros = part(l.zeros, g.N*((g.RowScales*g.Bits+7)/8))
	} else {
		list := scratch[used:][:g.N]
		z := codeStream{b: l.zeros[expert*((g.N*g.Bits+7)/8):], width: g.Bits}
		for j := range list {
			list[j] = float32(z.at(0, j))
		}
		zeros = unsafe.Pointer(unsafe.SliceData(list))
	}
	size := map[bindings.FloatType]int{bindings.Float32: 4, bindings.Float16: 2, bindings.BFloat16: 2}[g.Type]
	g.Run(c.Pool, part(l.codes, g.N*g.RowBytes), part(l.scales, g.N*g.RowScales*size), zeros, nil, a[:m*g.K],
		biasOf(l.bias, expert, g.N), dst[:m*g.N], scratch[:used])
}

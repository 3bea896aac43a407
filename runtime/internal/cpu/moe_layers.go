package cpu

import (
	"math"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/moe"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// expertPack holds the packed weights of all experts, or nil if they are not packed.
type expertPack struct {
	bytes   []byte
	experts int
}

// operand returns the weights of one expert.
func (p *expertPack) operand(expert int) device.Operand {
	size := len(p.bytes) / p.experts
	return device.Operand{Place: device.Const, Data: p.bytes[expert*size:][:size]}
}

// biasOf returns the bias of one expert.
func (c *calls) biasOf(in *layerInputs, expert int) device.Operand {
	if in.bias == nil {
		return device.Operand{}
	}
	return c.list(in.bias[expert*in.Out:][:in.Out])
}

// part returns the bytes of one expert, of size bytes for each.
func part(t *tensor.Tensor, expert, size int) []byte { return t.Bytes()[expert*size:][:size] }

// weightsOf returns weights of one expert that are not packed.
func (c *calls) weightsOf(in *layerInputs, expert int) device.Operand {
	return c.at(part(in.weights, expert, in.weights.DType().Bytes(in.Out*in.In)))
}

// denseLayer is a layer with weights that are floats, [experts,out,in].
type denseLayer struct {
	expertKernels
	expertPack
}

// denseWords is nacre_f32_gemm_words of csrc/matmul/matmul.h for m rows of one expert.
func denseWords(l moe.ExpertLayer, d tensor.DType, m graph.Dim, packed bool) words {
	var w words
	w.dim(m)
	w.int(l.Out, l.In)
	w.int(typeWord(tensor.F32), 0, l.In, 1)
	w.int(typeWord(d))
	w.bool(packed)
	w.int(1, l.In)
	w.int(typeWord(tensor.F32), l.Out)
	w.float(1)
	w.bool(false)
	w.float(math.Inf(-1), math.Inf(1))
	w.part(bindings.Kernel{})
	w.int(0, 0, 0)
	return w
}

func (x *expertBinder) denseLayer(weights int, l moe.ExpertLayer) (expertLayer, error) {
	d := x.DType(weights)
	packed, err := x.packedDense(weights, d, l)
	if err != nil {
		return nil, err
	}
	ok := packed.Data != nil
	y := &denseLayer{expertPack: expertPack{packed.Data, x.experts}}
	ops := []string{"f32_gemv", "f32_gemm"}
	if ok {
		ops = ops[1:]
	}
	y.expertKernels, err = x.kernels(func(b *binder, m graph.Dim) (k expertKernel, err error) {
		k.kernel, err = b.first(denseWords(l, d, m, ok), ops...)
		return k, err
	})
	if err != nil {
		return nil, err
	}
	y.single = y.one.kernel.Op() == "f32_gemm"
	return y, x.listKernels(y.expertKernels, packed, func(m graph.Dim, _ bindings.Kernel) words { return denseWords(l, d, m, ok) })
}

func (l *denseLayer) multiply(c *calls, in *layerInputs, expert, m int, a, y []float32) error {
	packed := l.bytes != nil
	k, w, err := l.take(c.binder, m, func(bindings.Kernel) words {
		return denseWords(in.ExpertLayer, in.weights.DType(), graph.Known(m), packed)
	})
	if err != nil {
		return err
	}
	var right device.Operand
	if packed {
		right = l.operand(expert)
	} else {
		right = c.weightsOf(in, expert)
	}
	none := device.Operand{}
	return c.add(k.kernel, nil, w, c.list(a), right, none, c.biasOf(in, expert), none, c.list(y))
}

// blocksLayer is a layer with weights in blocks, [experts,out,in], that stay as they are.
type blocksLayer struct{ expertKernels }

// blocksLayer binds a layer with weights in blocks. Constant ones are packed, for rounded rows if
// these are permitted.
func (x *expertBinder) blocksLayer(weights int, l moe.ExpertLayer) (expertLayer, error) {
	if x.packs(l, weights) {
		return x.panelsLayer(weights, panelsWords{n: l.Out, k: l.In, of: x.DType(weights).Blocks()}, false, nil)
	}
	v := blocksWords{n: l.Out, k: l.In, of: x.DType(weights).Blocks(), alpha: 1}
	with := func(m graph.Dim, part bindings.Kernel) words {
		v.m, v.gemm = m, part
		return v.words()
	}
	k, err := x.kernelsWith("f32_blocks", with)
	if err != nil {
		return nil, err
	}
	return &blocksLayer{k}, x.listKernels(k, device.Operand{}, with)
}

// kernelsWith chooses kernels of an op that computes products by a part.
func (x *expertBinder) kernelsWith(op string, with func(m graph.Dim, part bindings.Kernel) words) (expertKernels, error) {
	return x.kernels(func(b *binder, m graph.Dim) (k expertKernel, err error) {
		k.kernel, k.part, err = b.chooseWith(op, false, func(part bindings.Kernel) words { return with(m, part) }, "f32_gemm")
		return k, err
	})
}

func (l *blocksLayer) multiply(c *calls, in *layerInputs, expert, m int, a, y []float32) error {
	v := blocksWords{m: graph.Known(m), n: in.Out, k: in.In, of: in.weights.DType().Blocks(), alpha: 1}
	k, w, err := l.take(c.binder, m, func(part bindings.Kernel) words {
		v.gemm = part
		return v.words()
	})
	if err != nil {
		return err
	}
	return c.add(k.kernel, []bindings.Kernel{k.part}, w, c.list(a), c.weightsOf(in, expert), bookOf(v.of), c.biasOf(in, expert), c.list(y))
}

// panelsLayer is a layer with weights in blocks, or codes, that are packed in panels.
type panelsLayer struct {
	expertKernels
	expertPack
	of panelsWords // without rows and part
}

// panelsLayer binds a layer with constant weights, for rounded rows if these are permitted.
// constants are the weights if they are codes.
func (x *expertBinder) panelsLayer(weights int, v panelsWords, rounds bool, constants *expertCodes) (expertLayer, error) {
	op := "f32_block_panels"
	if x.dev.accuracy.Rounds(rounds) {
		op = "i8_block_panels"
	}
	with := func(m graph.Dim, part bindings.Kernel) words {
		v.m, v.gemm = m, part
		return v.words()
	}
	k, err := x.kernelsWith(op, with)
	if err != nil {
		return nil, err
	}
	k.packAlike()
	packed, err := x.packedPanels(weights, k.most.kernel, v, constants)
	if err != nil {
		return nil, err
	}
	return &panelsLayer{k, expertPack{packed.Data, x.experts}, v}, x.listKernels(k, packed, with)
}

func (l *panelsLayer) multiply(c *calls, in *layerInputs, expert, m int, a, y []float32) error {
	v := l.of
	v.m = graph.Known(m)
	k, w, err := l.take(c.binder, m, func(part bindings.Kernel) words {
		v.gemm = part
		return v.words()
	})
	if err != nil {
		return err
	}
	none := device.Operand{}
	return c.add(k.kernel, []bindings.Kernel{k.part}, w, c.list(a), l.operand(expert), none, none, c.biasOf(in, expert), c.list(y))
}

// nbitsLayer is a layer with weights that are codes, as they are stored.
type nbitsLayer struct{ expertKernels }

func (l *nbitsLayer) multiply(c *calls, in *layerInputs, expert, m int, a, y []float32) error {
	v := expertNBits(in.QMoELayer, in.scales.DType(), in.zeros != nil)
	v.m = graph.Known(m)
	k, w, err := l.take(c.binder, m, func(part bindings.Kernel) words {
		v.gemm = part
		return v.words()
	})
	if err != nil {
		return err
	}
	codes := c.at(part(in.weights, expert, in.Out*in.RowBytes))
	scales := c.at(part(in.scales, expert, v.scales.Bytes(in.Out*in.Blocks)))
	zeros, err := c.zerosOf(in, expert)
	if err != nil {
		return err
	}
	none := device.Operand{}
	return c.add(k.kernel, []bindings.Kernel{k.part}, w, c.list(a), codes, scales, zeros, none, none, c.biasOf(in, expert), c.list(y))
}

// zerosOf returns the zero points of one expert, or none.
func (c *calls) zerosOf(in *layerInputs, expert int) (device.Operand, error) {
	if in.zeros == nil {
		return device.Operand{}, nil
	}
	if !in.PackedZeros {
		return c.at(part(in.zeros, expert, in.ZeroBytes())), nil
	}
	if in.row == nil {
		var err error
		if in.row, err = c.memory.Scratch(in.weights.Shape()[0] * in.Out); err != nil {
			return device.Operand{}, err
		}
	}
	row := in.row[expert*in.Out:][:in.Out]
	unpackZeros(&in.QMoELayer, in.zeros, expert, row)
	return c.at(row), nil
}

// unpackZeros sets each byte of row to a zero point of an expert, which are packed together.
func unpackZeros(l *moe.QMoELayer, zeros *tensor.Tensor, expert int, row []byte) {
	b := zeros.Bytes()[expert*l.ZeroBytes():]
	for j := range row {
		bit := j * l.Bits
		row[j] = b[bit/8] >> (bit % 8) & byte(1<<l.Bits-1)
	}
}

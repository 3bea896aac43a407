package cpu

import (
	"math"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/moe"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// denseLayer is a layer with weights that are floats, [experts,out,in].
type denseLayer struct {
	moe.ExpertLayer
	weights *tensor.Tensor
	packed  []byte // weights of all experts; nil if they are not packed
	experts int
	bias    []float32
}

// words is nacre_f32_gemm_words of csrc/matmul/matmul.h for m rows and that many experts.
func (l *denseLayer) words(d tensor.DType, m, experts int) words {
	var w words
	w.int(m, l.Out, l.In)
	w.int(typeWord(tensor.F32), 0, l.In, 1)
	w.int(typeWord(d), 0, 1, l.In)
	if l.packed != nil {
		w[len(w)-3] = graph.Known(1)
	}
	w.int(typeWord(tensor.F32), l.Out)
	w.float(1)
	w.bool(false)
	w.float(math.Inf(-1), math.Inf(1))
	w.part(bindings.Kernel{})
	w.int(0, 0)
	if experts > 1 {
		w.int(1, experts, m*l.In, l.Out*l.In)
	} else {
		w.int(0)
	}
	return w
}

// bindMoE packs constant weights. Weights in blocks stay as they are.
func bindMoE(o *moe.MoE, b *binder) error {
	k, err := b.tiles()
	if err != nil {
		return err
	}
	var packs [3][]byte
	for i := range packs {
		weights, _ := o.LayerInputs(i)
		t := b.Const(weights)
		if t == nil || len(t.Shape()) != 3 || t.DType().Blocks() != nil {
			continue
		}
		s := t.Shape()
		l := denseLayer{ExpertLayer: moe.ExpertLayer{Out: s[1], In: s[2]}}
		data, ok, err := b.packed(weights, k, l.words(t.DType(), 1, s[0]), 1)
		if err != nil {
			return err
		}
		if ok {
			packs[i] = data.Data
		}
	}
	dev := b.dev
	b.step.Call = func(c *op.Run) error { return dev.runMoE(o, c, packs) }
	return nil
}

func (d *Device) runMoE(o *moe.MoE, c *op.Run, packs [3][]byte) error {
	s, err := o.Shape(shapesOf(c))
	if err != nil {
		return err
	}
	m := &mixture{Experts: &o.Experts, shape: s, run: c, calls: d.calls(c)}
	for i, l := range s.Layers {
		if l.Out == 0 {
			continue
		}
		weights, bias := o.LayerInputs(i)
		list, err := m.read(inputOf(c, bias))
		if err != nil {
			return err
		}
		if w := c.In[weights]; w.DType().Blocks() != nil {
			m.layers[i] = &blocksLayer{ExpertLayer: l, weights: w, bias: list}
		} else {
			m.layers[i] = &denseLayer{ExpertLayer: l, weights: w, packed: packs[i], experts: s.Experts, bias: list}
		}
	}
	return m.compute(nil)
}

func (l *denseLayer) multiply(c *calls, expert, m int, a, y []float32) error {
	d := l.weights.DType()
	w := l.words(d, m, 1)
	var right device.Operand
	ops := []string{"f32_gemv", "f32_gemm"}
	if l.packed != nil {
		size := len(l.packed) / l.experts
		right, ops = device.Operand{Place: device.Const, Data: l.packed[expert*size:][:size]}, ops[1:]
	} else {
		right = c.at(unsafe.Add(l.weights.Pointer(), d.Bytes(expert*l.Out*l.In)))
	}
	k, err := c.first(w, ops...)
	if err != nil {
		return err
	}
	none := device.Operand{}
	return c.add(k, nil, w, c.list(a), right, none, c.biasOf(l.bias, expert, l.Out), none, c.list(y))
}

// biasOf returns the bias of one expert.
func (c *calls) biasOf(bias []float32, expert, out int) device.Operand {
	if bias == nil {
		return device.Operand{}
	}
	return c.list(bias[expert*out:][:out])
}

// blocksLayer is a layer with weights in blocks, [experts,out,in].
type blocksLayer struct {
	moe.ExpertLayer
	weights *tensor.Tensor
	bias    []float32
}

func (l *blocksLayer) multiply(c *calls, expert, m int, a, y []float32) error {
	d := l.weights.DType()
	v := &blocksWords{m: graph.Known(m), n: l.Out, k: l.In, of: d.Blocks(), alpha: 1}
	k, part, err := c.chooseWith("f32_blocks", false, func(part bindings.Kernel) words {
		v.gemm = part
		return v.words()
	}, "f32_gemm")
	if err != nil {
		return err
	}
	v.gemm = part
	blocks := c.at(unsafe.Add(l.weights.Pointer(), d.Bytes(expert*l.Out*l.In)))
	return c.add(k, []bindings.Kernel{part}, v.words(), c.list(a), blocks, bookOf(v.of), c.biasOf(l.bias, expert, l.Out), c.list(y))
}

// nbitsLayer is a layer with weights that are codes.
type nbitsLayer struct {
	moe.QMoELayer
	codes, scales *tensor.Tensor
	zeros         *tensor.Tensor // nil for none
	wide          []float32      // scales as float32, if zero points are packed
	row           []float32      // memory for an expert's zero points
	bias          []float32
}

func bindQMoE(o *moe.QMoE, b *binder) error {
	dev := b.dev
	b.step.Call = func(c *op.Run) error { return dev.runQMoE(o, c) }
	return nil
}

func (d *Device) runQMoE(o *moe.QMoE, c *op.Run) error {
	s, layers, err := o.Shape(shapesOf(c))
	if err != nil {
		return err
	}
	m := &mixture{Experts: &o.Experts, shape: s, run: c, calls: d.calls(c)}
	for i, l := range layers {
		if l.Out == 0 {
			continue
		}
		codes, scales, bias, zeros := o.LayerInputs(i)
		layer := &nbitsLayer{QMoELayer: l, codes: c.In[codes], scales: c.In[scales], zeros: inputOf(c, zeros)}
		if layer.bias, err = m.read(inputOf(c, bias)); err != nil {
			return err
		}
		if l.PackedZeros {
			if layer.wide, err = m.read(layer.scales); err != nil {
				return err
			}
			if layer.row, err = m.room(l.Out); err != nil {
				return err
			}
		}
		m.layers[i] = layer
	}
	return m.compute(inputOf(c, moe.ExpertShares))
}

func (l *nbitsLayer) multiply(c *calls, expert, m int, a, y []float32) error {
	v := &nbitsWords{m: graph.Known(m), n: l.Out, k: l.In, bits: l.Bits, block: l.Block, rowBytes: l.RowBytes,
		rowScale: l.Blocks, scales: l.scales.DType()}
	codes := c.at(unsafe.Add(l.codes.Pointer(), expert*l.Out*l.RowBytes))
	var scales, zeros device.Operand
	switch {
	case l.PackedZeros:
		v.from, v.scales = zerosFloats, tensor.F32
		scales = c.list(l.wide[expert*l.Out:][:l.Out])
		l.unpackZeros(expert)
		zeros = c.list(l.row)
	default:
		scales = c.at(unsafe.Add(l.scales.Pointer(), l.scales.DType().Bytes(expert*l.Out*l.Blocks)))
		if l.zeros != nil {
			v.from = zerosCodes
			zeros = c.at(unsafe.Add(l.zeros.Pointer(), expert*l.ZeroBytes()))
		}
	}
	none := device.Operand{}
	return c.nbits("f32_nbits", v, nil, c.list(a), codes, scales, zeros, none, none, c.biasOf(l.bias, expert, l.Out), c.list(y))
}

// unpackZeros sets l.row to the zero points of an expert.
func (l *nbitsLayer) unpackZeros(expert int) {
	b := l.zeros.Bytes()[expert*l.ZeroBytes():]
	for j := range l.row {
		bit := j * l.Bits
		l.row[j] = float32(b[bit/8] >> (bit % 8) & byte(1<<l.Bits-1))
	}
}

package cpu

import (
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/lower"
	"github.com/nacre-ml/nacre/runtime/internal/ops/quant"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

var quantRows = []row{
	rowFor("quantize", bindQuantizeLinear),
	rowFor("dequantize", bindDequantizeLinear),
	rowFor("dynamic", bindDynamicQuantizeLinear),
	rowFor("pair", bindQLinearPair),
	rowFor("lookup", bindQLinearSoftmax),
}

// grid adds a command of kernel f32_quantize or f32_dequantize. points holds the zero points, or
// the numbers that float codes stand for.
func (b *binder) grid(kernel string, g quant.Granularity, precision tensor.DType, points device.Operand) error {
	if b.isEmpty() {
		return nil
	}
	at, err := g.Grid(b.In[0].Dims, b.In[1].Dims)
	if err != nil {
		return err
	}
	var w words
	w.dim(at.Outer, at.Axis, at.Inner, at.Block, at.PerOuter, at.PerAxis, at.PerInner)
	w.dtype(b.DType(0), b.Out[0].DType, precision, b.DType(1), b.DType(2))
	w.dim(b.In[1].Dims.Len())
	w.part(b.dev.half)
	return b.run(kernel, w, b.in(0), b.in(1), points, b.out(0))
}

func bindQuantizeLinear(o *quant.QuantizeLinear, b *binder) error {
	if d := b.Out[0].DType; !d.IsInteger() {
		return device.Refuse("codes of %v are rounded in Go", d)
	}
	return b.grid("f32_quantize", o.Granularity, o.Precision(b.DType(1)), b.in(2))
}

func bindDequantizeLinear(o *quant.DequantizeLinear, b *binder) error {
	d, points := b.DType(0), b.in(2)
	if !d.IsInteger() {
		if b.Has(2) {
			return device.Refuse("codes of %v with zero points are decoded in Go", d)
		}
		points = device.Operand{Place: device.Const, Data: quant.Numbers(d)}
	}
	return b.grid("f32_dequantize", o.Granularity, tensor.F32, points)
}

func bindDynamicQuantizeLinear(_ *quant.DynamicQuantizeLinear, b *binder) error {
	var w words
	w.dim(b.In[0].Dims.Len())
	return b.run("f32_quantize_dynamic", w, b.in(0), b.out(0), b.out(1), b.out(2))
}

func bindQLinearPair(o *quant.QLinearPair, b *binder) error {
	var w words
	w.bool(o.Product, b.DType(quant.QLinearPairA) == tensor.I8)
	w.dtype(b.DType(quant.QLinearPairA+1), b.DType(quant.QLinearPairB+1), b.DType(quant.QLinearPairYScale))
	w.under(b.Out[0].Dims, b.In[quant.QLinearPairA].Dims, b.In[quant.QLinearPairB].Dims)
	list := make([]device.Operand, 0, 9)
	for i := range 8 {
		list = append(list, b.in(i))
	}
	return b.run("i8_pair", w, append(list, b.out(0))...)
}

// Lookup adds a command.
func (b *binder) Lookup(l *lower.Lookup) error {
	var w words
	w.dim(l.Rows, l.N, l.N, l.To)
	return b.run("i8_lookup", w, l.X, l.Table, l.Y.At(l.At))
}

// tableFunctions are the words for functions of the numbers that codes stand for, numbered as
// nacre_quant_function of csrc/quant/quant.h.
var tableFunctions = map[string]int{"": 0, "sigmoid": 1, "leaky_relu": 2}

// Table returns a constant if the scales and zero points are.
func (b *binder) Table(x, from, to int, f string, alpha float32) (device.Operand, error) {
	var w words
	w.int(tableFunctions[f])
	w.bool(b.DType(x) == tensor.I8)
	w.dtype(b.DType(from), b.DType(to))
	w.float(float64(alpha))
	t, err := b.ahead("i8_table", w, 256, from, from+1, to, to+1)
	if err == nil && t.Place == device.Const && isIdentity(t.Data) {
		return device.Operand{}, nil
	}
	return t, err
}

func isIdentity(table []byte) bool {
	for i, v := range table {
		if v != byte(i) {
			return false
		}
	}
	return true
}

// ahead returns n bytes that a command computes from inputs and writes to its last operand. If the
// inputs are constant, it runs the command now; otherwise the bytes are scratch.
func (b *binder) ahead(kernel string, w words, n int, inputs ...int) (device.Operand, error) {
	k, err := b.choose(kernel, w)
	if err != nil {
		return device.Operand{}, err
	}
	constant := true
	list := make([]device.Operand, 0, len(inputs)+1)
	for _, i := range inputs {
		list = append(list, b.in(i))
		constant = constant && (!b.Has(i) || b.Const(i) != nil)
	}
	if !constant {
		t := b.temp(n)
		return t, b.add(k, nil, w, append(list, t)...)
	}
	for x, i := range inputs {
		if b.Has(i) {
			list[x] = device.Operand{Place: device.Const, Data: b.Const(i).Aligned().Bytes()}
		}
	}
	out := device.Operand{Place: device.Const, Data: make([]byte, n)}
	return out, b.runNow(k, w, append(list, out))
}

// runNow runs a command on the data of operands, and writes to that of the last.
func (b *binder) runNow(k bindings.Kernel, w words, operands []device.Operand) error {
	c := &device.Command{Kernel: k, Words: w, Operands: operands}
	bases := make([]int, len(operands))
	for i := range bases {
		bases[i] = 1 + i
	}
	s, err := b.dev.Record([]device.Recorded{{Command: c, Bases: bases, Offsets: make([]graph.Dim, len(operands))}})
	if err != nil {
		return err
	}
	defer s.Free()
	var pin device.Pinner
	defer pin.Unpin()
	for i, o := range operands {
		if len(o.Data) > 0 {
			pin.Pin(unsafe.Pointer(unsafe.SliceData(o.Data)))
			s.Rebase(1+i, o.Data)
		}
	}
	_, err = s.Run(nil, false)
	return err
}

// softmaxTable is how many numbers i8_softmax reads, NACRE_I8_SOFTMAX of csrc/quant/quant.h.
const softmaxTable = 257

func bindQLinearSoftmax(o *quant.QLinearSoftmax, b *binder) error {
	outer, n, inner, err := o.Split(b.In[0].Dims)
	if err != nil || b.isEmpty() {
		return err
	}
	var w words
	w.dtype(b.DType(1), b.DType(3))
	t, err := b.ahead("i8_softmax_table", w, 4*softmaxTable, 1, 3)
	if err != nil {
		return err
	}
	k := b.kernel("i8_lookup")
	run := b.kernel("i8_softmax")
	w = nil
	w.bool(b.DType(0) == tensor.I8)
	w.dim(outer, n, inner)
	w.part(k)
	return b.add(run, []bindings.Kernel{k}, w, b.in(0), t, b.in(4), b.out(0))
}

package cpu

import (
	"slices"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/moe"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// boundExperts is a mixture with kernels that are chosen. The last layer may be nil.
type boundExperts struct {
	*moe.Experts
	layers [3]expertLayer
	gated  bool // the results of the activation are multiplied by gates
	expertActivation
}

// expertRows is the symbol for the matrix rows of one expert in words by which kernels are chosen.
const expertRows = "rows of an expert"

// expertKernel is a kernel that multiplies the rows of an expert, and its part if it has one.
type expertKernel struct{ kernel, part bindings.Kernel }

// expertKernels are the kernels of a layer: for one row, and for any number of rows.
type expertKernels struct {
	one, most expertKernel
	single    bool // one is for a single row, even if it fits more
}

// take returns the kernel for the words of a command for m rows, which with returns for a part, and
// the words.
func (k *expertKernels) take(b *binder, m int, with func(part bindings.Kernel) words) (expertKernel, words, error) {
	if k.one == k.most || k.single && m > 1 {
		return k.most, with(k.most.part), nil
	}
	w := with(k.one.part)
	list, err := b.numbers(w)
	if err != nil || k.one.kernel.Fits(list) {
		return k.one, w, err
	}
	return k.most, with(k.most.part), nil
}

// packAlike leaves the kernel for one row out if the kernels pack constants in two ways.
func (k *expertKernels) packAlike() {
	if k.one.kernel.Packing() != k.most.kernel.Packing() {
		k.one = k.most
	}
}

// expertBinder binds the layers of a mixture.
type expertBinder struct {
	*binder
	bound   *boundExperts
	most    int // rows of an expert
	experts int // of the mixture
}

func newExpertBinder(o *moe.Experts, b *binder) (*expertBinder, error) {
	x := &expertBinder{binder: b, bound: &boundExperts{Experts: o}}
	rows, err := b.rowCount(moe.ExpertInput)
	if err != nil {
		return nil, err
	}
	most, ok := b.Max(rows)
	if !ok {
		return nil, device.Refuse("how many rows there are is not known")
	}
	x.most = max(most, 1)
	return x, nil
}

// shape returns the greatest extents of input i. It returns nil for an input that is left out, and
// for inputs that no layer reads but the rows.
func (x *expertBinder) shape(i int) tensor.Shape {
	if !x.Has(i) || i == moe.ExpertRouter || i == moe.ExpertShares {
		return nil
	}
	s := make(tensor.Shape, len(x.In[i].Dims))
	for axis, d := range x.In[i].Dims {
		s[axis], _ = x.Max(d)
	}
	return s
}

// bind binds what runs, in the order in which it runs. layer binds a layer; read lists inputs that
// are read as float32.
func (x *expertBinder) bind(s *moe.ExpertShape, read []int, layer func(i int) (expertLayer, error)) (err error) {
	x.experts = s.Experts
	x.bound.gated = x.bound.SwiGLU || s.Layers[2].Out > 0
	for _, i := range append(read, moe.ExpertInput, moe.ExpertRouter, moe.ExpertShares) {
		if !x.Has(i) {
			continue
		}
		if err := x.converts(x.DType(i), tensor.F32); err != nil {
			return err
		}
	}
	for _, i := range []int{0, 2, 1} {
		if i == 1 {
			x.bound.expertActivation = x.activation()
		}
		if s.Layers[i].Out == 0 {
			continue
		}
		if x.bound.layers[i], err = layer(i); err != nil {
			return err
		}
	}
	return x.converts(tensor.F32, x.Out[0].DType)
}

func bindMoE(o *moe.MoE, b *binder) error {
	x, err := boundMoE(o, b)
	if err != nil {
		return err
	}
	dev := b.dev
	b.step.Call = func(c *op.Run) error { return dev.runMoE(o, x, c) }
	return nil
}

func boundMoE(o *moe.MoE, b *binder) (*boundExperts, error) {
	x, err := newExpertBinder(&o.Experts, b)
	if err != nil {
		return nil, err
	}
	s, err := o.Shape(x.shape)
	if err != nil {
		return nil, err
	}
	var read []int
	for i := range s.Layers {
		_, bias := o.LayerInputs(i)
		read = append(read, bias)
	}
	return x.bound, x.bind(s, read, func(i int) (expertLayer, error) {
		weights, _ := o.LayerInputs(i)
		if b.DType(weights).Blocks() != nil {
			return x.blocksLayer(weights, s.Layers[i])
		}
		return x.denseLayer(weights, s.Layers[i])
	})
}

func bindQMoE(o *moe.QMoE, b *binder) error {
	x, err := boundQMoE(o, b)
	if err != nil {
		return err
	}
	dev := b.dev
	b.step.Call = func(c *op.Run) error { return dev.runQMoE(o, x, c) }
	return nil
}

func boundQMoE(o *moe.QMoE, b *binder) (*boundExperts, error) {
	x, err := newExpertBinder(&o.Experts, b)
	if err != nil {
		return nil, err
	}
	s, layers, err := o.Shape(x.shape)
	if err != nil {
		return nil, err
	}
	var read []int
	for i := range layers {
		_, _, bias, _ := o.LayerInputs(i)
		read = append(read, bias)
	}
	return x.bound, x.bind(s, read, func(i int) (expertLayer, error) { return x.nbitsLayer(o, i, layers[i]) })
}

// converts lists the kernels of a conversion.
func (x *expertBinder) converts(from, to tensor.DType) error {
	if from == to {
		return nil
	}
	b := *x.binder
	b.step = &device.Step{}
	if err := b.convert(from, to, graph.Known(1), device.Operand{}, device.Operand{}); err != nil {
		return err
	}
	for _, c := range b.step.Commands {
		x.list(device.Command{Kernel: c.Kernel, Parts: c.Parts, Scratch: c.Scratch})
	}
	return nil
}

// list adds a command to the step's list of commands that the call makes. Commands of the same
// kernels are listed once.
func (x *expertBinder) list(c device.Command) {
	for i := range x.step.Called {
		if of := &x.step.Called[i]; of.Kernel == c.Kernel && slices.Equal(of.Parts, c.Parts) {
			of.Operands, of.Scratch = append(of.Operands, c.Operands...), max(of.Scratch, c.Scratch)
			return
		}
	}
	x.step.Called = append(x.step.Called, c)
}

// forRows returns a binder that knows the greatest value of expertRows, and of no other symbol.
func (x *expertBinder) forRows() *binder {
	b, of := *x.binder, *x.Binding
	of.Bound = func(string) (int, bool) { return x.most, true }
	b.Binding = &of
	return &b
}

// kernels chooses the kernels of a layer. choose returns the best kernel for m rows.
func (x *expertBinder) kernels(choose func(b *binder, m graph.Dim) (expertKernel, error)) (k expertKernels, err error) {
	if k.one, err = choose(x.binder, graph.Known(1)); err != nil {
		return k, err
	}
	k.most = k.one
	if x.most > 1 {
		k.most, err = choose(x.forRows(), graph.Symbol(expertRows))
	}
	if k.one.kernel == k.most.kernel {
		k.one = k.most
	}
	return k, err
}

// listKernels lists the kernels of a layer, which read a packed constant or none. with returns the
// words for m rows and a part.
func (x *expertBinder) listKernels(k expertKernels, packed device.Operand, with func(m graph.Dim, part bindings.Kernel) words) error {
	var operands []device.Operand
	if packed.Place != device.None {
		operands = []device.Operand{packed}
	}
	for _, e := range []struct {
		expertKernel
		rows graph.Dim
	}{{k.one, graph.Known(1)}, {k.most, graph.Symbol(expertRows)}} {
		if e.expertKernel == k.most {
			e.rows = graph.Symbol(expertRows)
		}
		list, err := x.forRows().numbers(with(e.rows, e.part))
		if err != nil {
			return err
		}
		c := device.Command{Kernel: e.kernel, Operands: operands, Scratch: e.kernel.Scratch(list, x.dev.threads)}
		if e.part.Valid() {
			c.Parts = []device.Kernel{e.part}
		}
		x.list(c)
		operands = nil
	}
	return nil
}

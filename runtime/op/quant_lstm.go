package op

import (
	"slices"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// dynamicQuantizeLSTM is LSTM whose weights, W [directions, input, 4*hidden] and R
// [directions, hidden, 4*hidden], are codes. Its input, as far as the longest
// sequence goes, is quantised as a whole, and so are the states before every step.
type dynamicQuantizeLSTM struct {
	Recurrent
	quantize bindings.Kernel
	cell     bindings.Kernel
	products [2]byteMultiplier // by W and by R
}

// The inputs that LSTM has not.
const (
	lstmWScale = 8 + iota
	lstmWZero
	lstmRScale
	lstmRZero
)

func newDynamicQuantizeLSTM(n *Node) (Op, error) {
	for i := lstmWScale; i <= lstmRZero; i++ {
		if !n.HasIn(i) {
			return nil, graph.Mark(graph.ErrFormat, "input %d, a scale or zero point of the weights, is left out", i)
		}
	}
	inner, err := newLSTM(n)
	if err != nil {
		return nil, err
	}
	return &dynamicQuantizeLSTM{Recurrent: *inner.(*Recurrent)}, nil
}

// Infer is that of LSTM, for weights that are transposed.
func (o *dynamicQuantizeLSTM) Infer(c *Infer) error {
	if err := c.checkBytes(1, 2); err != nil {
		return err
	}
	inner := *c
	inner.In = append([]*Value(nil), c.In[:8]...)
	for i := 1; i < 3; i++ {
		w := Value{Type: graph.TensorOf(c.In[0].DType, c.In[i].Dims)}
		if d := w.Dims; len(d) == 3 {
			w.Dims = graph.Dims{d[0], d[2], d[1]}
		}
		inner.In[i] = &w
	}
	if err := o.Recurrent.Infer(&inner); err != nil {
		return err
	}
	for i := range 2 {
		scale, zero := c.In[lstmWScale+2*i], c.In[lstmWZero+2*i]
		if scale.DType != tensor.F32 || zero.DType != c.In[1+i].DType {
			return graph.Mark(graph.ErrShape, "scales %v are not float32, or zero points %v not of the type of %v", scale.Type, zero.Type, c.In[1+i].Type)
		}
		for _, v := range []*Value{scale, zero} {
			if err := o.checkColumns(v, c.In[1+i].Dims); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkColumns reports scales or zero points that are not one number for each
// direction, or one for each of its columns of weights.
func (o *dynamicQuantizeLSTM) checkColumns(v *Value, weights graph.Dims) error {
	columns := graph.Unknown()
	if len(weights) == 3 {
		columns = weights[2]
	}
	ok := true
	switch d := v.Dims; {
	case d == nil:
	case len(d) == 1:
		_, ok = joinDim(d[0], graph.Known(o.Directions))
	case len(d) == 2:
		if _, ok = joinDim(d[0], graph.Known(o.Directions)); ok {
			_, ok = joinDim(d[1], columns)
		}
	default:
		ok = false
	}
	if !ok {
		return graph.Mark(graph.ErrShape, "scales or zero points are %v; weights of shape %v take [%d] or [%d,%v]", v.Type, weights, o.Directions, o.Directions, columns)
	}
	return nil
}

// Prepare chooses the kernels and packs constant weights.
func (o *dynamicQuantizeLSTM) Prepare(c *Prepare) (err error) {
	if o.quantize, err = c.Kernel("f32_quantize"); err != nil {
		return err
	}
	if o.cell, err = c.Kernel("f32_rnn_cell"); err != nil {
		return err
	}
	for i := range o.products {
		if err := o.products[i].prepare(c); err != nil {
			return err
		}
		if err := o.products[i].packRight(c, 1+i, false); err != nil {
			return err
		}
	}
	return nil
}

// Describe names the kernels.
func (o *dynamicQuantizeLSTM) Describe() string {
	return o.products[0].describe() + ", " + describe(o.quantize, o.cell)
}

// Run computes the outputs.
func (o *dynamicQuantizeLSTM) Run(c *Run) error {
	x, r := c.In[0].Shape(), c.In[2].Shape()
	n := bindings.ByteLSTM{RNN: bindings.RNN{
		Gates: o.Gates, Steps: x[0], Batch: x[1], Input: x[2], Hidden: r[1], Directions: o.Directions, Reverse: o.Reverse, Cells: kernelCells(o.Cells),
	}}
	if n.Input == 0 {
		return graph.Mark(graph.ErrUnsupported, "X %v has no elements for a step; it needs one", c.In[0])
	}
	// What is computed with these extents is counted in int.
	total := tensor.Shape{n.Steps + 1, n.Batch, n.Hidden, n.Directions, 8 * (o.Gates + 2)}
	if err := total.Check(); err != nil {
		return graph.Mark(graph.ErrShape, "%d steps of %d sequences with %d states are too many", n.Steps, n.Batch, n.Hidden)
	}
	var err error
	if n.Lengths, err = lengths(c, n.Steps); err != nil {
		return err
	}
	state := tensor.Shape{n.Directions, n.Batch, n.Hidden}
	for i, to := range []*[]float32{&n.Y, &n.YH, &n.YC} {
		shape := state
		if i == 0 {
			shape = tensor.Shape{n.Steps, n.Directions, n.Batch, n.Hidden}
		}
		if c.Wants(i) {
			t, err := c.output(i, tensor.F32, shape)
			if err != nil {
				return err
			}
			*to = tensor.View[float32](t)
		}
	}
	if state.Len() == 0 {
		return nil
	}
	for i, to := range [...]*[]float32{0: &n.X, 3: &n.Bias, 5: &n.H0, 6: &n.C0, 7: &n.Peepholes} {
		if to != nil && c.Has(i) {
			*to = tensor.View[float32](c.In[i])
		}
	}
	return o.run(c, &n)
}

// run adds the weights, and computes.
func (o *dynamicQuantizeLSTM) run(c *Run, n *bindings.ByteLSTM) (err error) {
	n.Gemm, n.Quantize, n.Cell = o.products[0].kernel, o.quantize, o.cell
	width := n.Gates * n.Hidden
	n.W, n.WForm, n.WStep = o.products[0].weights(c.In[1], n.Input, width)
	n.R, n.RForm, n.RStep = o.products[1].weights(c.In[2], n.Hidden, width)
	if n.WScale, n.WZero, err = o.vectors(c, lstmWScale, width); err != nil {
		return err
	}
	if n.RScale, n.RZero, err = o.vectors(c, lstmRScale, width); err != nil {
		return err
	}
	scratch, err := c.Mem.Scratch(n.Scratch(c.Pool))
	if err != nil {
		return err
	}
	n.Run(c.Pool, scratch)
	return nil
}

// lengths returns the steps of each sequence, nil if they have all of them.
func lengths(c *Run, steps int) ([]int32, error) {
	if !c.Has(4) {
		return nil, nil
	}
	list := tensor.View[int32](c.In[4].Aligned())
	for b, n := range list {
		if n < 0 || int(n) > steps {
			return nil, graph.Mark(graph.ErrShape, "sequence %d has length %d, which is not in 0..%d", b, n, steps)
		}
	}
	return list, nil
}

// weights returns a right operand of matrices [k,n], and the bytes from one to the
// next.
func (p *byteMultiplier) weights(t *tensor.Tensor, k, n int) (unsafe.Pointer, bindings.ByteOperand, int) {
	form := byteOperand(t.DType(), n, 1)
	if p.right == nil {
		return t.Pointer(), form, k * n
	}
	form.Packed = true
	return unsafe.Pointer(unsafe.SliceData(p.right)), form, p.kernel.PackedBytesB(n, k)
}

// vectors returns the scales of input i and the zero points of the one behind it
// for every column of every direction.
func (o *dynamicQuantizeLSTM) vectors(c *Run, i, width int) (scale []float32, zero []int32, err error) {
	if scale, err = c.scratchFloats(o.Directions * width); err != nil {
		return nil, nil, err
	}
	if zero, err = c.scratchInts(o.Directions * width); err != nil {
		return nil, nil, err
	}
	zeros, err := c.zeros(c.In[i+1], c.In[i+1].Len())
	if err != nil {
		return nil, nil, err
	}
	scales := tensor.View[float32](c.In[i])
	for at := range scale {
		scale[at], zero[at] = scales[at*len(scales)/len(scale)], zeros[at*len(zeros)/len(zero)]
	}
	return scale, zero, nil
}

// kernelFunctions are the activations in the order of nacre_rnn_activation.
var kernelFunctions = []string{
	"Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus",
}

// kernelCells are the cells as the kernel takes them.
func kernelCells(cells [2]RecurrentCell) (list [2]bindings.RNNCell) {
	for d, c := range cells {
		list[d] = bindings.RNNCell{Clip: c.Clip, InputForget: c.InputForget}
		for i, f := range c.Functions {
			if f.Name != "" {
				kind := bindings.RNNActivation(slices.Index(kernelFunctions, f.Name))
				list[d].Functions[i] = bindings.RNNFunction{Kind: kind, A: f.Alpha, B: f.Beta}
			}
		}
	}
	return list
}

var quantLSTMRows = []Row{
	{Domain: microsoft, Name: "DynamicQuantizeLSTM", Since: []int{1}, In: [2]int{3, 12}, Out: [2]int{0, 3}, Types: Types{tensor.F32}, New: newDynamicQuantizeLSTM},
}

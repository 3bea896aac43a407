package op

import (
	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// variadic joins any number of inputs by one kernel, from left to right.
type variadic struct {
	kernel string
	mean   bool // divide by the number of inputs in the end
	dim    func(a, b graph.Dim) graph.Dim

	fn, divide bindings.Kernel
	path       path
	count      *tensor.Tensor // of inputs, in the type that kernels compute in
}

func (o *variadic) Prepare(c *Prepare) error {
	d := c.DType(0)
	compute := wide(d)
	var err error
	if o.path, err = pathTo(c, d, compute); err != nil {
		return err
	}
	if o.fn, err = kernelFor(c, compute, o.kernel); err != nil {
		return err
	}
	if !o.mean {
		return nil
	}
	if o.count, err = tensor.From([]float32{float32(len(c.DTypes))}, []int{}...); compute == tensor.F64 {
		o.count, err = tensor.From([]float64{float64(len(c.DTypes))}, []int{}...)
	}
	if err != nil {
		return err
	}
	o.divide, err = kernelFor(c, compute, "div")
	return err
}

func (o *variadic) Infer(c *Infer) error {
	if err := sameTypes(c.In); err != nil {
		return err
	}
	list := make([]graph.Dims, len(c.In))
	for i, v := range c.In {
		list[i] = v.Dims
	}
	dims, err := broadcastAll(list...)
	if err != nil {
		return err
	}
	c.Set(0, c.In[0].DType, dims)
	if o.dim != nil {
		inferInts(c, func(list []graph.Dim) graph.Dim {
			d := list[0]
			for _, e := range list[1:] {
				d = o.dim(d, e)
			}
			return d
		})
	}
	return nil
}

func (o *variadic) Run(c *Run) error {
	in := make([]*tensor.Tensor, len(c.In))
	for i, t := range c.In {
		in[i] = t.Aligned()
	}
	y := c.Out[0]
	if len(in) == 1 {
		copyInto(y, in[0])
		return nil
	}
	// The output may have taken over an input that is read again after the first
	// pair is joined.
	sum := y
	for _, t := range in[2:] {
		if overlap(t, y) {
			b, err := c.Mem.Scratch(len(y.Bytes()))
			if err != nil {
				return err
			}
			if sum, err = tensor.FromBytes(y.DType(), y.Shape(), b); err != nil {
				return err
			}
			break
		}
	}
	left := in[0]
	for _, right := range in[1:] {
		if err := o.join(c, o.fn, left, o.path.source(right), right.Shape(), sum); err != nil {
			return err
		}
		left = sum
	}
	if o.mean {
		n := bindings.Lane{Data: o.count.Pointer(), Bytes: o.count.DType().Bits() / 8}
		if err := o.join(c, o.divide, sum, n, o.count.Shape(), sum); err != nil {
			return err
		}
	}
	copyInto(y, sum)
	return nil
}

func (o *variadic) join(c *Run, k bindings.Kernel, a *tensor.Tensor, b bindings.Lane, shape tensor.Shape, y *tensor.Tensor) error {
	dims, err := extentsUnder(y.Shape(), a.Shape(), shape)
	if err != nil || y.Len() == 0 {
		return err
	}
	bindings.EltwiseBinary(c.Pool, k, o.path.source(a), b, o.path.sink(y), dims)
	return nil
}

func newVariadic(o variadic) func(*Node) (Op, error) {
	return func(n *Node) (Op, error) {
		ignoreConsumed(n)
		v := o
		return &v, nil
	}
}

func variadicRow(name string, since []int, types Types, o variadic) Row {
	return Row{Name: name, Since: since, In: [2]int{1, Any}, Out: [2]int{1, 1}, Types: types, InPlace: []int{0, 1}, New: newVariadic(o)}
}

var variadicRows = []Row{
	variadicRow("Sum", []int{1, 6, 8, 13}, floats, variadic{kernel: "add"}),
	variadicRow("Mean", []int{1, 6, 8, 13}, floats, variadic{kernel: "add", mean: true}),
	variadicRow("Min", []int{1, 6, 8, 12, 13}, numeric, variadic{kernel: "min", dim: extremeDims(false)}),
	variadicRow("Max", []int{1, 6, 8, 12, 13}, numeric, variadic{kernel: "max", dim: extremeDims(true)}),
}

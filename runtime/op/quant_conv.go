package op

import (
	"fmt"
	"unsafe"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// byteConv is Conv of bytes, with sums in 32 bits that wrap.
type byteConv struct {
	Conv
	kernel  bindings.Kernel
	taps    bindings.Kernel
	weights []byte // constant weights, packed; nil if there are none
}

func readByteConv(n *Node) (byteConv, error) {
	inner, err := newConv(n)
	if err != nil {
		return byteConv{}, err
	}
	return byteConv{Conv: *inner.(*Conv)}, nil
}

// prepare chooses the kernel and packs weights if input w is constant.
func (o *byteConv) prepare(c *Prepare, w int) (err error) {
	if o.kernel, err = c.Kernel("i8_gemm"); err != nil {
		return err
	}
	if o.taps, err = c.Kernel("f32_conv_depthwise"); err != nil {
		return err
	}
	t := c.Const(w)
	if t == nil || t.Len() == 0 || len(t.Shape()) < 3 || len(t.Shape()) > bindings.ConvAxes+2 || t.Shape()[0]%o.group != 0 {
		return nil
	}
	s := &bindings.ConvShape{Groups: o.group, Channels: t.Shape()[1], Filters: t.Shape()[0] / o.group, Kernel: t.Shape()[2:]}
	if s.BytesUnpacked() {
		return nil // such are read as they are
	}
	v := o.describeConv(s, t.DType(), false)
	kind := fmt.Sprintf("%s %s conv %d %v", o.kernel.Op(), o.kernel.Variant(), o.group, t.Shape())
	o.weights, err = c.Packs.Get(t, kind, v.PackedWeights(), func(dst []byte) { v.Pack(t.Pointer(), dst) })
	c.Drop(w)
	return err
}

func (o *byteConv) shape(x, w tensor.Shape) (*bindings.ConvShape, error) {
	s, err := o.Shape(x, w)
	if err != nil {
		return nil, err
	}
	b := bindings.ConvShape(*s)
	return &b, nil
}

func (o *byteConv) describeConv(s *bindings.ConvShape, w tensor.DType, xSigned bool) *bindings.ByteConv {
	v := &bindings.ByteConv{ConvShape: *s, Taps: o.taps, XSigned: xSigned}
	v.Gemm = bindings.ByteGemm{Kernel: o.kernel, A: byteOperand(w, 0, 0), BiasRow: 1}
	return v
}

// Describe names the kernel.
func (o *byteConv) Describe() string {
	if o.weights != nil {
		return describe(o.kernel) + ", packed weights"
	}
	return describe(o.kernel)
}

// filterZeros returns the zero points of weights, one number or one for each
// filter, as one for each; 0 where t is left out.
func (o *byteConv) filterZeros(c *Run, t *tensor.Tensor, filters int) ([]int32, error) {
	n := 1
	if t != nil {
		n = t.Len()
	}
	given, err := c.zeros(t, n)
	if err != nil {
		return nil, err
	}
	return stretched(c.scratchInts, given, filters)
}

// stretched returns numbers of which there are one or n as n numbers.
func stretched[T int32 | float32](scratch func(n int) ([]T, error), given []T, n int) ([]T, error) {
	if len(given) == n {
		return given, nil
	}
	if len(given) != 1 {
		return nil, graph.Mark(graph.ErrShape, "%d scales or zero points where one is needed or %d", len(given), n)
	}
	list, err := scratch(n)
	for i := range list {
		list[i] = given[0]
	}
	return list, err
}

// run convolves x by w. The vectors have what belongs to filters.
func (o *byteConv) run(c *Run, v *bindings.ByteConv, vectors *bindings.ByteVectors, x, w, y unsafe.Pointer) (err error) {
	positions := tensor.Shape(v.Out).Len()
	if vectors.BZero, err = stretched(c.scratchInts, []int32{v.XZero}, positions); err != nil {
		return err
	}
	if vectors.RowScale != nil {
		if vectors.ColScale, err = stretched(c.scratchFloats, []float32{1}, positions); err != nil {
			return err
		}
	}
	if o.weights != nil {
		v.Gemm.A.Packed = true
		w = unsafe.Pointer(unsafe.SliceData(o.weights))
	}
	scratch, err := c.Mem.Scratch(v.Scratch(c.Pool))
	if err != nil {
		return err
	}
	v.Run(c.Pool, x, w, vectors, y, scratch)
	return nil
}

// convInteger is the convolution of x - x_zero by w - w_zero, with a zero point
// for all of x, and for all of w or each of its filters.
type convInteger struct{ byteConv }

func newConvInteger(n *Node) (Op, error) {
	inner, err := readByteConv(n)
	return &convInteger{inner}, err
}

// Infer is that of Conv.
func (o *convInteger) Infer(c *Infer) error {
	if err := c.checkBytes(0, 1); err != nil {
		return err
	}
	for i := range 2 {
		if err := c.checkZero(2+i, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := c.checkOne(2); err != nil {
		return err
	}
	dims, err := o.dims(c.In[0].Dims, c.In[1].Dims, nil)
	if err == nil {
		c.Set(0, tensor.I32, dims)
	}
	return err
}

// Prepare chooses the kernel and packs constant weights.
func (o *convInteger) Prepare(c *Prepare) error { return o.prepare(c, 1) }

// Run computes the convolution.
func (o *convInteger) Run(c *Run) error {
	x, w := c.In[0], c.In[1]
	s, err := o.shape(x.Shape(), w.Shape())
	if err != nil {
		return err
	}
	y, err := c.output(0, tensor.I32, append(tensor.Shape{s.Images, w.Shape()[0]}, s.Out...))
	if err != nil || y.Len() == 0 {
		return err
	}
	v := o.describeConv(s, w.DType(), x.DType() == tensor.I8)
	v.Gemm.Type = bindings.QuantI32
	if v.XZero, err = c.oneZero(2); err != nil {
		return err
	}
	var vectors bindings.ByteVectors
	if vectors.AZero, err = o.filterZeros(c, given(c, 3), w.Shape()[0]); err != nil {
		return err
	}
	return o.run(c, v, &vectors, x.Pointer(), w.Pointer(), y.Pointer())
}

// qLinearConv is the convolution of quantised values and weights, quantised, with
// a scale and a zero point for all of x and of y, and for all of w or each of its
// filters. The bias has the scale of the sums.
type qLinearConv struct {
	byteConv
	mover
	last bool // x and y have their channels in the last axis
}

func newQLinearConv(n *Node) (Op, error) {
	inner, err := readByteConv(n)
	if err != nil {
		return nil, err
	}
	return &qLinearConv{byteConv: inner, last: n.Domain == microsoft && n.Bool("channels_last", false)}, nil
}

// channelsFirst and channelsLast move the axis of channels of a list with one
// element for each axis.
func channelsFirst[T any](list []T) []T {
	if len(list) < 2 {
		return list
	}
	return append([]T{list[0], list[len(list)-1]}, list[1:len(list)-1]...)
}

func channelsLast[T any](list []T) []T {
	if len(list) < 2 {
		return list
	}
	return append(append([]T{list[0]}, list[2:]...), list[1])
}

// Infer is that of Conv.
func (o *qLinearConv) Infer(c *Infer) error {
	if err := c.checkBytes(0, 3, 7); err != nil {
		return err
	}
	for _, i := range []int{1, 4, 6} {
		if err := c.checkScale(i); err != nil {
			return err
		}
	}
	for _, i := range []int{0, 3} {
		if err := c.checkZero(i+2, c.In[i].DType); err != nil {
			return err
		}
	}
	if err := c.checkOne(1, 2, 6, 7); err != nil {
		return err
	}
	x, bias := c.In[0].Dims, graph.Dims(nil)
	if o.last {
		x = channelsFirst(x)
	}
	if c.Has(8) {
		if bias = c.In[8].Dims; c.In[8].DType != tensor.I32 {
			return graph.Mark(graph.ErrShape, "B is %v, not int32", c.In[8].Type)
		}
	}
	dims, err := o.dims(x, c.In[3].Dims, bias)
	if err != nil {
		return err
	}
	if o.last {
		dims = channelsLast(dims)
	}
	c.Set(0, c.In[7].DType, dims)
	return nil
}

// Prepare chooses the kernels and packs constant weights.
func (o *qLinearConv) Prepare(c *Prepare) error {
	if o.last {
		if err := o.mover.prepare(c, tensor.U8); err != nil {
			return err
		}
	}
	return o.byteConv.prepare(c, 3)
}

// Run computes the codes.
func (o *qLinearConv) Run(c *Run) error {
	x, w := c.In[0], c.In[3]
	shape := []int(x.Shape())
	if o.last {
		shape = channelsFirst(shape)
	}
	s, err := o.shape(shape, w.Shape())
	if err != nil {
		return err
	}
	first := append(tensor.Shape{s.Images, w.Shape()[0]}, s.Out...)
	made := first
	if o.last {
		made = channelsLast(first)
	}
	y, err := c.output(0, c.In[7].DType(), made)
	if err != nil || y.Len() == 0 {
		return err
	}
	v := o.describeConv(s, w.DType(), x.DType() == tensor.I8)
	v.Gemm.Type = quantTypes[y.DType()]
	vectors, err := o.vectors(c, v, w.Shape()[0])
	if err != nil {
		return err
	}
	if !o.last {
		return o.run(c, v, vectors, x.Pointer(), w.Pointer(), y.Pointer())
	}
	turned, err := c.scratchTensor(x.DType(), shape)
	if err != nil {
		return err
	}
	result, err := c.scratchTensor(y.DType(), first)
	if err != nil {
		return err
	}
	axes := make([]int, len(shape))
	for i := range axes {
		axes[i] = i
	}
	o.move(c, permuted(x, turned, x.Shape(), channelsFirst(axes)))
	if err := o.run(c, v, vectors, turned.Pointer(), w.Pointer(), result.Pointer()); err != nil {
		return err
	}
	o.move(c, permuted(result, y, first, channelsLast(axes)))
	return nil
}

// vectors sets the zero points of x and y, and returns what belongs to filters.
func (o *qLinearConv) vectors(c *Run, v *bindings.ByteConv, filters int) (*bindings.ByteVectors, error) {
	x, err := c.perTensor(1, 2)
	if err != nil {
		return nil, err
	}
	y, err := c.perTensor(6, 7)
	if err != nil {
		return nil, err
	}
	v.XZero, v.Gemm.Zero = x.zero, y.zero
	list := &bindings.ByteVectors{}
	if list.AZero, err = o.filterZeros(c, c.In[5], filters); err != nil {
		return nil, err
	}
	scale, err := c.scales(c.In[4])
	if err != nil {
		return nil, err
	}
	if scale, err = stretched(c.scratchFloats, scale, filters); err != nil {
		return nil, err
	}
	if list.RowScale, err = c.scratchFloats(filters); err != nil {
		return nil, err
	}
	for i, s := range scale {
		list.RowScale[i] = x.scale * s / y.scale
	}
	if c.Has(8) {
		list.Bias = tensor.View[int32](c.In[8])
	}
	return list, nil
}

var quantConvRows = []Row{
	{Name: "ConvInteger", Since: []int{10}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: byteTypes, New: newConvInteger},
	{Name: "QLinearConv", Since: []int{10}, In: [2]int{8, 9}, Out: [2]int{1, 1}, Types: byteTypes, New: newQLinearConv},
	{Domain: microsoft, Name: "QLinearConv", Since: []int{1}, In: [2]int{8, 9}, Out: [2]int{1, 1}, Types: byteTypes, New: newQLinearConv},
}

package nn

import (
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Col2Im adds blocks, one per column, into the image that a window cut them from.
type Col2Im struct{ window *Window }

func newCol2Im(n *op.Node) (op.Op, error) {
	w, err := ReadWindow(n, false)
	return &Col2Im{w}, err
}

// Infer sets [batch,channels,...].
func (o *Col2Im) Infer(c *op.Infer) error {
	x := c.In[0]
	c.Set(0, x.DType, nil)
	if rank, ok := x.Rank(); ok && rank != 3 {
		return graph.Errorf(graph.ErrShape, "input is %v; it takes [batch,channels*block,blocks]", x.Type)
	}
	image, err := c.In[1].Extents()
	if err != nil {
		return err
	}
	block, err := c.In[2].Extents()
	if err != nil || image == nil {
		return err
	}
	if block != nil && len(block) != len(image) {
		return graph.Errorf(graph.ErrShape, "an image of %v and blocks of %v", image, block)
	}
	batch, channels := graph.Unknown(), graph.Unknown()
	if x.Dims != nil {
		batch = x.Dims[0]
		if size, ok := block.Concrete(); ok && size.Check() == nil && size.Len() > 0 {
			channels = x.Dims[1].Div(graph.Known(size.Len()))
		}
	}
	c.Set(0, x.DType, kit.JoinDims(graph.Dims{batch, channels}, image))
	return nil
}

// Folding has the extents of one Col2Im. Lists have one number for each axis of the image.
type Folding struct {
	Batch, Channels       int
	Image, Block          tensor.Shape
	Blocks                tensor.Shape // the number along each axis
	Stride, Dilation, Pad []int        // Pad is the pixels before the first
}

func (o *Col2Im) extents(c *op.Run) (*Folding, error) {
	image, err := op.Ints(c.In[1])
	if err != nil {
		return nil, err
	}
	block, err := op.Ints(c.In[2])
	if err != nil {
		return nil, err
	}
	return o.Extents(c.In[0].Shape(), image, block)
}

// Extents returns the extents for columns of shape x.
func (o *Col2Im) Extents(x tensor.Shape, image, block []int) (*Folding, error) {
	switch err := tensor.Shape(image).Check(); {
	case err != nil:
		return nil, graph.Errorf(graph.ErrShape, "input 1, the extents of the image, is %v: %w", image, err)
	case len(image) != len(block):
		return nil, graph.Errorf(graph.ErrShape, "input 1, the extents of the image, is %v and input 2, the extents of "+
			"a block, is %v; both must have the same length", image, block)
	case len(x) != 3:
		return nil, graph.Errorf(graph.ErrShape,
			"input 0, the columns, has shape %v; it must have the 3 axes [batch,channels*block,blocks]", x)
	}
	bound, err := o.window.bind(len(image), block)
	if err != nil {
		return nil, err
	}
	win, blocks, err := bound.resolve(image)
	if err != nil {
		return nil, err
	}
	f := &Folding{Batch: x[0], Image: image, Block: block, Blocks: blocks, Stride: win.stride, Dilation: win.dilation,
		Pad: win.padBegin}
	if f.Block.Check() != nil || f.Blocks.Check() != nil || x[1]%f.Block.Len() != 0 || x[2] != f.Blocks.Len() {
		return nil, graph.Errorf(graph.ErrShape, "columns %v do not hold blocks of %v for an image of %v, which are %v", x,
			block, image, blocks)
	}
	f.Channels = x[1] / f.Block.Len()
	return f, nil
}

// Run computes the output.
func (o *Col2Im) Run(c *op.Run) error {
	f, err := o.extents(c)
	if err != nil {
		return err
	}
	x := c.In[0]
	out, err := c.Output(0, x.DType(), slices.Concat(tensor.Shape{f.Batch, f.Channels}, f.Image))
	if err != nil {
		return err
	}
	switch x.DType() {
	case tensor.F32:
		foldBlocks(c.Pace(), f, tensor.View[float32](x), tensor.View[float32](out))
	case tensor.F64:
		foldBlocks(c.Pace(), f, tensor.View[float64](x), tensor.View[float64](out))
	case tensor.F16, tensor.BF16:
		sums, list := make([]float32, out.Len()), make([]float32, x.Len())
		elements.Get(list, x, 0)
		foldBlocks(c.Pace(), f, list, sums)
		c.PutFloats(out, sums)
	case tensor.I8, tensor.U8: // wrapping sums have the same bits for signed and unsigned integers
		foldBlocks(c.Pace(), f, tensor.View[uint8](x), tensor.View[uint8](out))
	case tensor.I16, tensor.U16:
		foldBlocks(c.Pace(), f, tensor.View[uint16](x), tensor.View[uint16](out))
	case tensor.I32, tensor.U32:
		foldBlocks(c.Pace(), f, tensor.View[uint32](x), tensor.View[uint32](out))
	case tensor.I64, tensor.U64:
		foldBlocks(c.Pace(), f, tensor.View[uint64](x), tensor.View[uint64](out))
	}
	return nil
}

func foldBlocks[T kit.Number](pace *op.Pace, f *Folding, x, out []T) {
	clear(out)
	if len(out) == 0 {
		return
	}
	count, size := f.Blocks.Len(), f.Block.Len()
	steps, blockSteps, elementSteps := f.Image.Strides(), f.Blocks.Strides(), f.Block.Strides()
	for plane := range f.Batch * f.Channels {
		to := out[plane*f.Image.Len():][:f.Image.Len()]
		for e := range size {
			from := x[(plane*size+e)*count:][:count]
			for b, v := range from {
				pace.Work(16)
				at, inside := 0, true
				for a, n := range f.Image {
					i := b/blockSteps[a]%f.Blocks[a]*f.Stride[a] - f.Pad[a] + e/elementSteps[a]%f.Block[a]*f.Dilation[a]
					inside = inside && i >= 0 && i < n
					at += i * steps[a]
				}
				if inside {
					to[at] += v
				}
			}
		}
	}
}

// MaxUnpool puts elements at the indices where a maximum pool found them, and zeros elsewhere. The
// indices refer to the output that follows from the window. If an input gives a larger shape, that
// output is its corner at index 0.
type MaxUnpool struct{ window *Window }

func newMaxUnpool(n *op.Node) (op.Op, error) {
	w, err := ReadWindow(n, false)
	return &MaxUnpool{w}, err
}

// pooledFrom returns spatial extents that the window pools to in.
func (o *MaxUnpool) pooledFrom(in graph.Dims) (graph.Dims, error) {
	w, err := o.window.bind(len(in), nil)
	if err != nil {
		return nil, err
	}
	out := make(graph.Dims, len(in))
	for a, d := range in {
		last, err := kit.MulDim(d.Sub(graph.Known(1)), graph.Known(w.stride[a]))
		if err != nil {
			return nil, err
		}
		out[a] = last.Add(graph.Known(w.kernel[a] - w.padBegin[a] - w.padEnd[a]))
		if n, ok := out[a].Value(); ok && n < 0 {
			return nil, graph.Errorf(graph.ErrShape, "pads leave nothing along spatial axis %d", a)
		}
	}
	return out, nil
}

// Infer sets [batch,channels,...].
func (o *MaxUnpool) Infer(c *op.Infer) error {
	x := c.In[0]
	c.Set(0, x.DType, nil)
	if !c.In[1].DType.IsInteger() {
		return graph.Errorf(graph.ErrShape, "indices have elements of type %v, not int64", c.In[1].DType)
	}
	if x.Dims != nil && len(x.Dims) < 3 {
		return graph.Errorf(graph.ErrShape, "input is %v; it takes [batch,channels,...]", x.Type)
	}
	if c.Has(2) {
		want, err := c.In[2].Extents()
		if err != nil {
			return err
		}
		if want != nil && x.Dims != nil && len(want) != len(x.Dims) {
			return graph.Errorf(graph.ErrShape, "output_shape %v for an input of %v", want, x.Type)
		}
		c.Set(0, x.DType, want)
		return nil
	}
	if x.Dims == nil {
		return nil
	}
	space, err := o.pooledFrom(x.Dims[2:])
	if err != nil {
		return err
	}
	c.Set(0, x.DType, kit.JoinDims(x.Dims[:2], space))
	return nil
}

// Extents returns the extents that the indices refer to, for an input of shape x, and the extents
// of the output. The two differ only if extents are given.
func (o *MaxUnpool) Extents(x tensor.Shape, given []int) (from, out tensor.Shape, err error) {
	space, err := o.pooledFrom(graph.DimsOf(x[2:]))
	if err != nil {
		return nil, nil, err
	}
	dims := kit.JoinDims(graph.DimsOf(x[:2]), space)
	from, _ = dims.Concrete()
	if err := from.Check(); err != nil {
		return nil, nil, graph.Errorf(graph.ErrShape, "%w", err)
	}
	if given == nil {
		return from, from, nil
	}
	out = given
	if len(out) != len(from) || out.Check() != nil {
		return nil, nil, graph.Errorf(graph.ErrShape, "output_shape %v for an input of %v", out, x)
	}
	for a, n := range from {
		if out[a] < n {
			return nil, nil, graph.Errorf(graph.ErrShape, "output_shape %v is less than %v, which the window covers", out, from)
		}
	}
	return from, out, nil
}

// Run computes the output.
func (o *MaxUnpool) Run(c *op.Run) error {
	x, index := c.In[0], c.In[1]
	if index.Len() != x.Len() {
		return graph.Errorf(graph.ErrShape, "%d indices for %v", index.Len(), x)
	}
	var given []int
	if c.Has(2) {
		var err error
		if given, err = op.Ints(c.In[2]); err != nil {
			return err
		}
	}
	from, shape, err := o.Extents(x.Shape(), given)
	if err != nil {
		return err
	}
	out, err := c.Output(0, x.DType(), shape)
	if err != nil {
		return err
	}
	clear(out.Bytes())
	if index.DType() == tensor.I64 && slices.Equal(from, shape) {
		return unpoolTo(out, x, tensor.View[int64](index.Aligned()), from.Len())
	}
	list, err := op.Ints(index)
	if err != nil {
		return err
	}
	for _, p := range list {
		if p < 0 || p >= from.Len() {
			return outsidePlanes(p, from.Len())
		}
	}
	moveIndices(list, from, shape)
	return unpoolTo(out, x, list, shape.Len())
}

func outsidePlanes[I int | int64](p I, n int) error {
	return graph.Errorf(graph.ErrShape, "index %d is not in 0..%d", p, n-1)
}

// unpoolTo sets elements of out, at indices below n, to the elements of x.
func unpoolTo[I int | int64](out, x *tensor.Tensor, index []I, n int) error {
	switch x.DType() {
	case tensor.F32:
		return unpool(tensor.View[float32](out)[:n], tensor.View[float32](x), index)
	case tensor.F64:
		return unpool(tensor.View[float64](out)[:n], tensor.View[float64](x), index)
	}
	for i, p := range index {
		if p < 0 || p >= I(n) {
			return outsidePlanes(p, n)
		}
		kit.CopyElement(out, int(p), x, i)
	}
	return nil
}

func unpool[T any, I int | int64](out, x []T, index []I) error {
	for i, p := range index {
		if uint64(p) >= uint64(len(out)) {
			return outsidePlanes(p, len(out))
		}
		out[p] = x[i]
	}
	return nil
}

// moveIndices converts indices into shape from to indices of the same positions in shape to.
func moveIndices(index []int, from, to tensor.Shape) {
	steps, inner := to.Strides(), from.Strides()
	for i, p := range index {
		at := 0
		for a, n := range from {
			at += p / inner[a] % n * steps[a]
		}
		index[i] = at
	}
}

var foldRows = []op.Row{
	{Name: "Col2Im", Since: []int{18}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Types: op.Numeric, Heap: 8, New: newCol2Im},
	{Name: "MaxUnpool", Since: []int{9, 11, 22}, In: [2]int{2, 3}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, New: newMaxUnpool},
}

package op

import (
	"math"
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// deformConv is a convolution whose kernel reads every pixel at an offset of its
// own, between pixels where that falls there; pixels outside are 0. The samples
// of an image become the columns of a matrix that the weights multiply.
type deformConv struct {
	window         *window
	groups, fields int // of channels; of channels that share offsets
	product        multiplier
}

func newDeformConv(n *Node) (Op, error) {
	o := &deformConv{groups: n.Int("group", 1), fields: n.Int("offset_group", 1)}
	if o.groups < 1 || o.fields < 1 {
		return nil, graph.Mark(graph.ErrFormat, "group is %d and offset_group %d; they take 1 or more", o.groups, o.fields)
	}
	var err error
	o.window, err = readWindow(n, false)
	return o, err
}

// Infer sets [batch,filters,...] from input, weights and window.
func (o *deformConv) Infer(c *Infer) error {
	if err := sameTypes(c.In); err != nil {
		return err
	}
	x, w := c.In[0], c.In[1]
	c.Set(0, x.DType, nil)
	if x.Dims == nil || w.Dims == nil {
		return nil
	}
	if len(x.Dims) < 3 || len(x.Dims) > 2+maxGridAxes || len(x.Dims) != len(w.Dims) {
		return graph.Mark(graph.ErrShape, "input is %v and weights %v; they take [batch,channels,...] and [filters,channels/group,...] of at most %d axes more", x.Type, w.Type, maxGridAxes)
	}
	kernel, known := w.Dims[2:].Concrete()
	if !known && len(o.window.kernel) == 0 {
		c.Set(0, x.DType, joinDims(x.Dims[:1], w.Dims[:1], graph.UnknownDims(len(x.Dims)-2)))
		return nil
	}
	if !known {
		kernel = nil
	}
	win, err := o.window.bind(len(x.Dims)-2, kernel)
	if err != nil {
		return err
	}
	space, err := win.dims(x.Dims[2:])
	if err != nil {
		return err
	}
	c.Set(0, x.DType, joinDims(x.Dims[:1], w.Dims[:1], space))
	return nil
}

// Prepare chooses the kernel.
func (o *deformConv) Prepare(c *Prepare) error {
	err := o.product.prepare(c)
	if isNarrow(o.product.dtype) {
		o.product.dtype = tensor.F32 // samples and weights are widened
	}
	return err
}

// Describe names the kernel.
func (o *deformConv) Describe() string { return o.product.describe() }

// deformed is the extents of one deformable convolution.
type deformed struct {
	win            *window
	batch          int
	in, out        tensor.Shape // of space
	channels       int
	filters        int
	kernel, places int
}

func (o *deformConv) extents(c *Run) (*deformed, error) {
	x, w := c.In[0].Shape(), c.In[1].Shape()
	bound, err := o.window.bind(len(x)-2, w[2:])
	if err != nil {
		return nil, err
	}
	win, out, err := bound.resolve(x[2:])
	if err != nil {
		return nil, err
	}
	s := &deformed{win: win, batch: x[0], in: x[2:], out: out, channels: x[1], filters: w[0], kernel: w[2:].Len(), places: tensor.Shape(out).Len()}
	if s.channels%o.groups != 0 || s.filters%o.groups != 0 || w[1] != s.channels/o.groups || s.channels%o.fields != 0 {
		return nil, graph.Mark(graph.ErrShape, "input %v and weights %v do not divide into %d groups and %d offset groups", x, w, o.groups, o.fields)
	}
	r := len(s.in)
	wants := []struct {
		i     int
		shape tensor.Shape
	}{
		{2, slices.Concat(tensor.Shape{s.batch, o.fields * s.kernel * r}, s.out)},
		{3, tensor.Shape{s.filters}},
		{4, slices.Concat(tensor.Shape{s.batch, o.fields * s.kernel}, s.out)},
	}
	for _, want := range wants {
		if c.Has(want.i) && !c.In[want.i].Shape().Equal(want.shape) {
			return nil, graph.Mark(graph.ErrShape, "input %d is %v where %v is needed", want.i, c.In[want.i], want.shape)
		}
	}
	return s, nil
}

// Run computes the output.
func (o *deformConv) Run(c *Run) error {
	s, err := o.extents(c)
	if err != nil || c.Out[0].Len() == 0 {
		return err
	}
	if c.In[0].DType() == tensor.F64 {
		return deform(o, c, s, tensor.F64, tensor.View[float64](c.In[0]), tensor.View[float64](c.In[1]), tensor.View[float64](c.Out[0]))
	}
	x, out, err := c.floatsInOut()
	if err != nil {
		return err
	}
	w, err := c.floats(c.In[1])
	if err != nil {
		return err
	}
	if err := deform(o, c, s, tensor.F32, x, w, out); err != nil {
		return err
	}
	c.putFloats(c.Out[0], out)
	return nil
}

func deform[T float32 | float64](o *deformConv, c *Run, s *deformed, d tensor.DType, x, w, out []T) error {
	per := s.channels / o.groups * s.kernel
	size := tensor.Shape{per, s.places}
	if err := size.Check(); err != nil {
		return graph.Mark(graph.ErrShape, "%w", err)
	}
	bytes, err := c.Mem.Scratch(d.Bytes(size.Len()))
	if err != nil {
		return err
	}
	cols, err := tensor.FromBytes(d, size, bytes)
	if err != nil {
		return err
	}
	offsets, masks := doubles(c.In[2]), doubles(given(c, 4))
	perGroup := s.filters / o.groups
	p := products{m: perGroup, n: s.places, k: per, aRow: per, aCol: 1, bRow: s.places, bCol: 1}
	for b := range s.batch {
		for g := range o.groups {
			if per > 0 {
				sampleColumns(o, s, x[b*s.channels*s.in.Len():], offsets, masks, b, g, tensor.View[T](cols))
			}
			weights, err := tensor.From(w[g*perGroup*per:][:perGroup*per], perGroup, per)
			if err != nil {
				return err
			}
			y, err := tensor.From(out[(b*s.filters+g*perGroup)*s.places:][:perGroup*s.places], perGroup, s.places)
			if err != nil {
				return err
			}
			if err := o.product.run(c, &p, weights, cols, y, addend{alpha: 1}); err != nil {
				return err
			}
		}
	}
	if c.Has(3) {
		bias := doubles(c.In[3])
		for i := range out {
			out[i] += T(bias[i/s.places%s.filters])
		}
	}
	return nil
}

func given(c *Run, i int) *tensor.Tensor {
	if c.Has(i) {
		return c.In[i]
	}
	return nil
}

// sampleColumns writes the samples of the channels of group g: a row for each
// channel and element of the kernel, a column for each place of the output.
func sampleColumns[T float32 | float64](o *deformConv, s *deformed, x []T, offsets, masks []float64, b, g int, cols []T) {
	r, space, perField := len(s.in), s.in.Len(), s.channels/o.fields
	first := g * (s.channels / o.groups)
	outSteps, kernelSteps, inSteps := s.out.Strides(), tensor.Shape(s.win.kernel).Strides(), s.in.Strides()
	list := make([]gridTaps, r)
	var at []int
	var parts []T
	for f := first / perField; f*perField < first+s.channels/o.groups; f++ {
		from, to := max(f*perField, first), min((f+1)*perField, first+s.channels/o.groups)
		for k := range s.kernel {
			row := (b*o.fields+f)*s.kernel + k
			for p := range s.places {
				for a := range r {
					base := p/outSteps[a]%s.out[a]*s.win.stride[a] - s.win.padBegin[a] + k/kernelSteps[a]%s.win.kernel[a]*s.win.dilation[a]
					list[a] = linearTaps(float64(base)+offsets[(row*r+a)*s.places+p], s.in[a])
				}
				at, parts = combine(list, inSteps, at[:0], parts[:0])
				scale := T(1)
				if masks != nil {
					scale = T(masks[row*s.places+p])
				}
				for ch := from; ch < to; ch++ {
					pixels := x[ch*space:][:space]
					var sum T
					for i, q := range at {
						sum += parts[i] * pixels[q]
					}
					cols[((ch-first)*s.kernel+k)*s.places+p] = scale * sum
				}
			}
		}
	}
}

// linearTaps is the two pixels around x, as far as they are among n.
func linearTaps(x float64, n int) gridTaps {
	var t gridTaps
	if !(x > -1 && x < float64(n)) {
		return t
	}
	lo := math.Floor(x)
	part := x - lo
	for i, w := range []float64{1 - part, part} {
		if at := int(lo) + i; at >= 0 && at < n {
			t.at[t.n], t.part[t.n] = at, w
			t.n++
		}
	}
	return t
}

var deformRows = []Row{
	{Name: "DeformConv", Since: []int{19, 22}, In: [2]int{3, 5}, Out: [2]int{1, 1}, Types: floats, New: newDeformConv},
}

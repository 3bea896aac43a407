package signal

import (
	"slices"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// DFT transforms along an axis of a value. The last axis holds the real part of a number, or both
// parts. If OneSided is set, the forward transform of real numbers omits the mirrored half, and the
// inverse takes that half and gives real numbers. It computes in double precision for float64 and
// for lengths with a prime factor above 5, otherwise in single precision.
type DFT struct {
	axis              int
	axisInput         bool
	Inverse, OneSided bool
}

func newDFT(n *op.Node) (op.Op, error) {
	o := &DFT{axis: -2, axisInput: n.Since >= 20, Inverse: n.Bool("inverse", false), OneSided: n.Bool("onesided", false)}
	if !o.axisInput {
		o.axis = n.Int("axis", 1)
	}
	return o, nil
}

// place checks and normalises the axis for a value with rank axes.
func (o *DFT) place(axis, rank int) (int, error) {
	a, err := op.NormAxis(axis, rank)
	if err == nil && a == rank-1 {
		err = graph.Errorf(graph.ErrShape, "axis %d is the axis of real and imaginary parts", axis)
	}
	return a, err
}

// parts checks the extent of the last axis, the parts of complex numbers.
func (o *DFT) parts(n graph.Dim) error {
	k, ok := n.Value()
	switch {
	case ok && k != 1 && k != 2:
		return graph.Errorf(graph.ErrShape, "the last axis has %d elements, not one or two for the parts of a number", k)
	case ok && o.OneSided && k == 2 && !o.Inverse:
		return graph.Errorf(graph.ErrShape, "a one-sided transform takes real numbers, and the last axis has two elements")
	case ok && o.OneSided && k == 1 && o.Inverse:
		return graph.Errorf(graph.ErrShape,
			"a one-sided inverse transform takes complex numbers, and the last axis has one element")
	}
	return nil
}

// length returns the default number of points for an axis of extent n.
func (o *DFT) length(n graph.Dim) graph.Dim {
	if o.OneSided && o.Inverse {
		return n.Sub(graph.Known(1)).Mul(graph.Known(2))
	}
	return n
}

// extents returns the number of results of a transform of length points, and the parts of each.
func (o *DFT) extents(length graph.Dim) (n, parts graph.Dim) {
	switch {
	case o.OneSided && o.Inverse:
		return length, graph.Known(1)
	case o.OneSided:
		return length.Div(graph.Known(2)).Add(graph.Known(1)), graph.Known(2)
	}
	return length, graph.Known(2)
}

// Infer sets the extents of the axis and the last axis.
func (o *DFT) Infer(c *op.Infer) error {
	in := c.In[0]
	c.Set(0, in.DType, nil)
	axis, known := o.axis, true
	if o.axisInput && c.Has(2) {
		d, err := c.ScalarDim(2, "axis")
		if err != nil {
			return err
		}
		axis, known = d.Value()
	}
	rank, ok := in.Rank()
	if !ok {
		return nil
	}
	if rank < 2 {
		return graph.Errorf(graph.ErrShape, "input is %v; it takes [...,parts]", in.Type)
	}
	if err := o.parts(in.Dims[rank-1]); err != nil {
		return err
	}
	if !known {
		c.Set(0, in.DType, graph.UnknownDims(rank))
		return nil
	}
	axis, err := o.place(axis, rank)
	if err != nil {
		return err
	}
	length := o.length(in.Dims[axis])
	if c.Has(1) {
		if length, err = c.ScalarDim(1, "dft_length"); err != nil {
			return err
		}
	}
	if n, ok := length.Value(); ok && (n < 1 || n > kit.MaxElements) {
		return graph.Errorf(graph.ErrShape, "a transform of %d points", n)
	}
	out := slices.Clone(in.Dims)
	out[axis], out[rank-1] = o.extents(length)
	c.Set(0, in.DType, out)
	return nil
}

// Plan returns the axis and the number of points for a value of shape in. length and axis come from
// inputs; they are nil if left out.
func (o *DFT) Plan(in tensor.Shape, length, axis *int) (at, points int, err error) {
	at = o.axis
	if o.axisInput && axis != nil {
		at = *axis
	}
	if at, err = o.place(at, len(in)); err != nil {
		return 0, 0, err
	}
	points, _ = o.length(graph.Known(in[at])).Value()
	if length != nil {
		points = *length
	}
	if points < 1 || points > kit.MaxElements {
		return 0, 0, graph.Errorf(graph.ErrShape, "a transform of %d points", points)
	}
	return at, points, nil
}

// given returns the integer in an input, or nil if it is left out.
func given(c *op.Run, i int, what string) (*int, error) {
	if !c.Has(i) {
		return nil, nil
	}
	n, err := op.ScalarInt(c.In[i], what)
	return &n, err
}

// Run computes the transform.
func (o *DFT) Run(c *op.Run) error {
	in := c.In[0].Shape()
	asked, err := given(c, 1, "dft_length")
	if err != nil {
		return err
	}
	at, err := given(c, 2, "axis")
	if err != nil {
		return err
	}
	axis, length, err := o.Plan(in, asked, at)
	if err != nil {
		return err
	}
	n, p := o.extents(graph.Known(length))
	shape := in.Clone()
	last := len(shape) - 1
	shape[axis], _ = n.Value()
	shape[last], _ = p.Value()
	out, err := c.Output(0, c.In[0].DType(), shape)
	if err != nil || out.Len() == 0 {
		return err
	}
	if err := reserve(c, length); err != nil {
		return err
	}
	if out.DType() == tensor.F64 || !isPrecise(length) {
		list := make([]float64, out.Len())
		lanes(c.Pace(), o, kit.Doubles(c.In[0]), in, axis, length, list, shape)
		kit.PutDoubles(out, list)
		return nil
	}
	x, list, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	lanes(c.Pace(), o, x, in, axis, length, list, shape)
	c.PutFloats(out, list)
	return nil
}

// reserve counts the memory of a transform of the given length. A transform by convolution takes up
// to 16 arrays of that length.
func reserve(c *op.Run, length int) error { return c.Mem.Reserve(16 * 16 * length) }

// lanes transforms every lane along the axis.
func lanes[F realType](pace *op.Pace, o *DFT, x []F, in tensor.Shape, axis, length int, out []F, shape tensor.Shape) {
	f := newFourier[F](pace, length)
	src, dst := make([]complexOf[F], length), make([]complexOf[F], length)
	last := len(in) - 1
	inner := in[axis+1 : last].Len()
	parts, outParts := in[last], shape[last]
	for outer := range in[:axis].Len() {
		for i := range inner {
			pace.Work(8 * length)
			clear(src)
			for k := range min(in[axis], length) {
				p := ((outer*in[axis]+k)*inner + i) * parts
				src[k].re = x[p]
				if parts == 2 {
					src[k].im = x[p+1]
				}
			}
			transform(o, f, dst, src, parts == 1)
			for k := range shape[axis] {
				p := ((outer*shape[axis]+k)*inner + i) * outParts
				out[p] = dst[k].re
				if outParts == 2 {
					out[p+1] = dst[k].im
				}
			}
		}
	}
}

// transform computes one transform and overwrites src.
func transform[F realType](o *DFT, f *fourier[F], dst, src []complexOf[F], isReal bool) {
	switch {
	case !o.Inverse && isReal:
		f.runReal(dst, src)
		return
	case !o.Inverse:
		f.run(dst, src)
		return
	}
	if o.OneSided {
		for k := 1; k < (f.n+1)/2; k++ {
			src[f.n-k] = src[k].conj()
		}
	}
	f.inverse(dst, src)
}

// STFT transforms frames of a signal [batch,samples,parts], each multiplied by a window, to
// [batch,frames,points,2]. A signal [batch,samples] is real. Exporters omit the last axis, and ONNX
// Runtime accepts that.
type STFT struct{ OneSided bool }

func newSTFT(n *op.Node) (op.Op, error) { return &STFT{n.Bool("onesided", true)}, nil }

// Infer sets the extents from step and frame length.
func (o *STFT) Infer(c *op.Infer) error {
	in := c.In[0]
	if err := kit.SameTypes([]*op.Value{in, c.Given(2)}); err != nil {
		return err
	}
	step, err := c.ScalarDim(1, "frame_step")
	if err != nil {
		return err
	}
	length := graph.Unknown()
	switch {
	case c.Has(3):
		if length, err = c.ScalarDim(3, "frame_length"); err != nil {
			return err
		}
	case c.Has(2):
		if c.In[2].Dims != nil {
			length = c.In[2].Dims.Len()
		}
	default:
		return graph.Errorf(graph.ErrFormat, "neither a window nor a frame length is given")
	}
	batch, samples := graph.Unknown(), graph.Unknown()
	if rank, ok := in.Rank(); ok {
		if rank != 2 && rank != 3 {
			return graph.Errorf(graph.ErrShape, "signal is %v; it takes [batch,samples,parts] or [batch,samples]", in.Type)
		}
		if rank == 3 {
			if err := (&DFT{OneSided: o.OneSided}).parts(in.Dims[2]); err != nil {
				return err
			}
		}
		batch, samples = in.Dims[0], in.Dims[1]
	}
	if err := checkFrames(samples, step, length); err != nil {
		return err
	}
	frames := samples.Sub(length).Div(step).Add(graph.Known(1))
	points, parts := (&DFT{OneSided: o.OneSided}).extents(length)
	c.Set(0, in.DType, graph.Dims{batch, frames, points, parts})
	return nil
}

func checkFrames(samples, step, length graph.Dim) error {
	n, known := samples.Value()
	s, hasStep := step.Value()
	l, hasLength := length.Value()
	if hasStep && s < 1 || hasLength && (l < 1 || known && l > n) {
		return graph.Errorf(graph.ErrShape, "frames of %v samples, %v apart, of a signal of %v", length, step, samples)
	}
	return nil
}

// Run transforms the frames.
func (o *STFT) Run(c *op.Run) error {
	in := c.In[0].Shape()
	if len(in) == 2 {
		in = tensor.Shape{in[0], in[1], 1}
	}
	step, err := op.ScalarInt(c.In[1], "frame_step")
	if err != nil {
		return err
	}
	window := c.Given(2)
	length := 0
	if window != nil {
		length = window.Len()
	}
	if c.Has(3) {
		if length, err = op.ScalarInt(c.In[3], "frame_length"); err != nil {
			return err
		}
	}
	if err := checkFrames(graph.Known(in[1]), graph.Known(step), graph.Known(length)); err != nil {
		return err
	}
	if window != nil && window.Len() != length {
		return graph.Errorf(graph.ErrShape, "a window of %d samples for frames of %d", window.Len(), length)
	}
	points := length
	if o.OneSided {
		points = length/2 + 1
	}
	frames := (in[1]-length)/step + 1
	out, err := c.Output(0, c.In[0].DType(), tensor.Shape{in[0], frames, points, 2})
	if err != nil || out.Len() == 0 {
		return err
	}
	if err := reserve(c, length); err != nil {
		return err
	}
	if out.DType() == tensor.F64 || !isPrecise(length) {
		cut, list := framing[float64]{c.Pace(), kit.Doubles(c.In[0]), in, step, length, kit.Doubles(window)},
			make([]float64, out.Len())
		cut.transform(list, frames, points)
		kit.PutDoubles(out, list)
		return nil
	}
	x, list, err := c.FloatsInOut()
	if err != nil {
		return err
	}
	seen, err := c.Floats(window)
	if err != nil {
		return err
	}
	cut := framing[float32]{c.Pace(), x, in, step, length, seen}
	cut.transform(list, frames, points)
	c.PutFloats(out, list)
	return nil
}

// framing is a signal [batch,samples,parts] cut into frames of length samples, step apart. Frames
// are multiplied by window unless it is nil.
type framing[F realType] struct {
	pace         *op.Pace
	x            []F
	shape        tensor.Shape
	step, length int
	window       []F
}

// transform stores the first points of the transform of every frame.
func (s *framing[F]) transform(out []F, frames, points int) {
	f := newFourier[F](s.pace, s.length)
	src, dst := make([]complexOf[F], s.length), make([]complexOf[F], s.length)
	for b := range s.shape[0] {
		for t := range frames {
			s.pace.Work(8 * s.length)
			s.frame(src, s.x[(b*s.shape[1]+t*s.step)*s.shape[2]:])
			if s.shape[2] == 1 {
				f.runReal(dst, src)
			} else {
				f.run(dst, src)
			}
			for _, v := range dst[:points] {
				out[0], out[1] = v.re, v.im
				out = out[2:]
			}
		}
	}
}

// frame reads the samples of one frame.
func (s *framing[F]) frame(dst []complexOf[F], x []F) {
	for i := range dst {
		v := complexOf[F]{re: x[i*s.shape[2]]}
		if s.shape[2] == 2 {
			v.im = x[i*2+1]
		}
		if s.window != nil {
			v = v.scale(s.window[i])
		}
		dst[i] = v
	}
}

var fourierRows = []op.Row{
	{Name: "DFT", Since: []int{17, 20}, In: [2]int{1, 2}, Later: []op.Arity{{Since: 20, In: [2]int{1, 3}}}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, New: newDFT},
	{Name: "STFT", Since: []int{17}, In: [2]int{2, 4}, Out: [2]int{1, 1}, Types: op.Floats, Heap: 8, New: newSTFT},
}

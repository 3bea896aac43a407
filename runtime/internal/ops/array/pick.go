package array

import (
	"slices"

	"github.com/nacre-ml/nacre/internal/elements"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Compress keeps slices of an axis, or elements of the flattened input, for which a condition is
// true. The condition is read as a vector, whatever its axes.
type Compress struct {
	axis int
	flat bool
}

func newCompress(n *op.Node) (op.Op, error) {
	return &Compress{axis: n.Int("axis", 0), flat: !n.Has("axis")}, nil
}

func (o *Compress) Infer(c *op.Infer) error {
	in, cond := c.In[0], c.In[1]
	if cond.DType != tensor.Bool {
		return graph.Errorf(graph.ErrShape, "condition is %v, not of bool", cond.Type)
	}
	count := graph.Unknown()
	if cond.Const != nil {
		n := 0
		for _, v := range cond.Const.Bytes() {
			n += kit.Btoi(v != 0)
		}
		count = graph.Known(n)
	}
	if o.flat {
		c.Set(0, in.DType, graph.Dims{count})
		return nil
	}
	c.Set(0, in.DType, nil)
	rank, ok := in.Rank()
	if !ok {
		return nil
	}
	axis, err := op.NormAxis(o.axis, rank)
	if err != nil {
		return err
	}
	out := slices.Clone(in.Dims)
	out[axis] = count
	c.Set(0, in.DType, out)
	return nil
}

// View returns the extents of the input, flat if there is no axis, and the axis of the slices.
func (o *Compress) View(in tensor.Shape) (tensor.Shape, int, error) {
	if o.flat {
		in = tensor.Shape{in.Len()}
	}
	axis, err := op.NormAxis(o.axis, len(in))
	return in, axis, err
}

// Most returns the number of slices that the condition covers.
func (o *Compress) Most(in []tensor.Shape) int {
	shape, axis, err := o.View(in[0])
	if err != nil {
		return 0
	}
	return min(shape[axis], in[1].Len())
}

func (o *Compress) Run(c *op.Run) error {
	in, axis, err := o.View(c.In[0].Shape())
	if err != nil {
		return err
	}
	cond := c.In[1].Bytes()
	index, err := c.ScratchInt64s(len(cond))
	if err != nil {
		return err
	}
	count, pace := 0, c.Pace()
	for from, to := range pace.Stretches(len(cond), 2) {
		count += placesOfTrue(index[count:], cond[from:to], from)
	}
	if count > 0 && index[count-1] >= int64(in[axis]) {
		return graph.Errorf(graph.ErrShape, "condition %d holds, the axis has %d elements", index[count-1], in[axis])
	}
	shape := in.Clone()
	shape[axis] = count
	if c.Out[0] == nil {
		if _, err := c.Alloc(0, c.In[0].DType(), shape); err != nil {
			return err
		}
	}
	if err := wantShape(c.Out[0], shape); err != nil {
		return err
	}
	kit.GatherBlocks(pace, c.In[0], c.Out[0], index[:count], in[:axis].Len(), in[axis], in[axis+1:].Len())
	return nil
}

// placesOfTrue writes the indices of true conditions to list and returns their number. The first
// condition has index at.
func placesOfTrue(list []int64, cond []byte, at int) int {
	count := 0
	for i, v := range cond {
		if v != 0 {
			list[count] = int64(at + i)
			count++
		}
	}
	return count
}

// NonZero lists the indices of the nonzero elements: one row per axis, one column per element, in
// row-major order.
type NonZero struct{}

func newNonZero(*op.Node) (op.Op, error) { return NonZero{}, nil }

func (NonZero) Infer(c *op.Infer) error {
	rows := graph.Unknown()
	if rank, ok := c.In[0].Rank(); ok {
		rows = graph.Known(rank)
	}
	c.Set(0, tensor.I64, graph.Dims{rows, graph.Unknown()})
	return nil
}

// Most returns the number of elements.
func (NonZero) Most(in []tensor.Shape) int { return in[0].Len() }

func (NonZero) Run(c *op.Run) error {
	in := c.In[0].Aligned()
	switch in.DType() {
	case tensor.F32:
		return listSet(c, tensor.View[float32](in))
	case tensor.F64:
		return listSet(c, tensor.View[float64](in))
	case tensor.I64:
		return listSet(c, tensor.View[int64](in))
	case tensor.I32:
		return listSet(c, tensor.View[int32](in))
	case tensor.U8, tensor.Bool:
		return listSet(c, in.Bytes())
	}
	isSet, pace := setTest(in), c.Pace()
	count := 0
	for from, to := range pace.Stretches(in.Len(), 4) {
		for i := from; i < to; i++ {
			count += kit.Btoi(isSet(i))
		}
	}
	shape := in.Shape()
	out, err := c.Alloc(0, tensor.I64, tensor.Shape{len(shape), count})
	if err != nil || count == 0 || len(shape) == 0 {
		return err
	}
	list, steps := tensor.View[int64](out), shape.Strides()
	at := 0
	for from, to := range pace.Stretches(in.Len(), 4+4*len(shape)) {
		for i := from; i < to; i++ {
			if !isSet(i) {
				continue
			}
			for a, n := range shape {
				list[a*count+at] = int64(i / steps[a] % n)
			}
			at++
		}
	}
	return nil
}

// listStretch is the number of elements between two counts of work.
const listStretch = 1 << 14

// listSet is NonZero for types where exactly the zeros, of both signs, equal the zero value of T.
func listSet[T comparable](c *op.Run, list []T) error {
	var zero T
	count, pace := 0, c.Pace()
	for part := range slices.Chunk(list, listStretch) {
		pace.Work(len(part))
		for _, v := range part {
			if v != zero {
				count++
			}
		}
	}
	shape := c.In[0].Shape()
	out, err := c.Alloc(0, tensor.I64, tensor.Shape{len(shape), count})
	if err != nil || count == 0 || len(shape) == 0 {
		return err
	}
	places, steps, n := tensor.View[int64](out), shape.Strides(), shape[len(shape)-1]
	last := places[(len(shape)-1)*count:]
	at := 0
	for from := 0; from < len(list); from += n {
		first := at
		for j := 0; j < n; j += listStretch {
			part := list[from+j : from+min(j+listStretch, n)]
			pace.Work(8 + 2*len(part))
			for k, v := range part {
				if v != zero {
					last[at] = int64(j + k)
					at++
				}
			}
		}
		for a := range len(shape) - 1 {
			place := int64(from / steps[a] % shape[a])
			row := places[a*count:][first:at]
			for k := range row {
				row[k] = place
			}
		}
	}
	return nil
}

// HasZeros reports whether a type has zeros of both signs. The sign is the highest bit of the last
// byte of every part.
func HasZeros(d tensor.DType) bool {
	return d.Kind() == tensor.Complex ||
		d.IsFloat() && !slices.Contains([]tensor.DType{tensor.F8E4M3FNUZ, tensor.F8E5M2FNUZ, tensor.F8E8M0}, d)
}

// setTest returns a function that reports whether element i is not zero. Empty strings and negative
// zeros count as zero.
func setTest(t *tensor.Tensor) func(i int) bool {
	d := t.DType()
	if l := d.Layout(); l != nil {
		mask := int8(-1)
		if d.IsFloat() {
			mask = 1<<(l.Bits-1) - 1
		}
		return func(i int) bool { return l.At(t.Bytes(), i)&mask != 0 }
	}
	if d == tensor.String {
		return func(i int) bool { return t.Strings()[i] != "" }
	}
	w, part := kit.Width(d), kit.Width(d)
	if d.Kind() == tensor.Complex {
		part /= 2
	}
	signs := HasZeros(d)
	return func(i int) bool {
		for j, v := range t.Bytes()[i*w:][:w] {
			if signs && j%part == part-1 {
				v &= 0x7f
			}
			if v != 0 {
				return true
			}
		}
		return false
	}
}

// OneHot adds an axis. Along it, the element at the given index has one value and the others
// another.
type OneHot struct {
	Axis    int
	FromEnd bool // negative indices count from the end
}

func newOneHot(n *op.Node) (op.Op, error) {
	return &OneHot{Axis: n.Int("axis", -1), FromEnd: n.Since >= 11}, nil
}

func (o *OneHot) Infer(c *op.Infer) error {
	index, values := c.In[0], c.In[2]
	if !op.Numeric.Has(index.DType) || !op.Numeric.Has(c.In[1].DType) {
		return graph.Errorf(graph.ErrUnsupported, "indices are %v and depth %v: they need to be numbers", index.DType,
			c.In[1].DType)
	}
	if n, ok := values.Dims.Len().Value(); ok && values.Dims != nil && n != 2 {
		return graph.Errorf(graph.ErrShape, "values are %v, not two elements", values.Type)
	}
	c.Set(0, values.DType, nil)
	rank, ok := index.Rank()
	if !ok {
		return nil
	}
	axis, err := op.NormAxis(o.Axis, rank+1)
	if err != nil {
		return err
	}
	depth := graph.Unknown()
	if t := c.In[1].Const; t != nil {
		n, err := o.depth(t)
		if err != nil {
			return err
		}
		depth = graph.Known(n)
	}
	c.Set(0, values.DType, slices.Insert(append(graph.Dims{}, index.Dims...), axis, depth))
	return nil
}

func (o *OneHot) depth(t *tensor.Tensor) (int, error) {
	list, err := truncated(t)
	if err == nil && (len(list) != 1 || list[0] < 0) {
		err = graph.Errorf(graph.ErrShape, "depth is %v of %v, not one number that is not negative", t, list)
	}
	if err != nil {
		return 0, err
	}
	return list[0], nil
}

// truncated returns the elements as integers, rounded towards zero.
func truncated(t *tensor.Tensor) ([]int, error) {
	if !op.Numeric.Has(t.DType()) {
		return nil, graph.Errorf(graph.ErrShape, "%v where numbers are needed", t)
	}
	list := make([]int, t.Len())
	elements.Get(list, t.Aligned(), 0)
	return list, nil
}

func (o *OneHot) Run(c *op.Run) error {
	index, err := truncated(c.In[0])
	if err != nil {
		return err
	}
	depth, err := o.depth(c.In[1])
	if err != nil {
		return err
	}
	shape := c.In[0].Shape()
	axis, err := op.NormAxis(o.Axis, len(shape)+1)
	if err != nil {
		return err
	}
	out := c.Out[0]
	if err := wantShape(out, slices.Insert(shape.Clone(), axis, depth)); err != nil || out.Len() == 0 {
		return err
	}
	fillStrided(c.Pace(), out, c.In[2])
	inner, pace := shape[axis:].Len(), c.Pace()
	for i, x := range index {
		pace.Work(16)
		if x < 0 && o.FromEnd {
			x += depth
		}
		if x >= 0 && x < depth {
			kit.CopyElement(out, i/inner*inner*depth+x*inner+i%inner, c.In[2], 1)
		}
	}
	return nil
}

var pickRows = []op.Row{
	{Name: "Compress", Since: []int{9, 11}, In: [2]int{2, 2}, Out: [2]int{1, 1}, Selects: true, New: newCompress},
	{Name: "NonZero", Since: []int{9, 13}, In: [2]int{1, 1}, Out: [2]int{1, 1}, New: newNonZero},
	{Name: "OneHot", Since: []int{9, 11}, In: [2]int{3, 3}, Out: [2]int{1, 1}, Typed: 2, Heap: 8, Items: itemsOfOneHot, New: newOneHot},
}

// fillStrided writes the first element of value to every element of dst.
func fillStrided(pace *op.Pace, dst, value *tensor.Tensor) {
	kit.CopyStrided(pace, kit.Strided{Src: value, Dst: dst, Axes: []kit.StridedAxis{{N: dst.Len(), From: 0, To: 1}}})
}

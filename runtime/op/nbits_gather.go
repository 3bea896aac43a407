package op

import (
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// gatherQuantized takes slices of an axis by number from a tensor of codes, of
// which those of a block along another axis share a scale and a zero point. An
// index beyond the axis takes zeros.
type gatherQuantized struct {
	gather, axis, block int
	bits                int // of codes that lie in bytes
}

func newGatherQuantized(n *Node) (Op, error) {
	o := &gatherQuantized{gather: n.Int("gather_axis", 0), axis: n.Int("quantize_axis", 1), block: n.Int("block_size", 128), bits: n.Int("bits", 4)}
	if o.bits != 2 && o.bits != 4 && o.bits != 8 {
		return nil, graph.Mark(graph.ErrFormat, "bits is %d, not 2, 4 or 8", o.bits)
	}
	if o.block == 0 {
		return o, nil
	}
	return o, checkBlock(o.block)
}

// width is the bits of a code.
func (o *gatherQuantized) width(d tensor.DType) int {
	if d == tensor.U8 {
		return o.bits
	}
	return d.Bits()
}

// check reports types and axes that do not go together, as far as they are known.
func (o *gatherQuantized) check(d tensor.DType, rank int, zeros bool) (gather, axis int, err error) {
	if gather, err = normAxis(o.gather, rank); err != nil {
		return 0, 0, err
	}
	if axis, err = normAxis(o.axis, rank); err != nil {
		return 0, 0, err
	}
	switch {
	case d.IsFloat() && zeros:
		err = graph.Mark(graph.ErrFormat, "codes that are %v have no zero points", d)
	case !d.IsFloat() && o.block == 0:
		err = graph.Mark(graph.ErrFormat, "block_size is 0 for codes that are %v", d)
	case d == tensor.U8 && gather != 0:
		err = graph.Mark(graph.ErrFormat, "gather_axis is %d; for uint8 it must be 0", gather)
	case d == tensor.U8 && o.bits < 8 && gather == axis:
		err = graph.Mark(graph.ErrFormat, "gather_axis and quantize_axis are both %d for codes of %d bits in uint8", axis, o.bits)
	}
	return gather, axis, err
}

// Infer gives the output the data's shape with the indices' for the gathered axis.
func (o *gatherQuantized) Infer(c *Infer) error {
	data, index, scales := c.In[0], c.In[1], c.In[2]
	if !isIndex(index.DType) || !isNarrow(scales.DType) {
		return graph.Mark(graph.ErrShape, "indices are %v and scales %v; int32 or int64 and floats are needed", index.Type, scales.Type)
	}
	if c.Has(3) && c.In[3].DType != data.DType {
		return graph.Mark(graph.ErrShape, "zero points are %v and data %v", c.In[3].Type, data.Type)
	}
	c.Set(0, scales.DType, nil)
	rank, ok := data.Rank()
	if !ok {
		return nil
	}
	gather, _, err := o.check(data.DType, rank, c.Has(3))
	if err != nil || index.Dims == nil {
		return err
	}
	dims := slices.Clone(data.Dims)
	if per := data.DType.Bits() / o.width(data.DType); per > 1 {
		if dims[rank-1], err = product(dims[rank-1], graph.Known(per)); err != nil {
			return err
		}
	}
	c.Set(0, scales.DType, joinDims(dims[:gather], index.Dims, dims[gather+1:]))
	return nil
}

// codeStream is codes one after the other, rows of which begin with a byte.
type codeStream struct {
	b     []byte
	width int
	row   int // codes in a row with what fills its last byte; 0 for none
}

func (s *codeStream) at(row, col int) byte {
	bit := (row*s.row + col) * s.width
	return s.b[bit/8] >> (bit % 8) & byte(1<<s.width-1)
}

// unpack writes the values of codes from one on; table has one for each code.
func (s *codeStream) unpack(dst []float32, first int, table *[256]float32) {
	if s.width == 8 {
		for i, code := range s.b[first:][:len(dst)] {
			dst[i] = table[code]
		}
		return
	}
	per, mask := 8/s.width, byte(1<<s.width-1)
	for i := range dst {
		at := first + i
		dst[i] = table[s.b[at/per]>>(at%per*s.width)&mask]
	}
}

// codeValues are the numbers that codes of a type are.
func codeValues(d tensor.DType, width int) *[256]float32 {
	t := new([256]float32)
	f8 := packed.Float8Of(d.String())
	for code := range 1 << width {
		switch {
		case f8 != nil:
			t[code] = f8.Float32(byte(code))
		case d == tensor.F4E2M1:
			t[code] = packed.F4E2M1(code).Float32()
		case d == tensor.I4 && code >= 8:
			t[code] = float32(code - 16)
		default:
			t[code] = float32(code)
		}
	}
	return t
}

// blockScales finds the scales, and zero points, of rows of the last axis of data.
type blockScales struct {
	shape, steps []int // of data and, for each axis, of scales; 0 where one serves an axis
	axis, block  int
	scales       []float32
	zeros        *codeStream // nil for none
	values       *[256]float32
	middle       float32 // the zero point where there are none
	last         int     // scales in a row of theirs
}

// Run computes the output.
func (o *gatherQuantized) Run(c *Run) error {
	data := c.In[0]
	shape, width := data.Shape().Clone(), o.width(data.DType())
	gather, axis, err := o.check(data.DType(), len(shape), c.Has(3))
	if err != nil {
		return err
	}
	shape[len(shape)-1] *= data.DType().Bits() / width
	if err := wantShape(c.Out[0], slices.Concat(shape[:gather], c.In[1].Shape(), shape[gather+1:])); err != nil {
		return err
	}
	s, err := o.scales(c, shape, axis)
	if err != nil {
		return err
	}
	index, err := c.int64s(c.In[1].Len())
	if err != nil {
		return err
	}
	list, err := Ints(c.In[1])
	if err != nil {
		return err
	}
	for i, v := range list {
		if v < 0 {
			v += shape[gather]
		}
		if index[i] = int64(v); v < 0 || v >= shape[gather] {
			index[i] = -1
		}
	}
	out, err := c.floatsFor(c.Out[0])
	if err != nil || len(out) == 0 {
		return err
	}
	s.gather(&codeStream{b: data.Bytes(), width: width}, index, gather, out)
	c.putFloats(c.Out[0], out)
	return nil
}

// scales checks scales and zero points.
func (o *gatherQuantized) scales(c *Run, shape []int, axis int) (*blockScales, error) {
	d, t := c.In[0].DType(), c.In[2]
	s := &blockScales{shape: shape, axis: axis, block: o.block}
	if s.block == 0 {
		s.block = max(shape[axis], 1)
	}
	if len(t.Shape()) != len(shape) {
		return nil, graph.Mark(graph.ErrShape, "scales are %v for data of shape %v", t, shape)
	}
	s.steps = t.Shape().Strides()
	for i, n := range t.Shape() {
		want := shape[i]
		if i == axis {
			want = (want + s.block - 1) / s.block
		}
		if n == 1 && i != axis && d.IsFloat() {
			s.steps[i] = 0
		} else if n != want {
			return nil, graph.Mark(graph.ErrShape, "scales are %v for data of shape %v in blocks of %d along axis %d", t, shape, s.block, axis)
		}
	}
	s.values, s.last = codeValues(d, o.width(d)), t.Shape()[len(shape)-1]
	if d == tensor.U8 {
		s.middle = float32(int(1) << (o.bits - 1))
	}
	var err error
	if s.scales, err = c.floats(t); err != nil || !c.Has(3) {
		return s, err
	}
	zeros := c.In[3]
	s.zeros = &codeStream{b: zeros.Bytes(), width: o.width(d), row: s.last}
	want := t.Shape().Clone()
	if per := d.Bits() / o.width(d); per > 1 {
		want[len(want)-1] = (s.last + per - 1) / per
		s.zeros.row = want[len(want)-1] * per
	}
	if !zeros.Shape().Equal(want) {
		return nil, graph.Mark(graph.ErrShape, "zero points are %v; shape %v goes with the scales", zeros, want)
	}
	return s, nil
}

// gather writes the slices of an axis that the indices name, -1 for zeros.
func (s *blockScales) gather(codes *codeStream, index []int64, axis int, out []float32) {
	rank := len(s.shape)
	row := s.shape[rank-1] // elements that lie together in data and output
	if axis == rank-1 {
		row = 1
	}
	outer, rows := tensor.Shape(s.shape[:axis]).Len(), tensor.Shape(s.shape[axis+1:]).Len()/row
	at := 0
	for o := range outer {
		for _, i := range index {
			for r := range rows {
				dst := out[at : at+row]
				at += row
				if i < 0 {
					clear(dst)
					continue
				}
				first := ((o*s.shape[axis]+int(i))*rows + r) * row
				codes.unpack(dst, first, s.values)
				s.apply(dst, first)
			}
		}
	}
}

// apply turns values of codes, of which the first is that element of data, into what
// they stand for.
func (s *blockScales) apply(dst []float32, first int) {
	last := len(s.shape) - 1
	base, rest, col := 0, first/s.shape[last], first%s.shape[last]
	for a := last - 1; a >= 0; a-- {
		i := rest % s.shape[a]
		if rest /= s.shape[a]; a == s.axis {
			i /= s.block
		}
		base += i * s.steps[a]
	}
	for i := 0; i < len(dst); {
		n, at := 1, base+(col+i)*s.steps[last]
		switch {
		case s.axis == last:
			n, at = s.block-(col+i)%s.block, base+(col+i)/s.block*s.steps[last]
		case s.steps[last] == 0:
			n = len(dst)
		}
		scale, zero := s.scales[at], s.middle
		if s.zeros != nil {
			zero = s.values[s.zeros.at(at/s.last, at%s.last)]
		}
		for end := min(i+n, len(dst)); i < end; i++ {
			dst[i] = (dst[i] - zero) * scale
		}
	}
}

// blockCodes are the elements that codes of blocks are stored as.
var blockCodes = Types{tensor.U8, tensor.U4, tensor.I4, tensor.F8E4M3FN, tensor.F8E4M3FNUZ, tensor.F8E5M2, tensor.F8E5M2FNUZ, tensor.F4E2M1}

var gatherQuantizedRows = []Row{
	{Domain: microsoft, Name: "GatherBlockQuantized", Since: []int{1}, In: [2]int{3, 4}, Out: [2]int{1, 1}, Types: blockCodes, New: newGatherQuantized},
}

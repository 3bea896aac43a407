package quant

import (
	"slices"

	"github.com/nacre-ml/nacre/packed"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/ops/kit"
	"github.com/nacre-ml/nacre/runtime/op"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// GatherQuantized gathers slices along one axis of a tensor of codes and dequantises them. Blocks
// of codes along another axis share a scale and a zero point. An index out of range gives zeros.
type GatherQuantized struct {
	gather, axis, block int
	bits                int // of codes that are packed in bytes
}

func newGatherQuantized(n *op.Node) (op.Op, error) {
	o := &GatherQuantized{gather: n.Int("gather_axis", 0), axis: n.Int("quantize_axis", 1),
		block: n.Int("block_size", 128), bits: n.Int("bits", 4)}
	if o.bits != 2 && o.bits != 4 && o.bits != 8 {
		return nil, graph.Errorf(graph.ErrFormat, "bits is %d, not 2, 4 or 8", o.bits)
	}
	if o.block == 0 {
		return o, nil
	}
	return o, CheckBlock(o.block)
}

// width returns the bits of a code.
func (o *GatherQuantized) width(d tensor.DType) int {
	if d == tensor.U8 {
		return o.bits
	}
	return d.Bits()
}

// check returns both axes, normalised to the rank. It returns an error if types and axes do not go
// together.
func (o *GatherQuantized) check(d tensor.DType, rank int, zeros bool) (gather, axis int, err error) {
	if gather, err = op.NormAxis(o.gather, rank); err != nil {
		return 0, 0, err
	}
	if axis, err = op.NormAxis(o.axis, rank); err != nil {
		return 0, 0, err
	}
	switch {
	case d.IsFloat() && zeros:
		err = graph.Errorf(graph.ErrFormat, "codes that are %v have no zero points", d)
	case !d.IsFloat() && o.block == 0:
		err = graph.Errorf(graph.ErrFormat, "block_size is 0 for codes that are %v", d)
	case d == tensor.U8 && gather != 0:
		err = graph.Errorf(graph.ErrFormat, "gather_axis is %d; for uint8 it must be 0", gather)
	case d == tensor.U8 && o.bits < 8 && gather == axis:
		err = graph.Errorf(graph.ErrFormat, "gather_axis and quantize_axis are both %d for codes of %d bits in uint8", axis,
			o.bits)
	}
	return gather, axis, err
}

// Infer sets the data's extents with the gathered axis replaced by the extents of the indices.
func (o *GatherQuantized) Infer(c *op.Infer) error {
	data, index, scales := c.In[0], c.In[1], c.In[2]
	if !op.IsIndex(index.DType) || !kit.ComputedInF32.Has(scales.DType) {
		return graph.Errorf(graph.ErrShape, "indices are %v and scales %v; int32 or int64 and floats are needed",
			index.Type, scales.Type)
	}
	if c.Has(3) && c.In[3].DType != data.DType {
		return graph.Errorf(graph.ErrShape, "zero points are %v and data %v", c.In[3].Type, data.Type)
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
		if dims[rank-1], err = kit.MulDim(dims[rank-1], graph.Known(per)); err != nil {
			return err
		}
	}
	c.Set(0, scales.DType, kit.JoinDims(dims[:gather], index.Dims, dims[gather+1:]))
	return nil
}

// CodeBlocks describes a tensor of codes and finds the scale of each.
type CodeBlocks struct {
	Shape       tensor.Shape // of codes
	Bits        int          // of a code
	Gather      int          // the axis along which slices are taken
	Axis, Block int          // Block codes along Axis share a scale
	Steps       []int        // strides of scales; 0 where one scale serves an axis
	ScaleRow    int          // scales in a row
	ZeroRow     int          // zero points in a row, with padding to whole bytes
	Middle      float32      // the zero point if none are stored
	Values      [256]float32 // the value of each code
}

// Blocks checks the shapes of inputs for codes of type d and returns their description. zeros is
// nil if left out.
func (o *GatherQuantized) Blocks(d tensor.DType, data, scales, zeros tensor.Shape) (*CodeBlocks, error) {
	gather, axis, err := o.check(d, len(data), zeros != nil)
	if err != nil {
		return nil, err
	}
	s := &CodeBlocks{Shape: data.Clone(), Bits: o.width(d), Gather: gather, Axis: axis, Block: o.block}
	last, per := len(data)-1, d.Bits()/s.Bits
	s.Shape[last] *= per
	if s.Block == 0 {
		s.Block = max(s.Shape[axis], 1)
	}
	if err := s.stride(scales, d.IsFloat()); err != nil {
		return nil, err
	}
	s.Values, s.ScaleRow = codeValues(d, s.Bits), scales[last]
	if d == tensor.U8 {
		s.Middle = float32(int(1) << (o.bits - 1))
	}
	want := scales.Clone()
	want[last] = (s.ScaleRow + per - 1) / per
	s.ZeroRow = want[last] * per
	if zeros != nil && !zeros.Equal(want) {
		return nil, graph.Errorf(graph.ErrShape, "zero points have shape %v; %v goes with the scales", zeros, want)
	}
	return s, nil
}

// stride sets the strides of scales. If shared is set, one scale may serve an axis.
func (s *CodeBlocks) stride(scales tensor.Shape, shared bool) error {
	if len(scales) != len(s.Shape) {
		return graph.Errorf(graph.ErrShape, "scales have shape %v for data of shape %v", scales, s.Shape)
	}
	s.Steps = scales.Strides()
	for i, n := range scales {
		want := s.Shape[i]
		if i == s.Axis {
			want = (want + s.Block - 1) / s.Block
		}
		if n == 1 && i != s.Axis && shared {
			s.Steps[i] = 0
		} else if n != want {
			return graph.Errorf(graph.ErrShape, "scales have shape %v for data of shape %v in blocks of %d along axis %d",
				scales, s.Shape, s.Block, s.Axis)
		}
	}
	return nil
}

// codeValues returns the value of each code of type d with width bits.
func codeValues(d tensor.DType, width int) (t [256]float32) {
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

// blockCodes lists the element types that hold codes of blocks.
var blockCodes = op.Types{tensor.U8, tensor.U4, tensor.I4, tensor.F8E4M3FN, tensor.F8E4M3FNUZ, tensor.F8E5M2,
	tensor.F8E5M2FNUZ, tensor.F4E2M1}

var gatherQuantizedRows = []op.Row{
	{Domain: kit.Microsoft, Name: "GatherBlockQuantized", Since: []int{1}, In: [2]int{3, 4}, Out: [2]int{1, 1}, Types: blockCodes, New: newGatherQuantized},
}

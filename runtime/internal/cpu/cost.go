package cpu

import (
	"time"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/runtime/internal/device"
	"github.com/nacre-ml/nacre/runtime/internal/ops/nn"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Estimates in nanoseconds on one thread, for vectors as wide as a block. The time of a
// multiply-add is divided by the channels of a block. The estimates for NEON follow from counts of
// instructions: SDOT adds 16 products of codes and FMLA adds 4, the same ratio as on AVX-512.
const (
	planeCommand = 25.0  // a plane of a depthwise convolution
	plainTap     = 0.26  // a multiply-add, columns filled up to whole vectors
	plainRead    = 0.13  // an element copied to a band
	plainWrite   = 0.065 // an element of a result

	blockedRowCommand = 16.0 // a row of a window in blocks
	blockedTap        = 0.23 // an element under a window
	blockedRead       = 0.08
	blockedWrite      = 0.045

	gemmMultiply  = 0.23 // a multiply-add of a product of plain values, columns filled up to gemmColumns
	gemmTap       = 0.12 // an element of the matrix of windows
	gemmColumns   = 32
	denseMultiply = 0.185 // a multiply-add, filters filled up to whole blocks
	denseTile     = 15.0  // a tile of a few pixels by two blocks
	denseStep     = 1.0   // a step over fewer channels of such a tile than a block has
	densePixels   = 14
	denseCopy     = 0.1 // an element of a blocked value copied among zeros or beside others
	denseBy2      = 0.6 // time of products with transforms of 2x2 tiles, relative to without
	denseBy4      = 0.4 // the same with 4x4 tiles

	poolRow = 33.0 // a row of plain pooling
	poolTap = 0.1  // a row or a column under a window, by element of the result
	poolOut = 0.3  // an element of the result

	globalPlane   = 14.0 // a plane of plain global pooling
	globalElement = 0.1

	eltwiseElement = 0.1
	channelPlane   = 14.0 // a plane, or block of planes, combined with one number per channel

	byteGemm     = 0.1   // a multiply-add of a product of plain codes, columns filled up to gemmColumns
	byteGather   = 0.06  // an element of the matrix of windows
	byteMultiply = 0.048 // a multiply-add of codes in blocks, filters filled up to whole blocks
	byteTile     = 60.0  // a tile of a few pixels by two blocks
	byteBy2      = 0.6   // time of products with transforms of 2x2 tiles, relative to without
	byteBy2Block = 8     // the block, in channels, for which codes are transformed
	byteWindow   = 0.4   // time of windows over blocked codes, relative to floats
	byteElement  = 0.04  // an element of codes

	reorderCommand = 500.0
	reorderElement = 0.33

	anyMultiply = 0.2  // a multiply-add of a node of any kind
	anyByte     = 0.25 // a byte of its operands
)

// Estimate returns the time of a node of which only the multiply-adds and the bytes of operands are
// known.
func (d *Device) Estimate(work, bytes int) time.Duration {
	return time.Duration(anyMultiply*float64(work) + anyByte*float64(bytes))
}

// blockedLevels are the levels with vectors of their own, widest first. For each: the channels of a
// block, and the levels needed to multiply codes of 8 bits in such blocks, none if only scalar code
// does.
var blockedLevels = []struct {
	name  string
	block int
	codes string
}{{"avx512", 16, "avx512,avx512vnni"}, {"avx2", 8, "avx2"}, {"neon", 4, "neon"}, {"simd128", 4, ""}}

// blockedLayout returns the layout of blocked values, whether the estimates hold for the levels,
// and whether codes of 8 bits may be blocked. If the estimates do not hold, values are blocked only
// on request. Codes may not be blocked if only scalar code would multiply them.
func blockedLayout(isa bindings.ISA) (l device.Layout, estimated, codes bool) {
	for _, level := range blockedLevels {
		if mask, err := bindings.ParseISA(level.name); err == nil && isa&mask != 0 {
			all, _ := bindings.ParseISA(level.codes)
			return device.Blocked(level.block), true, all != 0 && all&^isa == 0
		}
	}
	return device.Blocked(8), false, true
}

// window holds the extents that the time of a depthwise convolution or of pooling depends on:
// planes, elements of a plane of the input, rows and columns of a plane of the result, and elements
// under a window.
type window struct {
	planes, in, rows, columns, taps int
}

// windowOf returns the window over spatial extents.
func windowOf(planes int, in, out tensor.Shape, taps int) window {
	last := len(out) - 1
	return window{planes, in.Len(), out[:last].Len(), out[last], taps}
}

// depthwiseCost returns the time of a depthwise convolution of plain values.
func (w window) depthwiseCost(l device.Layout) float64 {
	out := float64(w.rows * ((w.columns + l.Block() - 1) / l.Block() * l.Block()))
	each := planeCommand + plainTap/float64(l.Block())*out*float64(w.taps) + plainRead*float64(w.in) + plainWrite*out
	return float64(w.planes) * each
}

// gemmConvCost returns the time of a convolution of plain values as products of matrices.
func gemmConvCost(s *nn.ConvShape, l device.Layout) float64 {
	taps, pixels := tensor.Shape(s.Kernel).Len(), tensor.Shape(s.Out).Len()
	columns := (pixels + gemmColumns - 1) / gemmColumns * gemmColumns
	depth := float64(s.Channels * taps)
	each := gemmMultiply/float64(l.Block())*depth*float64(s.Filters*columns) + plainWrite*float64(s.Filters*pixels)
	if taps > 1 {
		each += gemmTap * depth * float64(pixels)
	}
	return float64(s.Images*s.Groups) * each
}

// denseCost returns the time of the same convolution with a blocked result.
func denseCost(s *nn.ConvShape, l device.Layout) float64 {
	block, plain := l.Block(), readsPlain(s, l)
	pixels := tilePixels(s, !plain && singlePixels(s))
	filters := (s.Filters + block - 1) / block * block
	if s.Groups > 1 {
		filters = s.Filters + block - divisor(block, s.Filters) // of the blocks of a group, on average
	}
	depth := float64(s.Channels * tensor.Shape(s.Kernel).Len())
	tiles := float64((pixels+densePixels-1)/densePixels) * float64((filters+2*block-1)/(2*block))
	multiply := denseMultiply / float64(block)
	switch winogradTile(s, block) {
	case 4:
		multiply *= denseBy4
	case 2:
		multiply *= denseBy2
	}
	each := multiply*depth*float64(filters*pixels) + denseTile*tiles + blockedWrite*float64(filters*pixels)
	if common := divisor(block, s.Channels); common < block && !plain && (s.Groups > 1 || len(s.In) == 3) {
		each += denseStep * tiles * depth / float64(common)
	}
	return float64(s.Images*s.Groups) * (each + denseCopy*float64(copiedElements(s, l, plain)))
}

// copiedElements returns how many elements of a group are copied: among zeros, or side by side if
// the result reads pixels that are a stride apart.
func copiedElements(s *nn.ConvShape, l device.Layout, plain bool) int {
	channels, pixels := s.Channels, tensor.Shape(s.In).Len()
	if s.Groups == 1 && !plain {
		channels = (channels + l.Block() - 1) / l.Block() * l.Block()
	}
	last := max(0, len(s.In)-2)
	switch {
	case plain || meetsPadding(s, last):
	case tensor.Shape(s.Stride[last:]).Len() == 1:
		return 0
	case singlePixels(s):
		pixels = tensor.Shape(s.Out).Len()
	}
	return channels * pixels
}

// tilePixels returns the pixels of a result with its rows filled up to an even number, 4 or more.
// Flat slices count as one row.
func tilePixels(s *nn.ConvShape, flat bool) int {
	row := len(s.Out) - 1
	if flat {
		row = max(0, row-1)
	}
	n := tensor.Shape(s.Out[row:]).Len()
	return tensor.Shape(s.Out[:row]).Len() * max(4, n+n%2)
}

// singlePixels reports whether every pixel of the result reads one pixel of the value.
func singlePixels(s *nn.ConvShape) bool {
	return tensor.Shape(s.Kernel).Len() == 1 && !meetsPadding(s, 0)
}

// meetsPadding reports whether windows reach padding along an axis from d on.
func meetsPadding(s *nn.ConvShape, d int) bool {
	for ; d < len(s.In); d++ {
		if s.Pad[d] > 0 || (s.Out[d]-1)*s.Stride[d]+(s.Kernel[d]-1)*s.Dilation[d]+1 > s.In[d] {
			return true
		}
	}
	return false
}

// divisor returns the greatest common divisor.
func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// poolCost returns the time of pooling of plain values.
func (w window) poolCost(lines int) float64 {
	return float64(w.planes*w.rows) * (poolRow + float64(w.columns)*(poolOut+poolTap*float64(lines)))
}

// blockedCost returns the time of a depthwise convolution or of pooling, with blocks as planes.
func (w window) blockedCost(l device.Layout) float64 {
	block := float64(l.Block())
	out := float64(w.rows * w.columns)
	each := blockedRowCommand*float64(w.rows) + blockedTap*out*float64(w.taps) + block*(blockedRead*float64(w.in)+blockedWrite*out)
	return float64(w.planes) * each
}

package bindings

// PoolingAxes is the most axes that a Pooling may have.
const PoolingAxes = 8

// PoolingAxis is one axis of a sliding window: extents of input and output, the
// window's taps, and the padding before and behind the input.
type PoolingAxis struct {
	In, Out, Taps, Stride, Dilation, Pad, PadEnd int
}

// Pooling is the maximum or the average over windows that slide along the last
// axes of a value [planes, in...]. Taps in the padding take no part; they count
// in averages if CountPad.
type Pooling struct {
	Planes   int
	Axes     []PoolingAxis // 1 to PoolingAxes, of extents above 0
	Max      bool
	CountPad bool
}

// BytePoolingTaps is how many taps a window of BytePooling has at most in an
// average.
const BytePoolingTaps = 1 << 23

// BytePooling is a Pooling of codes, of which there are Inner at every position:
// value [planes, in..., inner], result [planes, out..., inner]. A mean is
// saturate(round(mean of (x-XZero) * Ratio + Before) + After), halves to even, where
// taps in the padding are 0.
type BytePooling struct {
	Pooling
	Inner         int // above 0
	Signed        bool
	XZero         int32
	Ratio         float32
	Before, After int32
}

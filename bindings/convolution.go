package bindings

// ConvAxes is the most spatial axes that convolutions take.
const ConvAxes = 8

// ConvShape is the extents of a convolution, or of a transposed one, from values
// [Images, Groups*Channels, In...] to [Images, Groups*Filters, Out...]. Lists
// have one number per spatial axis, of which there are 1 to ConvAxes. Pad is the
// padding before the value; what is behind it follows from Out.
type ConvShape struct {
	Images, Groups, Channels, Filters      int
	In, Out, Kernel, Stride, Dilation, Pad []int
}

// Conv is a convolution of floats, with sums in float32, by products of matrices
// or, for groups of one channel, by taps. The zero kernels are taken for ways that
// are not used.
type Conv struct {
	ConvShape
	Type    FloatType // of values and weights
	Gemm    Kernel    // of op f32_gemm
	Columns Kernel    // of op f32_im2col
	Taps    Kernel    // of op f32_taps
	Packed  bool      // the weights are what Pack wrote
	Finish
}

// ConvTranspose is a transposed convolution of float32.
type ConvTranspose struct {
	ConvShape
	Gemm   Kernel // of op f32_gemm
	Packed bool   // the weights are what Pack wrote
}

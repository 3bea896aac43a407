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

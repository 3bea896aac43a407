package topologies

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// Vocoder returns the generator V2 of Kong et al., "HiFi-GAN" (2020): 64 frames of a spectrum
// become 16384 samples by convolutions along one axis.
func Vocoder() *graph.Model {
	b := newBuilder("vocoder")
	leaky := func(x string) string { return b.node("LeakyRelu", []*graph.Attr{float("alpha", 0.1)}, x) }
	x := b.conv1(b.input("x", tensor.F32, 1, 80, 64), 80, 128, 7, 1, 3)
	in := 128
	for _, rate := range []int{8, 8, 2, 2} {
		x = b.stretch(leaky(x), in, in/2, rate)
		in /= 2
		var sum string
		for _, kernel := range []int{3, 7, 11} {
			y := x
			for _, dilation := range []int{1, 3, 5} {
				z := b.dilated(leaky(y), in, kernel, dilation)
				y = b.node("Add", nil, b.dilated(leaky(z), in, kernel, 1), y)
			}
			if sum != "" {
				y = b.node("Add", nil, sum, y)
			}
			sum = y
		}
		x = b.node("Div", nil, sum, b.scalar(3))
	}
	b.output(b.node("Tanh", nil, b.conv1(leaky(x), in, 1, 7, 1, 3)), 1, 1, 64*256)
	return b.model()
}

// stretch makes the last axis rate times as long.
func (b *builder) stretch(x string, in, out, rate int) string {
	s, p := int64(rate), int64(rate/2)
	return b.node("ConvTranspose", []*graph.Attr{ints("kernel_shape", 2*s), ints("strides", s), ints("pads", p, p)},
		x, b.weight(2*in, in, out, 2*rate), b.weight(100, out))
}

// dilated returns a convolution along one axis that keeps extents.
func (b *builder) dilated(x string, n, kernel, dilation int) string {
	k, d := int64(kernel), int64(dilation)
	p := d * (k - 1) / 2
	return b.node("Conv", []*graph.Attr{ints("kernel_shape", k), ints("dilations", d), ints("pads", p, p)},
		x, b.weight(n*kernel, n, n, kernel), b.weight(100, n))
}

package topologies

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// sight lists networks that read pictures, beside the ones of topology.go and topology_mobile.go.
func sight() []Topology {
	return []Topology{
		{Name: "efficientnet_b0", Build: EfficientNetB0},
		{Name: "yolo_320", Build: YOLO},
		{Name: "unet_128", Build: UNet},
		{Name: "vgg", Build: VGG},
		{Name: "densenet121", Build: DenseNet},
		{Name: "resnet18_int8", Build: ResNet18QDQ, Share: 0.02},
		{Name: "mobilenetv2_int8", Build: MobileNetV2QDQ, Share: 0.02},
		{Name: "regnet_int8", Build: RegNetQDQ, Share: 0.02},
		{Name: "vit_tiny", Build: ViT},
		{Name: "detr_320", Build: DETR},
		{Name: "swin_tiny", Build: Swin},
	}
}

// nodes adds a node of several outputs and returns their names.
func (b *builder) nodes(op string, outputs int, attrs []*graph.Attr, inputs ...string) []string {
	b.node(op, attrs, inputs...)
	n := b.g.Nodes[len(b.g.Nodes)-1]
	for len(n.Outputs) < outputs {
		n.Outputs = append(n.Outputs, b.name(op))
	}
	return n.Outputs
}

// silu returns x times its logistic function.
func (b *builder) silu(x string) string { return b.node("Mul", nil, x, b.node("Sigmoid", nil, x)) }

// concat joins values along the axis of channels.
func (b *builder) concat(parts ...string) string {
	return b.node("Concat", []*graph.Attr{integer("axis", 1)}, parts...)
}

// pool returns the largest values of squares with side kernel. With stride 1, pad keeps extents.
func (b *builder) pool(x string, kernel, stride, pad int64) string {
	return b.node("MaxPool", []*graph.Attr{
		ints("kernel_shape", kernel, kernel), ints("strides", stride, stride), ints("pads", pad, pad, pad, pad),
	}, x)
}

// EfficientNetB0 returns the smallest network of Tan and Le, "EfficientNet" (2019), with batch
// normalisation folded in.
func EfficientNetB0() *graph.Model {
	b := newBuilder("efficientnet_b0")
	squeeze := func(x string, n, less int) string {
		s := b.silu(b.conv(b.node("GlobalAveragePool", nil, x), n, less, 1, 1, 1))
		return b.node("Mul", nil, x, b.node("Sigmoid", nil, b.conv(s, less, n, 1, 1, 1)))
	}
	x := b.input("x", tensor.F32, 1, 3, 224, 224)
	x = b.silu(b.conv(x, 3, 32, 3, 2, 1))
	in := 32
	for _, row := range []struct{ expand, out, blocks, stride, kernel int }{
		{1, 16, 1, 1, 3}, {6, 24, 2, 2, 3}, {6, 40, 2, 2, 5}, {6, 80, 3, 2, 3}, {6, 112, 3, 1, 5}, {6, 192, 4, 2, 5}, {6, 320, 1, 1, 3},
	} {
		for block := range row.blocks {
			stride := 1
			if block == 0 {
				stride = row.stride
			}
			y, hidden := x, in*row.expand
			if row.expand != 1 {
				y = b.silu(b.conv(y, in, hidden, 1, 1, 1))
			}
			y = squeeze(b.silu(b.conv(y, hidden, hidden, row.kernel, stride, hidden)), hidden, in/4)
			y = b.conv(y, hidden, row.out, 1, 1, 1)
			if stride == 1 && in == row.out {
				y = b.node("Add", nil, x, y)
			}
			x, in = y, row.out
		}
	}
	b.classifier(b.silu(b.conv(x, in, 1280, 1, 1, 1)), 1280)
	return b.model()
}

// UNet returns the network of Ronneberger et al., "U-Net" (2015), on a picture of 128 x 128, with
// 32 channels at its widest extent and padded convolutions.
func UNet() *graph.Model {
	b := newBuilder("unet")
	twice := func(x string, in, out int) string {
		x = b.node("Relu", nil, b.conv(x, in, out, 3, 1, 1))
		return b.node("Relu", nil, b.conv(x, out, out, 3, 1, 1))
	}
	const levels = 4
	x, in := b.input("x", tensor.F32, 1, 3, 128, 128), 3
	var skips []string
	for level := range levels {
		out := 32 << level
		if level > 0 {
			skips = append(skips, x)
			x = b.pool(x, 2, 2, 0)
		}
		x, in = twice(x, in, out), out
	}
	for level := levels - 2; level >= 0; level-- {
		out := 32 << level
		up := b.node("ConvTranspose", []*graph.Attr{ints("kernel_shape", 2, 2), ints("strides", 2, 2)}, x,
			b.weight(in, in, out, 2, 2), b.weight(100, out))
		x, in = twice(b.concat(skips[level], up), 2*out, out), out
	}
	b.output(b.node("Sigmoid", nil, b.conv(x, in, 1, 1, 1, 1)), 1, 1, 128, 128)
	return b.model()
}

// VGG returns the convolutions of network A of Simonyan and Zisserman, "Very Deep Convolutional
// Networks" (2014), with global pooling in place of the wide dense layers.
func VGG() *graph.Model {
	b := newBuilder("vgg")
	x, in := b.input("x", tensor.F32, 1, 3, 224, 224), 3
	for _, stage := range [][]int{{64}, {128}, {256, 256}, {512, 512}, {512, 512}} {
		for _, out := range stage {
			x, in = b.node("Relu", nil, b.conv(x, in, out, 3, 1, 1)), out
		}
		x = b.pool(x, 2, 2, 0)
	}
	b.classifier(x, in)
	return b.model()
}

// DenseNet returns the network of 121 layers of Huang et al., "Densely Connected Convolutional
// Networks" (2016), with its batch normalisation before convolutions.
func DenseNet() *graph.Model {
	b := newBuilder("densenet")
	const growth = 32
	active := func(x string, n int) string {
		ones := tensor.New(tensor.F32, n)
		for i := range n {
			tensor.View[float32](ones)[i] = 1
		}
		x = b.node("BatchNormalization", nil, x, b.weight(1, n), b.weight(100, n), b.weight(100, n), b.constant(ones))
		return b.node("Relu", nil, x)
	}
	x := b.input("x", tensor.F32, 1, 3, 224, 224)
	x = b.pool(b.node("Relu", nil, b.conv(x, 3, 64, 7, 2, 1)), 3, 2, 1)
	in := 64
	for stage, layers := range []int{6, 12, 24, 16} {
		if stage > 0 {
			x = b.conv(active(x, in), in, in/2, 1, 1, 1)
			x = b.node("AveragePool", []*graph.Attr{ints("kernel_shape", 2, 2), ints("strides", 2, 2)}, x)
			in /= 2
		}
		for range layers {
			y := b.conv(active(x, in), in, 4*growth, 1, 1, 1)
			x = b.concat(x, b.conv(active(y, 4*growth), 4*growth, growth, 3, 1, 1))
			in += growth
		}
	}
	b.classifier(active(x, in), in)
	return b.model()
}

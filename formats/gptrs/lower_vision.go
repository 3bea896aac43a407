package gptrs

import (
	"fmt"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// picture adds the input of a vision network.
func (l *lowerer) picture() string {
	x := l.b.Input("image", graph.TensorOf(tensor.F32, dims("batch", "3", "height", "width")))
	return l.traced(x, "input.nhwc")
}

// traced adds a copy of x with channels last, under the name of its trace, and returns x.
func (l *lowerer) traced(x, name string) string {
	l.b.Name(l.b.Op("Transpose", []string{x}, graph.IntsAttr("perm", 0, 2, 3, 1)), name)
	return x
}

// conv adds a convolution. Its padding keeps the extents, divided by the stride.
func (l *lowerer) conv(x, weight, trace string, stride, groups int64) string {
	pad := int64(l.shape(weight + ".weight")[2] / 2)
	y := l.b.Op("Conv", []string{x, l.weight(weight + ".weight"), l.weight(weight + ".bias")},
		graph.IntsAttr("strides", stride, stride), graph.IntsAttr("pads", pad, pad, pad, pad), graph.IntAttr("group", groups))
	return l.traced(y, trace)
}

// add adds y to x.
func (l *lowerer) add(x, y, trace string) string {
	return l.traced(l.b.Op("Add", []string{x, y}), trace)
}

// classes adds the mean over the picture and the classifier. Its matrix is [out,in] if outFirst is
// set, else [in,out].
func (l *lowerer) classes(x, name string, outFirst bool) {
	y := l.traced(l.b.Op("GlobalAveragePool", []string{x}), "avgpool")
	y = l.b.Name(l.b.Op("Flatten", []string{y}, graph.IntAttr("axis", 1)), "flatten")
	flag := int64(0)
	if outFirst {
		flag = 1
	}
	y = l.b.Op("Gemm", []string{y, l.weight(name + ".weight"), l.weight(name + ".bias")}, graph.IntAttr("transB", flag))
	l.b.Output(y, "logits", graph.TensorOf(tensor.F32, dims("batch", fmt.Sprint(l.shape(name + ".bias")[0]))))
}

// resnet34 makes the nodes of ResNet-34.
func (l *lowerer) resnet34() {
	relu := func(x, trace string) string { return l.traced(l.b.Op("Relu", []string{x}), trace) }
	x := relu(l.conv(l.picture(), "conv1", "stem.conv1", 2, 1), "stem.relu")
	x = l.traced(l.b.Op("MaxPool", []string{x}, graph.IntsAttr("kernel_shape", 3, 3),
		graph.IntsAttr("strides", 2, 2), graph.IntsAttr("pads", 1, 1, 1, 1)), "stem.maxpool")
	for stage, blocks := range resnetBlocks {
		for block := range blocks {
			p := fmt.Sprintf("layer%d.%d.", stage+1, block)
			stride, skip := int64(1), x
			if stage > 0 && block == 0 {
				stride = 2
				skip = l.conv(x, p+"downsample", p+"downsample", stride, 1)
			}
			y := relu(l.conv(x, p+"conv1", p+"conv1", stride, 1), p+"relu1")
			y = l.conv(y, p+"conv2", p+"conv2", 1, 1)
			x = relu(l.add(y, skip, p+"add"), p+"relu2")
		}
	}
	l.classes(x, "fc", l.shape("fc.weight")[0] == l.shape("fc.bias")[0])
}

// mobilenetV2 makes the nodes of MobileNet V2.
func (l *lowerer) mobilenetV2() {
	relu6 := func(x, trace string) string {
		return l.traced(l.b.Op("Clip", []string{x, l.b.Float(0), l.b.Float(6)}), trace)
	}
	x := relu6(l.conv(l.picture(), "stem", "stem.conv", 2, 1), "stem.relu6")
	i := 0
	for _, g := range mobileGroups {
		for n := range g.blocks {
			p := fmt.Sprintf("blocks.%d.", i)
			stride, y := int64(1), x
			if n == 0 {
				stride = g.stride
			}
			if i > 0 {
				y = relu6(l.conv(y, p+"expand", p+"expand", 1, 1), p+"expand.relu6")
			}
			y = relu6(l.conv(y, p+"depthwise", p+"depthwise", stride, int64(l.shape(p + "depthwise.weight")[0])), p+"depthwise.relu6")
			y = l.conv(y, p+"project", p+"project", 1, 1)
			if n > 0 {
				y = l.add(x, y, p+"add")
			}
			x = y
			i++
		}
	}
	x = relu6(l.conv(x, "head", "head.conv", 1, 1), "head.relu6")
	l.classes(x, "classifier", true)
}

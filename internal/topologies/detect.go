package topologies

import (
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// YOLO returns a detector with the structure of YOLOv8, of its smallest size, for a picture of 320
// x 320: boxes as distributions of 16 and 80 classes at 2100 places.
func YOLO() *graph.Model {
	y := &yolo{newBuilder("yolo")}
	x := y.input("x", tensor.F32, 1, 3, 320, 320)
	x = y.step(x, 3, 16, 3, 2)
	x = y.block(y.step(x, 16, 32, 3, 2), 32, 32, 1, true)
	at40 := y.block(y.step(x, 32, 64, 3, 2), 64, 64, 2, true)
	at20 := y.block(y.step(at40, 64, 128, 3, 2), 128, 128, 2, true)
	at10 := y.pyramid(y.block(y.step(at20, 128, 256, 3, 2), 256, 256, 1, true), 256)
	up20 := y.block(y.concat(y.larger(at10), at20), 384, 128, 1, false)
	up40 := y.block(y.concat(y.larger(up20), at40), 192, 64, 1, false)
	down20 := y.block(y.concat(y.step(up40, 64, 64, 3, 2), up20), 192, 128, 1, false)
	down10 := y.block(y.concat(y.step(down20, 128, 128, 3, 2), at10), 384, 256, 1, false)
	y.detect([]string{up40, down20, down10}, []int{64, 128, 256}, 2100)
	return y.model()
}

type yolo struct{ *builder }

// step is a convolution and its activation.
func (y *yolo) step(x string, in, out, kernel, stride int) string {
	return y.silu(y.conv(x, in, out, kernel, stride, 1))
}

// block splits the channels, passes one half through residual pairs of convolutions, and joins all
// their results.
func (y *yolo) block(x string, in, out, pairs int, residual bool) string {
	half := out / 2
	parts := y.nodes("Split", 2, []*graph.Attr{integer("axis", 1)}, y.step(x, in, out, 1, 1),
		y.ints(int64(half), int64(half)))
	parts = append([]string{}, parts...)
	for range pairs {
		last := parts[len(parts)-1]
		next := y.step(y.step(last, half, half, 3, 1), half, half, 3, 1)
		if residual {
			next = y.node("Add", nil, last, next)
		}
		parts = append(parts, next)
	}
	return y.step(y.concat(parts...), (2+pairs)*half, out, 1, 1)
}

// pyramid joins three poolings, one after the other.
func (y *yolo) pyramid(x string, n int) string {
	parts := []string{y.step(x, n, n/2, 1, 1)}
	for range 3 {
		parts = append(parts, y.pool(parts[len(parts)-1], 5, 1, 2))
	}
	return y.step(y.concat(parts...), 2*n, n, 1, 1)
}

// larger doubles the extents.
func (y *yolo) larger(x string) string {
	scales, err := tensor.From([]float32{1, 1, 2, 2}, 4)
	if err != nil {
		panic(err)
	}
	mode := []*graph.Attr{
		graph.StringAttr("mode", "nearest"), graph.StringAttr("coordinate_transformation_mode", "asymmetric"),
		graph.StringAttr("nearest_mode", "floor"),
	}
	return y.node("Resize", mode, x, "", y.constant(scales))
}

// detect adds the outputs for features of three extents.
func (y *yolo) detect(features []string, widths []int, places int64) {
	const bins, classes = 16, 80
	var boxes, scores []string
	for i, x := range features {
		n := widths[i]
		box := y.step(y.step(x, n, 4*bins, 3, 1), 4*bins, 4*bins, 3, 1)
		boxes = append(boxes, y.node("Reshape", nil, y.conv(box, 4*bins, 4*bins, 1, 1, 1), y.ints(1, 4*bins, -1)))
		score := y.step(y.step(x, n, classes, 3, 1), classes, classes, 3, 1)
		scores = append(scores, y.node("Reshape", nil, y.conv(score, classes, classes, 1, 1, 1), y.ints(1, classes, -1)))
	}
	axis := []*graph.Attr{integer("axis", 2)}
	box := y.node("Reshape", nil, y.node("Concat", axis, boxes...), y.ints(1, 4, bins, places))
	box = y.node("Transpose", []*graph.Attr{ints("perm", 0, 2, 1, 3)}, box)
	box = y.conv(y.node("Softmax", []*graph.Attr{integer("axis", 1)}, box), bins, 1, 1, 1, 1)
	box = y.node("Reshape", nil, box, y.ints(1, 4, places))
	score := y.node("Sigmoid", nil, y.node("Concat", axis, scores...))
	y.output(y.concat(box, score), 1, 4+classes, int(places))
}

// DETR returns a detection transformer like the one of Carion et al., "End-to-End Object Detection
// with Transformers" (2020), on features that ResNet-18 finds in a picture of 320 x 320: six layers
// of 256 channels on either side, and 100 queries.
func DETR() *graph.Model {
	b := newBuilder("detr")
	const width, heads, layers, places, queries, classes = 256, 8, 6, 100, 100, 92
	relu := func(x string) string { return b.node("Relu", nil, x) }
	x := residual{
		conv: func(x string, in, out, kernel, stride int, active bool) string {
			x = b.conv(x, in, out, kernel, stride, 1)
			if active {
				x = relu(x)
			}
			return x
		},
		add:  func(x, y string) string { return relu(b.node("Add", nil, x, y)) },
		pool: func(x string) string { return b.pool(x, 3, 2, 1) },
	}.resnet18(b.input("x", tensor.F32, 1, 3, 320, 320))
	x = b.node("Reshape", nil, b.conv(x, 512, width, 1, 1, 1), b.ints(1, width, places))
	x = b.node("Transpose", []*graph.Attr{ints("perm", 0, 2, 1)}, x)
	x = b.node("Add", nil, x, b.weight(1, 1, places, width))
	t := &transformer{builder: b, width: width, heads: heads, act: relu, hidden: 2048}
	for range layers {
		x = t.layer(x, "", places, 0, "")
	}
	memory := t.norm(x)
	q := b.weight(1, 1, queries, width)
	for range layers {
		q = t.layer(q, memory, queries, places, "")
	}
	q = t.norm(q)
	b.output(b.node("Softmax", []*graph.Attr{integer("axis", -1)}, t.dense(q, width, classes)), 1, queries, classes)
	box := relu(t.dense(relu(t.dense(q, width, width)), width, width))
	b.output(b.node("Sigmoid", nil, t.dense(box, width, 4)), 1, queries, 4)
	return b.model()
}

package topologies

import (
	"math"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

const (
	swinWindow = 7
	swinHead   = 32
)

// Swin returns the tiny network of Liu et al., "Swin Transformer" (2021): attention within windows,
// shifted in every second layer.
func Swin() *graph.Model {
	b := newBuilder("swin")
	side, width := 56, 96
	x := b.input("x", tensor.F32, 1, 3, 224, 224)
	x = b.node("Conv", []*graph.Attr{ints("kernel_shape", 4, 4), ints("strides", 4, 4)}, x, b.weight(48, width, 3, 4, 4),
		b.weight(100, width))
	x = b.permute(b.reshape(x, 1, width, side*side), 0, 2, 1)
	x = b.layerNorm(x, width)
	for stage, layers := range []int{2, 2, 6, 2} {
		if stage > 0 {
			x = b.merged(x, side, width)
			side, width = side/2, 2*width
		}
		s := &swin{transformer: transformer{builder: b, width: width, heads: width / swinHead, hidden: 4 * width,
			act: b.gelu}, side: side}
		for layer := range layers {
			x = s.layer(x, layer%2 == 1 && side > swinWindow)
		}
	}
	x = b.node("ReduceMean", []*graph.Attr{ints("axes", 1), integer("keepdims", 0)}, b.layerNorm(x, width))
	x = b.node("Gemm", []*graph.Attr{integer("transB", 1)}, x, b.weight(width, 1000, width), b.weight(100, 1000))
	b.output(b.node("Softmax", []*graph.Attr{integer("axis", -1)}, x), 1, 1000)
	return b.model()
}

func (b *builder) reshape(x string, shape ...int) string {
	v := make([]int64, len(shape))
	for i, n := range shape {
		v[i] = int64(n)
	}
	return b.node("Reshape", nil, x, b.ints(v...))
}

func (b *builder) permute(x string, axes ...int64) string {
	return b.node("Transpose", []*graph.Attr{ints("perm", axes...)}, x)
}

// merged joins the channels of squares of four pixels and then halves them.
func (b *builder) merged(x string, side, width int) string {
	x = b.reshape(x, 1, side, side, width)
	var parts []string
	for i := range int64(4) {
		end, axes, steps := b.ints(math.MaxInt64, math.MaxInt64), b.ints(1, 2), b.ints(2, 2)
		parts = append(parts, b.node("Slice", nil, x, b.ints(i%2, i/2), end, axes, steps))
	}
	x = b.node("Concat", []*graph.Attr{integer("axis", -1)}, parts...)
	x = b.layerNorm(b.reshape(x, 1, side*side/4, 4*width), 4*width)
	return b.node("MatMul", nil, x, b.weight(4*width, 4*width, 2*width))
}

// swin adds layers on pictures of one extent.
type swin struct {
	transformer
	side int
}

func (s *swin) layer(x string, shifted bool) string {
	const window = swinWindow
	y, across := s.reshape(s.norm(x), 1, s.side, s.side, s.width), s.side/window
	if shifted {
		y = s.rolled(y, window/2)
	}
	y = s.permute(s.reshape(y, 1, across, window, across, window, s.width), 0, 1, 3, 2, 4, 5)
	y = s.attention(s.reshape(y, across*across, window*window, s.width), shifted)
	y = s.permute(s.reshape(y, 1, across, across, window, window, s.width), 0, 1, 3, 2, 4, 5)
	y = s.reshape(y, 1, s.side, s.side, s.width)
	if shifted {
		y = s.rolled(y, -(window / 2))
	}
	x = s.node("Add", nil, x, s.reshape(y, 1, s.side*s.side, s.width))
	return s.node("Add", nil, x, s.dense(s.act(s.dense(s.norm(x), s.width, s.hidden)), s.hidden, s.width))
}

// rolled moves rows and columns up and left. The ones that leave go to the other end.
func (s *swin) rolled(x string, by int) string {
	for axis := range int64(2) {
		at, axes := s.ints(int64(by)), s.ints(axis+1)
		x = s.node("Concat", []*graph.Attr{integer("axis", axis+1)},
			s.node("Slice", nil, x, at, s.ints(math.MaxInt64), axes), s.node("Slice", nil, x, s.ints(0), at, axes))
	}
	return x
}

// attention lets the pixels of each window attend to each other.
func (s *swin) attention(x string, shifted bool) string {
	const rows = swinWindow * swinWindow
	n := (s.side / swinWindow) * (s.side / swinWindow)
	x = s.permute(s.reshape(s.dense(x, s.width, 3*s.width), n, rows, 3, s.heads, swinHead), 2, 0, 3, 1, 4)
	var parts [3]string
	for i := range parts {
		at, err := tensor.From([]int64{int64(i)})
		if err != nil {
			panic(err)
		}
		parts[i] = s.node("Gather", []*graph.Attr{integer("axis", 0)}, x, s.constant(at))
	}
	q := s.node("Mul", nil, parts[0], s.scalar(float32(1/math.Sqrt(swinHead))))
	a := s.node("MatMul", nil, q, s.permute(parts[1], 0, 1, 3, 2))
	a = s.node("Add", nil, a, s.weight(1, 1, s.heads, rows, rows))
	if shifted {
		a = s.node("Add", nil, s.reshape(a, 1, n, s.heads, rows, rows), s.mask(n))
		a = s.reshape(a, n, s.heads, rows, rows)
	}
	a = s.node("Softmax", []*graph.Attr{integer("axis", -1)}, a)
	y := s.permute(s.node("MatMul", nil, a, parts[2]), 0, 2, 1, 3)
	return s.dense(s.reshape(y, n, rows, s.width), s.width, s.width)
}

// mask keeps pixels apart that were at different ends before they were rolled.
func (s *swin) mask(n int) string {
	const window, rows = swinWindow, swinWindow * swinWindow
	region := func(w, i int) int {
		part := func(at int) int {
			switch {
			case at >= s.side-window/2:
				return 2
			case at >= s.side-window:
				return 1
			}
			return 0
		}
		across := s.side / window
		return 3*part(w/across*window+i/window) + part(w%across*window+i%window)
	}
	t := tensor.New(tensor.F32, 1, n, 1, rows, rows)
	for i := range tensor.View[float32](t) {
		if w := i / rows / rows; region(w, i/rows%rows) != region(w, i%rows) {
			tensor.View[float32](t)[i] = -100
		}
	}
	return s.constant(t)
}

package chelis

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// TestConvolutions compares modules of convolutions with runs.
func TestConvolutions(t *testing.T) {
	ints := func(name string, v ...int64) *graph.Attr { return graph.IntsAttr(name, v...) }
	for _, c := range []struct {
		op            string
		image, kernel []int
		attrs         []*graph.Attr
		out           []int
	}{
		{"Conv", []int{2, 4, 5, 6}, []int{6, 2, 3, 2}, []*graph.Attr{graph.IntAttr("group", 2)}, []int{2, 6, 3, 5}},
		{"Conv", []int{1, 3, 6, 5}, []int{3, 1, 2, 2}, []*graph.Attr{graph.IntAttr("group", 3), ints("strides", 2, 1), ints("pads", 1, 0, 0, 1)}, []int{1, 3, 3, 5}},
		{"Conv", []int{1, 2, 7, 8}, []int{3, 2, 2, 3}, []*graph.Attr{ints("dilations", 3, 2), ints("pads", 1, 2, 0, 1)}, []int{1, 3, 5, 7}},
		{"Conv", []int{2, 4, 7, 7}, []int{4, 2, 3, 3}, []*graph.Attr{ints("dilations", 2, 2), graph.IntAttr("group", 2), ints("strides", 2, 2), graph.StringAttr("auto_pad", "SAME_LOWER")}, []int{2, 4, 4, 4}},
		{"ConvTranspose", []int{2, 3, 3, 4}, []int{3, 2, 3, 2}, nil, []int{2, 2, 5, 5}},
		{"ConvTranspose", []int{1, 4, 3, 3}, []int{4, 2, 3, 3}, []*graph.Attr{graph.IntAttr("group", 2), ints("strides", 2, 3), ints("pads", 1, 0, 1, 2), ints("output_padding", 1, 1)}, []int{1, 4, 6, 8}},
		{"ConvTranspose", []int{1, 2, 3, 3}, []int{2, 2, 2, 2}, []*graph.Attr{ints("dilations", 2, 3), ints("strides", 2, 1), ints("pads", 1, 1, 0, 1)}, []int{1, 2, 6, 4}},
	} {
		b := graph.NewBuilder("convolution")
		x := b.Input("x", graph.TensorOf(tensor.F32, graph.DimsOf(c.image)))
		y := b.Op(c.op, []string{x, b.Weight(&graph.Initializer{Name: "w", Tensor: f32(c.kernel...)}), b.Weight(&graph.Initializer{Name: "b", Tensor: f32(c.out[1])})}, c.attrs...)
		b.Output(y, "y", graph.TensorOf(tensor.F32, graph.DimsOf(c.out)))
		m := model(b)
		text, err := emitted(m, Options{})
		if err == nil {
			err = runModule(m, text, map[string]*tensor.Tensor{"x": f32(c.image...)}, nil)
		}
		if err != nil {
			t.Errorf("%s %v * %v: %v\n%.1500s", c.op, c.image, c.kernel, err, text)
		}
	}
}

// TestConvolutionRefusals checks the errors of convolutions that cannot be emitted.
func TestConvolutionRefusals(t *testing.T) {
	for _, c := range []struct {
		op            string
		image, kernel []int
		attr          *graph.Attr
		out           []int
		want          string
	}{
		{"Conv", []int{1, 1, 5}, []int{1, 1, 2}, graph.IntAttr("group", 1), []int{1, 1, 4}, "images (NCHW)"},
		{"Conv", []int{1, 5000, 2, 2}, []int{5000, 1, 1, 1}, graph.IntAttr("group", 5000), []int{1, 5000, 2, 2}, "5000 groups"},
		{"ConvTranspose", []int{1, 1, 3, 3}, []int{1, 1, 2, 2}, graph.IntsAttr("output_shape", 4, 4), []int{1, 1, 4, 4}, "output_shape"},
		{"ConvTranspose", []int{1, 1, 3, 3}, []int{1, 1, 1, 1}, graph.IntsAttr("pads", 1, 1, 1, 1), []int{1, 1, 1, 1}, "wider than the kernel"},
	} {
		b := graph.NewBuilder("refused")
		x := b.Input("x", graph.TensorOf(tensor.F32, graph.DimsOf(c.image)))
		b.Output(b.Op(c.op, []string{x, b.Weight(&graph.Initializer{Name: "w", Tensor: f32(c.kernel...)})}, c.attr), "y", graph.TensorOf(tensor.F32, graph.DimsOf(c.out)))
		if _, err := emitted(model(b), Options{}); !errors.Is(err, ErrUnsupportedShape) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s %v: %v, want %q", c.op, c.image, err, c.want)
		}
	}
}

// TestExtremes emits slices up to the greatest index, and constants that floats cannot hold.
func TestExtremes(t *testing.T) {
	for _, c := range []struct {
		start, end, step int64
		want             []float64
	}{{1, math.MaxInt64, 1, []float64{2, 3, 4}}, {math.MinInt64, -1, 1, []float64{1, 2, 3}}, {-2, math.MaxInt64 - 1, 1, []float64{3, 4}},
		{-1, math.MinInt64, -1, []float64{4, 3, 2, 1}}, {math.MaxInt64, 0, -2, []float64{4, 2}}, {2, math.MinInt64, math.MinInt64, []float64{3}}} {
		b := graph.NewBuilder("slice")
		x := b.Input("x", floats(graph.Known(4)))
		b.Output(b.Op("Slice", []string{x, b.Ints(c.start), b.Ints(c.end), b.Ints(0), b.Ints(c.step)}), "y", floats(graph.Known(len(c.want))))
		text, err := emitted(model(b), Options{})
		if err != nil {
			t.Errorf("%d to %d: %v", c.start, c.end, err)
			continue
		}
		got, err := evaluate(text, map[string]*array{"x": {"f32", []int{4}, []float64{1, 2, 3, 4}}}, []string{"x"})
		if err != nil || !slices.Equal(got[0].data, c.want) {
			t.Errorf("%d to %d: %v, %v", c.start, c.end, got, err)
		}
	}
	for v, want := range map[int64]string{math.MaxInt64: "9223372036854775807i64", 1<<53 + 1: "9007199254740993i64", math.MinInt64: "cast(-9223372036854775808, i64)"} {
		one := tensor.New(tensor.I64, 1)
		tensor.View[int64](one)[0] = v
		b := graph.NewBuilder("fill")
		b.Output(b.Op("ConstantOfShape", []string{b.Ints(2)}, graph.TensorAttr("value", one)), "y", graph.TensorOf(tensor.I64, known(2)))
		if text, err := emitted(model(b), Options{}); err != nil || !strings.Contains(text, "to_tensor(["+want+"]") {
			t.Errorf("%d: %v\n%s", v, err, text)
		}
	}
}

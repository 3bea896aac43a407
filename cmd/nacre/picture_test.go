package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// twoColours is a picture of 4x2 pixels, red on the left and blue on the right.
func twoColours(t *testing.T) []byte {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 4, 2))
	for y := range 2 {
		for x := range 4 {
			c := color.RGBA{R: 255, A: 255}
			if x >= 2 {
				c = color.RGBA{B: 255, A: 255}
			}
			img.SetRGBA(x, y, c)
		}
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func dims(list ...any) graph.Dims {
	d := make(graph.Dims, len(list))
	for i, x := range list {
		switch x := x.(type) {
		case int:
			d[i] = graph.Known(x)
		case string:
			d[i] = graph.Symbol(x)
		}
	}
	return d
}

func TestPicture(t *testing.T) {
	plain := pictureFlags{scale: 1.0 / 255, mean: []float64{0}, std: []float64{1}, layout: "auto"}
	shifted := pictureFlags{scale: 1, mean: []float64{255, 0, 55}, std: []float64{1, 1, 100}, layout: "auto"}
	cases := []struct {
		name  string
		flags pictureFlags
		typ   graph.Type
		shape string
		first []float64 // elements from the front
	}{
		{"nchw, extents of the picture", plain, graph.TensorOf(tensor.F32, dims("n", 3, "h", "w")), "float32[1,3,2,4]",
			[]float64{1, 1, 0, 0, 1, 1, 0, 0, 0}},
		{"nhwc", plain, graph.TensorOf(tensor.F32, dims(1, "h", "w", 3)), "float32[1,2,4,3]", []float64{1, 0, 0, 1, 0, 0, 0, 0, 1}},
		{"three axes", plain, graph.TensorOf(tensor.F32, dims(3, 2, 4)), "float32[3,2,4]", []float64{1, 1, 0, 0}},
		{"bytes", plain, graph.TensorOf(tensor.U8, dims(1, 2, 4, 3)), "uint8[1,2,4,3]", []float64{255, 0, 0}},
		{"grey", plain, graph.TensorOf(tensor.F32, dims(1, 1, 2, 4)), "float32[1,1,2,4]", []float64{0.299, 0.299, 0.114, 0.114}},
		{"smaller", plain, graph.TensorOf(tensor.F32, dims(1, 3, 1, 2)), "float32[1,3,1,2]", []float64{6. / 7, 1. / 7}},
		{"mean and deviation", shifted, graph.TensorOf(tensor.F32, dims(1, "h", "w", 3)), "float32[1,2,4,3]", []float64{0, 0, -0.55}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x, err := c.flags.tensor(twoColours(t), c.typ)
			if err != nil {
				t.Fatal(err)
			}
			if x.String() != c.shape {
				t.Errorf("got %v, want %s", x, c.shape)
			}
			for i, want := range c.first {
				got := 0.0
				if x.DType() == tensor.U8 {
					got = float64(x.Bytes()[i])
				} else {
					got = float64(tensor.View[float32](x)[i])
				}
				if math.Abs(got-want) > 0.01 {
					t.Errorf("element %d is %v, want %v", i, got, want)
				}
			}
		})
	}
}

func TestPictureErrors(t *testing.T) {
	flags := pictureFlags{scale: 1, mean: []float64{0, 1}, std: []float64{1}, layout: "auto"}
	cases := []struct {
		name string
		typ  graph.Type
		want string
	}{
		{"integers", graph.TensorOf(tensor.I64, dims(1, 3, 2, 4)), "float32 or uint8"},
		{"rank", graph.TensorOf(tensor.F32, dims(1, 3)), "3 or 4 axes"},
		{"unknown rank", graph.TensorOf(tensor.F32, nil), "3 or 4 axes"},
		{"no channels", graph.TensorOf(tensor.F32, dims(1, "c", "h", "w")), "--image-layout"},
		{"batch", graph.TensorOf(tensor.F32, dims(2, 3, "h", "w")), "batch of 1"},
		{"means", graph.TensorOf(tensor.F32, dims(1, 3, "h", "w")), "1 or 3 numbers"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := flags.tensor(twoColours(t), c.typ); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestRawTensor(t *testing.T) {
	cases := []struct {
		name  string
		typ   graph.Type
		bytes int
		want  string // the tensor, or a part of the error
	}{
		{"known extents", graph.TensorOf(tensor.I16, dims(2, 3)), 12, "int16[2,3]"},
		{"one open extent", graph.TensorOf(tensor.F32, dims("n", 3)), 24, "float32[2,3]"},
		{"no whole number", graph.TensorOf(tensor.F32, dims("n", 3)), 25, "takes 24 bytes"},
		{"two open extents", graph.TensorOf(tensor.F32, dims("n", "m")), 24, "two extents"},
		{"unknown rank", graph.TensorOf(tensor.F32, nil), 24, "do not say what they are"},
		{"strings", graph.TensorOf(tensor.String, dims(1)), 24, "do not say what they are"},
		{"wrong size", graph.TensorOf(tensor.I16, dims(2, 3)), 11, "takes 12 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x, err := rawTensor(make([]byte, c.bytes), c.typ)
			got := x.String()
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

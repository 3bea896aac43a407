package main

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
)

func dims(list ...any) []nacre.Dim {
	d := make([]nacre.Dim, len(list))
	for i, x := range list {
		switch x := x.(type) {
		case int:
			d[i] = nacre.Dim{Size: x}
		case string:
			d[i] = nacre.Dim{Size: -1, Symbol: x}
		}
	}
	return d
}

func input(d nacre.DType, shape []nacre.Dim) nacre.Info {
	return nacre.Info{Kind: nacre.TensorKind, DType: d, Shape: shape}
}

// TestPictureFlags makes pictures inputs by flags, and checks the errors of wrong flags.
func TestPictureFlags(t *testing.T) {
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewRGBA(image.Rect(0, 0, 4, 2))); err != nil {
		t.Fatal(err)
	}
	plain := pictureFlags{scale: 1.0 / 255, mean: []float64{0}, std: []float64{1}, layout: "auto", fit: "crop",
		fill: []uint{0, 0, 0}}
	means, layout, scale, first, fit, few, bright := plain, plain, plain, plain, plain, plain, plain
	fit.fit, few.fill, bright.fill = "squeeze", []uint{1}, []uint{0, 0, 256}
	means.mean, layout.layout, scale.scale, first.layout = []float64{0, 1}, "rows", 0, "nchw"
	cases := []struct {
		name  string
		flags pictureFlags
		in    nacre.Info
		want  string // the tensor, or a part of the error
		usage bool
	}{
		{"by extents", plain, input(nacre.Float32, dims("n", 3, "h", "w")), "float32[1,3,2,4]", false},
		{"by flag", first, input(nacre.Float32, dims("n", "c", "h", "w")), "float32[1,3,2,4]", false},
		{"no channels", plain, input(nacre.Float32, dims(1, "c", "h", "w")), "option Layout", true},
		{"another layout", layout, input(nacre.Float32, dims(1, 3, "h", "w")), "option Layout", true},
		{"means", means, input(nacre.Float32, dims(1, 3, "h", "w")), "options Mean", true},
		{"another fit", fit, input(nacre.Float32, dims(1, 3, "h", "w")), "--image-fit", true},
		{"one number to fill", few, input(nacre.Float32, dims(1, 3, "h", "w")), "--image-fill", true},
		{"too bright", bright, input(nacre.Float32, dims(1, 3, "h", "w")), "--image-fill", true},
		{"no scale", scale, input(nacre.Float32, dims(1, 3, "h", "w")), "--image-scale", true},
		{"integers", plain, input(nacre.Int64, dims(1, 3, 2, 4)), "use .npy or .pb", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x, err := c.flags.tensor(context.Background(), file.Bytes(), c.in)
			got := x.String()
			if err != nil {
				got = err.Error()
			}
			var usage usageError
			if !strings.Contains(got, c.want) || errors.As(err, &usage) != c.usage {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestRawTensor(t *testing.T) {
	cases := []struct {
		name  string
		in    nacre.Info
		bytes int
		want  string // the tensor, or a part of the error
	}{
		{"known extents", input(nacre.Int16, dims(2, 3)), 12, "int16[2,3]"},
		{"one open extent", input(nacre.Float32, dims("n", 3)), 24, "float32[2,3]"},
		{"no whole number", input(nacre.Float32, dims("n", 3)), 25, "takes 24 bytes"},
		{"two open extents", input(nacre.Float32, dims("n", "m")), 24, "two extents"},
		{"unknown rank", input(nacre.Float32, nil), 24, "have no type and shape"},
		{"strings", input(nacre.String, dims(1)), 24, "have no type and shape"},
		{"wrong size", input(nacre.Int16, dims(2, 3)), 11, "takes 12 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x, err := rawTensor(make([]byte, c.bytes), c.in)
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

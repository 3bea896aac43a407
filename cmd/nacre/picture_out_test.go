package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nacre-ml/nacre/bindings"
	"github.com/nacre-ml/nacre/internal/testenv"
	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// of returns a tensor of data.
func of[T tensor.Element](t *testing.T, data []T, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := tensor.From(data, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// pixels returns the bytes of all pixels: red, green, blue and opacity.
func pixels(img image.Image) (list []uint8) {
	r := img.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
			list = append(list, c.R, c.G, c.B, c.A)
		}
	}
	return list
}

// grey returns the pixels of a picture of these values.
func grey(values ...uint8) (list []uint8) {
	for _, v := range values {
		list = append(list, v, v, v, 255)
	}
	return list
}

func TestPictureOf(t *testing.T) {
	for _, c := range []struct {
		name          string
		x             *tensor.Tensor
		width, height int
		want          []uint8
	}{
		{"bytes", of(t, []uint8{0, 1, 255, 7, 8, 9}, 2, 3), 3, 2, grey(0, 1, 255, 7, 8, 9)},
		{"zeros and ones of bytes", of(t, []uint8{0, 1}, 1, 2), 2, 1, grey(0, 1)},
		{"shares", of(t, []float32{0, 0.5, 1, 0.25}, 1, 1, 2, 2), 2, 2, grey(0, 128, 255, 64)},
		{"brightness", of(t, []float32{0, 127.6, 255, 2}, 1, 1, 4), 4, 1, grey(0, 128, 255, 2)},
		{"stretched", of(t, []float32{-1, 0, 3, 1}, 4, 1), 1, 4, grey(0, 64, 255, 128)},
		{"constant", of(t, []float32{-1, -1}, 1, 2), 2, 1, grey(0, 0)},
		{"booleans", of(t, []bool{true, false}, 1, 2), 2, 1, grey(255, 0)},
		{"planes", of(t, []uint8{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 1, 3), 3, 1, []uint8{1, 4, 7, 255, 2, 5, 8, 255, 3, 6, 9, 255}},
		{"pixels", of(t, []float32{0, 1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0}, 4, 1, 3), 1, 4,
			[]uint8{0, 255, 0, 255, 255, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0, 255}},
		{"opacity", of(t, []uint8{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, 4, 1, 4), 4, 1,
			[]uint8{1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 4, 8, 12, 16}},
	} {
		img, err := pictureOf(t.Context(), c.x)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if size := img.Bounds().Size(); size != image.Pt(c.width, c.height) || !slices.Equal(pixels(img), c.want) {
			t.Errorf("%s: %v, %v, want %v", c.name, size, pixels(img), c.want)
		}
	}
	for _, x := range []*tensor.Tensor{of(t, []float32{1}, 1), of(t, make([]float32, 16), 2, 2, 2, 2), tensor.New(tensor.F32, 0, 3),
		tensor.New(tensor.String, 2, 2)} {
		if _, err := pictureOf(t.Context(), x); err == nil {
			t.Errorf("%v is a picture", x)
		}
	}
}

// TestPictureOfClasses compares colours: class 0 is black, and others are apart.
func TestPictureOfClasses(t *testing.T) {
	classes := []int64{0, 1, 2, 1, 20, 3}
	const side, most = 30, 21
	scores, after := tensor.New(tensor.F32, most, side, side), tensor.New(tensor.F32, side, side, most)
	for i, c := range classes {
		tensor.View[float32](scores)[int(c)*side*side+i] = 1
		tensor.View[float32](after)[i*most+int(c)] = 1
	}
	want, err := pictureOf(t.Context(), of(t, classes, 1, 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	colours := map[color.Color]bool{}
	for i := range classes {
		colours[want.At(i%3, i/3)] = true
	}
	if want.At(0, 0) != color.Color(color.RGBA{A: 255}) || want.At(1, 0) != want.At(0, 1) || len(colours) != 5 {
		t.Errorf("classes %v have the colours %v", classes, pixels(want))
	}
	for _, x := range []*tensor.Tensor{scores, after} {
		got, err := pictureOf(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range classes {
			if got.At(i, 0) != want.At(i%3, i/3) {
				t.Errorf("%v: pixel %d is %v, want %v", x, i, got.At(i, 0), want.At(i%3, i/3))
			}
		}
	}
}

// TestRunPicture stores an output as a picture.
func TestRunPicture(t *testing.T) {
	testenv.Need(t, bindings.Available())
	dir := t.TempDir()
	x := of(t, []float32{0, 0.2, 0.4, 0.6, 0.8, 1}, 1, 1, 2, 3)
	run := copying(t, dir, "mask", graph.TensorOf(tensor.F32, graph.DimsOf(x.Shape())), "x.npy", npyBytes(t, x))
	file := filepath.Join(dir, "mask.png")
	if code, stdout, stderr := call(append(run, "--picture", "y="+file)...); code != exitDone || stdout != "y float32[1,1,2,3] -> "+file+"\n" {
		t.Errorf("exit code %d, %q, %s", code, stdout, stderr)
	}
	img, err := png.Decode(bytes.NewReader(read(t, file)))
	if err != nil || !slices.Equal(pixels(img), grey(0, 51, 102, 153, 204, 255)) {
		t.Errorf("%v: %v", err, img)
	}
}

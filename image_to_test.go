package nacre_test

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/packed"
)

// TestToImage sends random pictures through tensors of every form.
func TestToImage(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pixels := image.NewNRGBA(image.Rect(0, 0, 7, 5))
	for i := range pixels.Pix {
		if pixels.Pix[i] = uint8(random.Uint32()); i%4 == 3 {
			pixels.Pix[i] = 255
		}
	}
	grey := image.NewGray(pixels.Bounds())
	for i := range grey.Pix {
		grey.Pix[i] = uint8(random.Uint32())
	}
	for _, c := range []struct {
		shape []int
		o     nacre.ImageOptions
	}{
		{[]int{3, 5, 7}, nacre.ImageOptions{}},
		{[]int{1, 3, 5, 7}, nacre.ImageOptions{BGR: true}},
		{[]int{1, 5, 7, 3}, nacre.ImageOptions{Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225}}},
		{[]int{5, 7, 3}, nacre.ImageOptions{Scale: 1, BGR: true, Mean: []float64{104, 117, 123}}},
		{[]int{1, 1, 5, 7}, nacre.ImageOptions{Mean: []float64{0.5}, Std: []float64{0.5}}},
		{[]int{5, 7, 1}, nacre.ImageOptions{Layout: "nhwc"}},
	} {
		for _, d := range []nacre.DType{nacre.Float32, nacre.Uint8} {
			in := nacre.Info{Kind: nacre.TensorKind, DType: d}
			isGrey := false
			for _, n := range c.shape {
				in.Shape = append(in.Shape, nacre.Dim{Size: n})
				isGrey = isGrey || len(in.Shape) > len(c.shape)-3 && n == 1
			}
			var want image.Image = pixels
			if isGrey {
				want = grey
			}
			t.Run(fmt.Sprint(d, c.shape), func(t *testing.T) {
				x, err := nacre.FromImage(want, in, c.o)
				if err != nil {
					t.Fatal(err)
				}
				got, err := nacre.ToImage(x, c.o)
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := got.(*image.Gray); ok != isGrey || got.Bounds() != want.Bounds() {
					t.Fatalf("got a %T of %v", got, got.Bounds())
				}
				for y := range 5 {
					for x := range 7 {
						if g, w := got.At(x, y), want.At(x, y); g != w {
							t.Fatalf("pixel %d,%d is %v, want %v", x, y, g, w)
						}
					}
				}
			})
		}
	}
}

func TestToImageValues(t *testing.T) {
	x := tensorOf(t, []float32{-1, 0, 0.5, 1, 2, float32(math.NaN()), float32(math.Inf(1))}, 1, 7)
	img, err := nacre.ToImage(x, nacre.ImageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []uint8{0, 0, 128, 255, 255, 0, 255} {
		if got := img.At(i, 0); got != (color.Gray{Y: want}) {
			t.Errorf("element %s is %v, want %d", x.Text(i), got, want)
		}
	}
	half := tensorOf(t, []packed.F16{packed.ToF16(1)}, 1, 1)
	if img, err = nacre.ToImage(half, nacre.ImageOptions{}); err != nil || img.At(0, 0) != (color.Gray{Y: 255}) {
		t.Errorf("%v: %v, %v", half, img, err)
	}
	if img, err = nacre.ToImage(zeros(t, nacre.Float32, 0, 4), nacre.ImageOptions{}); err != nil || !img.Bounds().Empty() {
		t.Errorf("no rows: %v, %v", img, err)
	}
	for _, c := range []struct {
		x    *nacre.Tensor
		o    nacre.ImageOptions
		want error
	}{
		{nil, nacre.ImageOptions{}, nacre.ErrShape},
		{zeros(t, nacre.Int64, 2, 2), nacre.ImageOptions{}, nacre.ErrShape},
		{zeros(t, nacre.Float32, 4), nacre.ImageOptions{}, nacre.ErrShape},
		{zeros(t, nacre.Float32, 2, 3, 2, 2), nacre.ImageOptions{}, nacre.ErrShape},
		{zeros(t, nacre.Float32, 4, 2, 2), nacre.ImageOptions{}, nacre.ErrOption},
		{zeros(t, nacre.Float32, 4, 2, 2), nacre.ImageOptions{Layout: "nchw"}, nacre.ErrShape},
		{zeros(t, nacre.Float32, 3, 2, 2), nacre.ImageOptions{Mean: []float64{1, 2}}, nacre.ErrOption},
		{zeros(t, nacre.Float32, 3, 2, 2), nacre.ImageOptions{Layout: "chw"}, nacre.ErrOption},
	} {
		if img, err := nacre.ToImage(c.x, c.o); !errors.Is(err, c.want) || errors.Is(err, nacre.ErrInternal) {
			t.Errorf("%v, %+v: %v, %v, want %v", c.x, c.o, img, err, c.want)
		}
	}
}

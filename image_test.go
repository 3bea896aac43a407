package nacre_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/testenv"
)

// twoColours returns a picture of 4x2 pixels, red on the left and blue on the right.
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

func TestDecodeImage(t *testing.T) {
	var plain nacre.ImageOptions
	shifted := nacre.ImageOptions{Scale: 1, Mean: []float64{255, 0, 55}, Std: []float64{1, 1, 100}}
	cases := []struct {
		name    string
		options nacre.ImageOptions
		in      nacre.Info
		shape   string
		first   []float64 // the first elements
	}{
		{"nchw, extents of the picture", plain, input(nacre.Float32, dims("n", 3, "h", "w")), "float32[1,3,2,4]",
			[]float64{1, 1, 0, 0, 1, 1, 0, 0, 0}},
		{"nhwc", plain, input(nacre.Float32, dims(1, "h", "w", 3)), "float32[1,2,4,3]", []float64{1, 0, 0, 1, 0, 0, 0, 0, 1}},
		{"three axes", plain, input(nacre.Float32, dims(3, 2, 4)), "float32[3,2,4]", []float64{1, 1, 0, 0}},
		{"bytes", plain, input(nacre.Uint8, dims(1, 2, 4, 3)), "uint8[1,2,4,3]", []float64{255, 0, 0}},
		{"grey", plain, input(nacre.Float32, dims(1, 1, 2, 4)), "float32[1,1,2,4]", []float64{0.299, 0.299, 0.114, 0.114}},
		{"smaller", plain, input(nacre.Float32, dims(1, 3, 1, 2)), "float32[1,3,1,2]", []float64{6. / 7, 1. / 7}},
		{"mean and deviation", shifted, input(nacre.Float32, dims(1, "h", "w", 3)), "float32[1,2,4,3]", []float64{0, 0, -0.55}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x, err := nacre.DecodeImage(twoColours(t), c.in, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if x.String() != c.shape {
				t.Errorf("got %v, want %s", x, c.shape)
			}
			for i, want := range c.first {
				got, err := strconv.ParseFloat(x.Text(i), 64)
				if err != nil {
					t.Fatal(err)
				}
				if math.Abs(got-want) > 0.01 {
					t.Errorf("element %d is %v, want %v", i, got, want)
				}
			}
		})
	}
}

func TestDecodeImageErrors(t *testing.T) {
	good := input(nacre.Float32, dims(1, 3, "h", "w"))
	var plain nacre.ImageOptions
	for _, c := range []struct {
		name    string
		options nacre.ImageOptions
		in      nacre.Info
		kind    error
		want    string
	}{
		{"integers", plain, input(nacre.Int64, dims(1, 3, 2, 4)), nacre.ErrShape, "float32 or uint8"},
		{"no tensor", plain, nacre.Info{Kind: nacre.SequenceKind}, nacre.ErrShape, "float32 or uint8"},
		{"rank", plain, input(nacre.Float32, dims(1, 3)), nacre.ErrShape, "3 or 4 axes"},
		{"unknown rank", plain, input(nacre.Float32, nil), nacre.ErrShape, "3 or 4 axes"},
		{"no channels", plain, input(nacre.Float32, dims(1, "c", "h", "w")), nacre.ErrOption, "option Layout"},
		{"two channels", nacre.ImageOptions{Layout: "nchw"}, input(nacre.Float32, dims(1, 2, "h", "w")), nacre.ErrShape, "1 or 3 channels"},
		{"batch", plain, input(nacre.Float32, dims(2, 3, "h", "w")), nacre.ErrShape, "batch of 1"},
		{"large", plain, input(nacre.Float32, dims(1, 3, 1<<20, 1<<20)), nacre.ErrShape, "too large"},
		{"means", nacre.ImageOptions{Mean: []float64{0, 1}}, good, nacre.ErrOption, "1 or 3 numbers"},
		{"deviations", nacre.ImageOptions{Std: []float64{1, 0, 1}}, good, nacre.ErrOption, "divided"},
		{"layout", nacre.ImageOptions{Layout: "rows"}, good, nacre.ErrOption, `"rows"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := nacre.DecodeImage(twoColours(t), c.in, c.options)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %v with %q", err, c.kind, c.want)
			}
		})
	}
	file := twoColours(t)
	for _, data := range [][]byte{nil, []byte("text"), file[:len(file)-20]} {
		if _, err := nacre.DecodeImage(data, good, plain); !errors.Is(err, nacre.ErrFormat) {
			t.Errorf("%d bytes of a picture: got %v", len(data), err)
		}
	}
	for _, img := range []image.Image{nil, image.NewGray(image.Rectangle{})} {
		if _, err := nacre.FromImage(img, good, plain); !errors.Is(err, nacre.ErrShape) {
			t.Errorf("no picture: got %v", err)
		}
	}
	huge := slices.Clone(file)
	binary.BigEndian.PutUint32(huge[16:], 1<<16)
	binary.BigEndian.PutUint32(huge[20:], 1<<14)
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	if _, err := nacre.DecodeImage(huge, good, plain); !errors.Is(err, nacre.ErrUnsupported) {
		t.Errorf("a huge picture: got %v", err)
	}
}

// TestImageEnds decodes pictures in contexts that end at different looks.
func TestImageEnds(t *testing.T) {
	const side = 300
	colours := image.NewNRGBA(image.Rect(0, 0, side, side))
	for i := range colours.Pix {
		colours.Pix[i] = byte(i * i >> 3)
	}
	grey := &image.Gray{Pix: colours.Pix, Stride: side, Rect: colours.Rect}
	files := map[string]func(b *bytes.Buffer) error{
		"colours": func(b *bytes.Buffer) error { return png.Encode(b, colours) },
		"grey":    func(b *bytes.Buffer) error { return png.Encode(b, grey) },
		"jpeg":    func(b *bytes.Buffer) error { return jpeg.Encode(b, colours, nil) },
	}
	ins := []nacre.Info{input(nacre.Float32, dims(1, 3, 64, 64)), input(nacre.Uint8, dims(1, 1, "h", "w"))}
	check := func(name string, decode func(ctx context.Context) error) {
		t.Helper()
		var none context.Context
		if err := decode(none); !errors.Is(err, nacre.ErrOption) {
			t.Errorf("%s in a nil context: %v", name, err)
		}
		for at := 0; ; at += 1 + at/16 {
			ctx := testenv.EndingAfter(at)
			err := decode(ctx)
			if !ctx.Over() {
				if err != nil || at < 20 {
					t.Errorf("%s: %d looks, %v", name, at, err)
				}
				return
			}
			if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nacre.ErrFormat) || ctx.Asked() > at+16 {
				t.Errorf("%s, done after %d looks: %v after %d", name, at, err, ctx.Asked())
			}
		}
	}
	for name, encode := range files {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		for _, in := range ins {
			check(name, func(ctx context.Context) error {
				_, err := nacre.DecodeImageContext(ctx, b.Bytes(), in, nacre.ImageOptions{Fit: nacre.FitLetterbox})
				return err
			})
		}
	}
	for _, in := range ins {
		check("an image", func(ctx context.Context) error {
			_, err := nacre.FromImageContext(ctx, colours, in, nacre.ImageOptions{})
			return err
		})
	}
}

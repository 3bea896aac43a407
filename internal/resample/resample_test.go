package resample

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/nacre-ml/nacre/internal/testenv"
)

// noise returns a picture of random opaque pixels.
func noise(r *rand.Rand, bounds image.Rectangle) *image.RGBA {
	img := image.NewRGBA(bounds)
	for i := range img.Pix {
		img.Pix[i] = uint8(r.Uint32())
		if i%4 == 3 {
			img.Pix[i] = 255
		}
	}
	return img
}

// expected returns one value of a resized picture, before rounding.
func expected(img image.Image, size image.Point, x, y, channel int) float64 {
	b := img.Bounds()
	columns, rows := triangle(b.Dx(), size.X, x), triangle(b.Dy(), size.Y, y)
	sum, weights := 0.0, 0.0
	for v, wy := range rows {
		for u, wx := range columns {
			c := color.RGBAModel.Convert(img.At(b.Min.X+u, b.Min.Y+v)).(color.RGBA)
			sum += wx * wy * float64([]uint8{c.R, c.G, c.B}[channel])
			weights += wx * wy
		}
	}
	return sum / weights
}

// triangle returns the weights of n elements for element i of size.
func triangle(n, size, i int) []float64 {
	scale := float64(n) / float64(size)
	list := make([]float64, n)
	for k := range list {
		list[k] = math.Max(0, 1-math.Abs(float64(k)+0.5-(float64(i)+0.5)*scale)/math.Max(scale, 1))
	}
	return list
}

// resized is Resize without an end.
func resized(img image.Image, size image.Point, part image.Rectangle) *RGB {
	p, err := Resize(context.Background(), img, size, part)
	if err != nil {
		panic(err)
	}
	return p
}

func TestResize(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		w, h := 1+r.IntN(40), 1+r.IntN(40)
		size := image.Pt(1+r.IntN(50), 1+r.IntN(50))
		at := image.Pt(r.IntN(7), r.IntN(7))
		whole := noise(r, image.Rect(0, 0, w+10, h+10))
		grey := image.NewGray(whole.Rect)
		draw.Draw(grey, grey.Rect, whole, image.Point{}, draw.Src)
		cut := image.Rectangle{Min: at, Max: at.Add(image.Pt(w, h))}
		for _, img := range []image.Image{whole.SubImage(cut), grey.SubImage(cut), opaque(whole).SubImage(cut)} {
			full := resized(img, size, image.Rectangle{Max: size})
			for range 20 {
				x, y, c := r.IntN(size.X), r.IntN(size.Y), r.IntN(3)
				got, want := float64(full.Pix[3*(y*size.X+x)+c]), expected(img, size, x, y, c)
				if math.Abs(got-want) > 1.01 { // each direction is rounded
					t.Fatalf("%T %v to %v: channel %d at %d,%d is %v, want %v", img, cut, size, c, x, y, got, want)
				}
			}
			checkPart(t, r, img, size, full)
		}
	}
}

// opaque returns the picture with colours that are not premultiplied.
func opaque(img *image.RGBA) *image.NRGBA {
	return &image.NRGBA{Pix: img.Pix, Stride: img.Stride, Rect: img.Rect}
}

// checkPart compares a part resized alone to that part of the whole.
func checkPart(t *testing.T, r *rand.Rand, img image.Image, size image.Point, full *RGB) {
	t.Helper()
	x, y := r.IntN(size.X), r.IntN(size.Y)
	part := image.Rect(x, y, x+1+r.IntN(size.X-x), y+1+r.IntN(size.Y-y))
	got := resized(img, size, part)
	if got.Width != part.Dx() || got.Height != part.Dy() {
		t.Fatalf("part %v is %dx%d", part, got.Width, got.Height)
	}
	for i := range got.Height {
		want := full.Pix[3*((y+i)*full.Width+x):][:3*got.Width]
		if row := got.Pix[3*i*got.Width:][:3*got.Width]; !bytes.Equal(row, want) {
			t.Fatalf("%T to %v: row %d of part %v is %v, want %v", img, size, i, part, row, want)
		}
	}
}

// TestNarrow resizes a high narrow picture to a wide one. It must not allocate all rows at that
// width.
func TestNarrow(t *testing.T) {
	size := image.Pt(64, 1000)
	narrow := image.Rect(0, 0, 1, 1<<18)
	for _, img := range []image.Image{image.NewGray(narrow), image.NewRGBA(narrow),
		image.NewYCbCr(narrow, image.YCbCrSubsampleRatio420)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		resized(img, size, image.Rectangle{Max: size})
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 24<<20 {
			t.Errorf("%T: %d bytes allocated", img, n)
		}
	}
}

// TestManyWeights checks sums of weights that rounding would change much. White must stay white.
func TestManyWeights(t *testing.T) {
	for _, n := range []int{1, 700, 1025, 5 << 20} {
		for i, list := range newFilter(context.Background(), 0, 3, n, 0, float64(n)/3).weights {
			sum := uint64(0)
			for _, w := range list {
				sum += w
			}
			if 255*sum+1<<(bits-1) < 255<<bits || 255*sum+1<<(bits-1) >= 256<<bits {
				t.Errorf("%d elements: weights of element %d are %v", n, i, float64(sum)/(1<<bits))
			}
		}
	}
}

// TestSameSize checks that a picture of the same size is unchanged.
func TestSameSize(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	img := noise(r, image.Rect(-3, 2, 14, 13))
	clear := opaque(noise(r, img.Rect))
	for i := 3; i < len(clear.Pix); i += 4 {
		clear.Pix[i] = uint8(r.Uint32())
	}
	deep := image.NewRGBA64(img.Rect)
	draw.Draw(deep, deep.Rect, img, img.Rect.Min, draw.Src)
	for _, img := range []image.Image{img, clear, deep, opaque(img)} {
		b := img.Bounds()
		got := resized(img, b.Size(), image.Rectangle{Max: b.Size()})
		for i := range b.Dx() * b.Dy() {
			c := color.RGBAModel.Convert(img.At(b.Min.X+i%b.Dx(), b.Min.Y+i/b.Dx())).(color.RGBA)
			if want := []byte{c.R, c.G, c.B}; !bytes.Equal(got.Pix[3*i:3*i+3], want) {
				t.Fatalf("%T: pixel %d is %v, want %v", img, i, got.Pix[3*i:3*i+3], want)
			}
		}
	}
}

// TestColourApart resizes pictures with fewer pixels of chroma than of luma.
func TestColourApart(t *testing.T) {
	ratios := []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, ratio := range ratios {
		// Colours that change steadily do not depend on how they are resized.
		img := image.NewYCbCr(image.Rect(0, 0, 64, 48), ratio)
		for y := range 48 {
			for x := range 64 {
				img.Y[img.YOffset(x, y)] = uint8(100 + r.IntN(30))
			}
		}
		columns := float64(64) / float64(img.CStride)
		for i := range img.Cb {
			x := (float64(i%img.CStride) + 0.5) * columns
			img.Cb[i], img.Cr[i] = uint8(96+x), uint8(160-x)
		}
		for _, cut := range []image.Rectangle{img.Rect, image.Rect(8, 4, 51, 37)} {
			size := image.Pt(31, 20)
			got := resized(img.SubImage(cut), size, image.Rectangle{Max: size})
			y := image.NewGray(image.Rect(0, 0, cut.Dx(), cut.Dy()))
			for i := range y.Pix {
				y.Pix[i] = img.Y[img.YOffset(cut.Min.X+i%cut.Dx(), cut.Min.Y+i/cut.Dx())]
			}
			bright := resized(y, size, image.Rectangle{Max: size})
			for i := range size.X * size.Y {
				at := float64(cut.Min.X) + (float64(i%size.X)+0.5)*float64(cut.Dx())/float64(size.X)
				red, green, blue := color.YCbCrToRGB(bright.Pix[3*i], uint8(96+at), uint8(160-at))
				for c, want := range []uint8{red, green, blue} {
					if inner := i%size.X > 2 && i%size.X < size.X-3; inner && math.Abs(float64(got.Pix[3*i+c])-float64(want)) > 5 {
						t.Fatalf("%v, %v: channel %d at %v is %d, want %d", ratio, cut, c, at, got.Pix[3*i+c], want)
					}
				}
			}
		}
	}
}

// TestUpright turns a picture of pixels 1 to 6 in two rows.
func TestUpright(t *testing.T) {
	for orientation, want := range map[int]string{
		1: "3x2 123456", 2: "3x2 321654", 3: "3x2 654321", 4: "3x2 456123",
		5: "2x3 142536", 6: "2x3 415263", 7: "2x3 635241", 8: "2x3 362514", 9: "3x2 123456",
	} {
		p := New(3, 2, [3]uint8{})
		for i := range 6 {
			copy(p.Pix[3*i:], bytes.Repeat([]byte{byte('1' + i)}, 3))
		}
		p, _ = p.Upright(context.Background(), orientation)
		got := fmt.Sprintf("%dx%d ", p.Width, p.Height)
		for i := 0; i < len(p.Pix); i += 3 {
			got += string(p.Pix[i : i+1])
		}
		if got != want {
			t.Errorf("orientation %d: got %s, want %s", orientation, got, want)
		}
	}
}

// TestEnds resizes and turns pictures in contexts that end at different looks. Pictures with more
// rows are looked at more often.
func TestEnds(t *testing.T) {
	const rows, width, size = 1 << 10, 1 << 7, 40
	b := image.Rect(0, 0, width, rows)
	clear := image.NewNRGBA(b)
	for _, img := range []image.Image{image.NewGray(b), image.NewRGBA(b), clear,
		image.NewPaletted(b, color.Palette{color.White}), image.NewYCbCr(b, image.YCbCrSubsampleRatio420)} {
		at := 0
		for ; ; at += 1 + at/16 {
			ctx := testenv.EndingAfter(at)
			p, err := Resize(ctx, img, image.Pt(size, size), image.Rect(0, 0, size, size))
			if err == nil {
				p, err = p.Upright(ctx, 6)
			}
			if !ctx.Over() {
				if err != nil || p.Width != size {
					t.Errorf("%T: %v", img, err)
				}
				break
			}
			if !errors.Is(err, context.DeadlineExceeded) || ctx.Asked() > at+8 {
				t.Errorf("%T, done after %d looks: %v after %d", img, at, err, ctx.Asked())
			}
		}
		if at < rows/2 {
			t.Errorf("%T: %d looks for %d rows", img, at, rows)
		}
	}
}

func BenchmarkResize(b *testing.B) {
	rgba := noise(rand.New(rand.NewPCG(7, 8)), image.Rect(0, 0, 640, 480))
	size := image.Pt(224, 224)
	for _, img := range []image.Image{rgba, image.NewYCbCr(rgba.Rect, image.YCbCrSubsampleRatio420)} {
		b.Run(fmt.Sprintf("%T", img), func(b *testing.B) {
			for b.Loop() {
				resized(img, size, image.Rectangle{Max: size})
			}
		})
	}
}

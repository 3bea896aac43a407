package nacre_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"strings"
	"testing"

	"github.com/nacre-ml/nacre"
)

// numbered returns a grey picture with the pixels 10, 20 and so on.
func numbered(width, height int) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, width, height))
	for i := range img.Pix {
		img.Pix[i] = uint8(10 * (i + 1))
	}
	return img
}

// TestImageFits checks where the pixels of a picture go.
func TestImageFits(t *testing.T) {
	fill := [3]uint8{7, 7, 7}
	crop := nacre.ImageOptions{Fit: nacre.FitCrop}
	narrow := nacre.ImageOptions{Fit: nacre.FitCrop, Shorter: 1, Fill: fill}
	box := nacre.ImageOptions{Fit: nacre.FitLetterbox, Fill: fill}
	for _, tt := range []struct {
		name          string
		options       nacre.ImageOptions
		width, height int // of the picture
		rows, columns any // of the input
		want          string
	}{
		{"the same", nacre.ImageOptions{}, 3, 2, 2, 3, "[10 20 30] [40 50 60]"},
		{"stretched", nacre.ImageOptions{}, 2, 1, 2, 2, "[10 20] [10 20]"},
		{"the middle of a wide one", crop, 4, 2, 2, 2, "[20 30] [60 70]"},
		{"the middle of a high one", crop, 2, 4, 2, 2, "[30 40] [50 60]"},
		{"the middle of 4", nacre.ImageOptions{Fit: nacre.FitCrop, Shorter: 4}, 4, 4, 2, 2, "[60 70] [100 110]"},
		{"one more than a half", narrow, 6, 1, 1, 3, "[30 40 50]"},
		{"beside one cut short", narrow, 2, 1, 3, 2, "[7 7] [10 20] [7 7]"},
		{"a wide one in a box", box, 3, 1, 3, 3, "[7 7 7] [10 20 30] [7 7 7]"},
		{"a high one in a box", box, 1, 3, 3, 2, "[10 7] [20 7] [30 7]"},
		{"what fits a box", box, 2, 2, 2, 2, "[10 20] [30 40]"},
		{"open extents", crop, 3, 2, "h", "w", "[10 20 30] [40 50 60]"},
		{"open extents by a side", nacre.ImageOptions{Shorter: 1}, 5, 1, "h", "w", "[10 20 30 40 50]"},
		{"rows to half", nacre.ImageOptions{}, 1, 4, 2, 1, "[17] [33]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Layout = "nhwc"
			in := input(nacre.Uint8, dims(1, tt.rows, tt.columns, 1))
			x, err := nacre.FromImage(numbered(tt.width, tt.height), in, tt.options)
			if err != nil {
				t.Fatal(err)
			}
			if got := rowsOf(x); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// rowsOf prints the rows of a picture of one channel.
func rowsOf(x *nacre.Tensor) string {
	shape := x.Shape()
	list := make([]string, shape[1])
	for i := range list {
		list[i] = fmt.Sprint(x.Bytes()[i*shape[2]:][:shape[2]])
	}
	return strings.Join(list, " ")
}

// TestImageChannels checks the order of channels and the values of each.
func TestImageChannels(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	img.SetNRGBA(0, 0, color.NRGBA{R: 10, G: 20, B: 30, A: 255})
	for _, tt := range []struct {
		options nacre.ImageOptions
		in      nacre.Info
		want    string
	}{
		{nacre.ImageOptions{Scale: 1}, input(nacre.Float32, dims(1, 3, 1, 1)), "[10 20 30]"},
		{nacre.ImageOptions{Scale: 1, BGR: true}, input(nacre.Float32, dims(1, 3, 1, 1)), "[30 20 10]"},
		{nacre.ImageOptions{BGR: true, Layout: "nhwc"}, input(nacre.Uint8, dims(1, 1, 1, 3)), "[30 20 10]"},
		{
			nacre.ImageOptions{Scale: 2, BGR: true, Mean: []float64{20, 10, 0}, Std: []float64{1, 2, 4}},
			input(nacre.Float32, dims(1, 3, 1, 1)), "[40 15 5]",
		},
		{nacre.ImageOptions{Scale: 1, BGR: true, Layout: "nchw"}, input(nacre.Float32, dims(1, 1, 1, 1)), "[18.15]"},
	} {
		x, err := nacre.FromImage(img, tt.in, tt.options)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(x.Bytes())
		if tt.in.DType == nacre.Float32 {
			values, err := nacre.Data[float32](x)
			if err != nil {
				t.Fatal(err)
			}
			got = fmt.Sprint(values)
		}
		if got != tt.want {
			t.Errorf("%+v: got %s, want %s", tt.options, got, tt.want)
		}
	}
}

// oriented returns a JPEG file of a picture with EXIF data that gives an orientation.
func oriented(t testing.TB, img image.Image, order binary.ByteOrder, orientation int) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := jpeg.Encode(&file, img, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	exif := []byte("Exif\x00\x00II*\x00")
	if order == binary.BigEndian {
		exif = []byte("Exif\x00\x00MM\x00*")
	}
	put := func(entry, kind uint16, value uint16) {
		entryStart := len(exif)
		exif = append(exif, make([]byte, 12)...)
		order.PutUint16(exif[entryStart:], entry)
		order.PutUint16(exif[entryStart+2:], kind)
		order.PutUint32(exif[entryStart+4:], 1)
		order.PutUint16(exif[entryStart+8:], value)
	}
	exif = append(exif, 0, 0, 0, 0, 0, 0)
	order.PutUint32(exif[10:], 8)
	order.PutUint16(exif[14:], 2)
	put(0x0100, 3, 6) // another entry
	put(0x0112, 3, uint16(orientation))
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(exif)+2))
	data := file.Bytes()
	return bytes.Join([][]byte{data[:2], segment, exif, data[2:]}, nil)
}

// TestOrientation turns JPEG files by their EXIF orientation, also files that are cropped.
func TestOrientation(t *testing.T) {
	// Blocks of 8x8 pixels are 40, 80, 120 in one row and 160, 200, 240 in the next.
	img := image.NewGray(image.Rect(0, 0, 24, 16))
	for i := range img.Pix {
		img.Pix[i] = uint8(40 * (1 + i%24/8 + 3*(i/24/8)))
	}
	blocks := map[int]string{
		1: "[40 80 120] [160 200 240]", 2: "[120 80 40] [240 200 160]",
		3: "[240 200 160] [120 80 40]", 4: "[160 200 240] [40 80 120]",
		5: "[40 160] [80 200] [120 240]", 6: "[160 40] [200 80] [240 120]",
		7: "[240 120] [200 80] [160 40]", 8: "[120 240] [80 200] [40 160]",
		0: "[40 80 120] [160 200 240]", 9: "[40 80 120] [160 200 240]",
	}
	open := input(nacre.Uint8, dims(1, "h", "w", 1))
	for orientation, want := range blocks {
		for _, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
			file := oriented(t, img, order, orientation)
			x, err := nacre.DecodeImage(file, open, nacre.ImageOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := sampled(x, 4); got != want {
				t.Errorf("orientation %d, %v: got %s, want %s", orientation, order, got, want)
			}
			x, err = nacre.DecodeImage(file, open, nacre.ImageOptions{AsStored: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := sampled(x, 4); got != blocks[1] {
				t.Errorf("orientation %d as stored: got %s", orientation, got)
			}
		}
	}
	// The middle of a picture that is stored on its side.
	turned := oriented(t, img, binary.BigEndian, 6)
	middle := nacre.ImageOptions{Fit: nacre.FitCrop, Shorter: 16}
	x, err := nacre.DecodeImage(turned, input(nacre.Uint8, dims(1, 16, 8, 1)), middle)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(x.Bytes()[0], x.Bytes()[7], x.Bytes()[8*15], x.Bytes()[8*15+7]); got != "160 40 240 120" {
		t.Errorf("the middle has the corners %s", got)
	}
}

// sampled prints every eighth pixel of every eighth row, beginning at from.
func sampled(x *nacre.Tensor, from int) string {
	shape := x.Shape()
	var list []string
	for y := from; y < shape[1]; y += 8 {
		var row []byte
		for c := from; c < shape[2]; c += 8 {
			row = append(row, (x.Bytes()[y*shape[2]+c]+2)/4*4)
		}
		list = append(list, fmt.Sprint(row))
	}
	return strings.Join(list, " ")
}

func TestImageOptionErrors(t *testing.T) {
	in := input(nacre.Float32, dims(1, 3, 2, 2))
	for _, o := range []nacre.ImageOptions{
		{Fit: 9}, {Shorter: -1}, {Shorter: 1 << 40}, {Shorter: 4, Fit: nacre.FitLetterbox}, {MaxPixels: -1},
	} {
		if _, err := nacre.FromImage(numbered(3, 3), in, o); !errors.Is(err, nacre.ErrOption) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
	_, err := nacre.DecodeImage(twoColours(t), in, nacre.ImageOptions{MaxPixels: 7})
	if !errors.Is(err, nacre.ErrUnsupported) {
		t.Errorf("8 pixels of 7: got %v", err)
	}
	if _, err := nacre.DecodeImage(twoColours(t), in,
		nacre.ImageOptions{MaxPixels: -1}); !errors.Is(err, nacre.ErrOption) {
		t.Errorf("a file, with -1 pixels: got %v", err)
	}
	if _, err := nacre.FromImage(image.White, in, nacre.ImageOptions{}); !errors.Is(err, nacre.ErrUnsupported) {
		t.Errorf("a picture without end: got %v", err)
	}
	four, means := input(nacre.Float32, dims(1, 4, 2, 2)), nacre.ImageOptions{Layout: "nchw", Mean: []float64{1, 2, 3}}
	if _, err := nacre.FromImage(numbered(3, 3), four, means); !errors.Is(err, nacre.ErrShape) {
		t.Errorf("four channels: got %v", err)
	}
	if _, err := nacre.DecodeImage(twoColours(t), in, nacre.ImageOptions{MaxPixels: 8}); err != nil {
		t.Errorf("8 pixels of 8: got %v", err)
	}
	large := nacre.ImageOptions{Fit: nacre.FitCrop, Shorter: 1 << 20}
	if _, err := nacre.FromImage(numbered(25, 1), in, large); !errors.Is(err, nacre.ErrShape) {
		t.Errorf("a picture enlarged a million times: got %v", err)
	}
}

// FuzzOrientation reads EXIF data of any bytes.
func FuzzOrientation(f *testing.F) {
	img := numbered(4, 3)
	file := oriented(f, img, binary.BigEndian, 6)
	for i := range 60 {
		f.Add(i, byte(0xff))
	}
	f.Fuzz(func(t *testing.T, at int, b byte) {
		data := bytes.Clone(file)
		data[uint(at)%uint(len(data))] = b
		open, few := input(nacre.Uint8, dims(1, "h", "w", 1)), nacre.ImageOptions{MaxPixels: 1 << 16}
		_, _ = nacre.DecodeImage(data, open, few)
		_, _ = nacre.DecodeImage(data[:uint(at)%uint(len(data))], open, few)
	})
}

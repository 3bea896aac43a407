package vision

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/internal/optest/cases"
	"github.com/nacre-ml/nacre/runtime/tensor"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// imageCases adds pictures of lossless formats. Package picture tests others.
func imageCases(s *cases.Suite) {
	encoders := map[string]func(w io.Writer, m image.Image) error{
		"png": png.Encode,
		"bmp": bmp.Encode,
		"tiff": func(w io.Writer, m image.Image) error {
			return tiff.Encode(w, m, &tiff.Options{Compression: tiff.Deflate, Predictor: true})
		},
		"pnm": encodePNM,
	}
	for _, size := range [][2]int{{1, 1}, {7, 5}, {32, 3}} {
		rgb := s.Any(tensor.U8, size[1], size[0], 3)
		for i := range rgb.Bytes() {
			rgb.Bytes()[i] = byte(s.IntN(256))
		}
		for _, name := range []string{"png", "bmp", "tiff", "pnm"} {
			pictureCases(s, name, encoders[name], rgb)
		}
	}
	good := encoded(png.Encode, image.NewGray(image.Rect(0, 0, 3, 3)))
	for note, file := range map[string][]byte{"nothing": {}, "rubbish": []byte("no picture at all"), "cut off": good[:len(good)/2], "huge": []byte("P5 999999999 999999999 255 "),
		"broken": append(good[:40:40], make([]byte, 60)...)} {
		s.Add(cases.Case{Op: "ImageDecoder", Version: 20, Note: note, In: cases.In(fileOf(file)),
			Want: cases.Want(tensor.New(tensor.U8, 0, 0, 3))})
	}
	s.Add(cases.Case{Op: "ImageDecoder", Version: 20, Note: "grey of nothing", Attrs: cases.Attrs("pixel_format",
		"Grayscale"), In: cases.In(fileOf(nil)), Want: cases.Want(tensor.New(tensor.U8, 0, 0, 1))})
	s.Add(cases.Case{Op: "ImageDecoder", Version: 20, Note: "format", Attrs: cases.Attrs("pixel_format", "rgb"),
		In: cases.In(fileOf(good)), Fails: graph.ErrFormat})
	s.Add(cases.Case{Op: "ImageDecoder", Version: 20, Note: "shape",
		In: cases.In(cases.Seen(fileOf(good), 1, len(good))), Fails: graph.ErrShape})
	// Arithmetic coding is valid but not supported.
	s.Add(cases.Case{Op: "ImageDecoder", Version: 20, Note: "unsupported",
		In:    cases.In(fileOf([]byte("\xff\xd8\xff\xc9\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00"))),
		Fails: graph.ErrUnsupported})
}

// pictureCases reads a picture in every order of channels, and a grey one.
func pictureCases(s *cases.Suite, name string, encode func(w io.Writer, m image.Image) error, rgb *tensor.Tensor) {
	h, w := rgb.Shape()[0], rgb.Shape()[1]
	m, grey := image.NewNRGBA(image.Rect(0, 0, w, h)), image.NewGray(image.Rect(0, 0, w, h))
	bgr, luma, single, three := tensor.New(tensor.U8, h, w, 3), tensor.New(tensor.U8, h, w, 1),
		tensor.New(tensor.U8, h, w, 1), tensor.New(tensor.U8, h, w, 3)
	for i := range w * h {
		p := rgb.Bytes()[3*i:]
		m.SetNRGBA(i%w, i/w, color.NRGBA{p[0], p[1], p[2], 255})
		grey.SetGray(i%w, i/w, color.Gray{p[0]})
		for k := range 3 {
			bgr.Bytes()[3*i+k], three.Bytes()[3*i+k] = p[2-k], p[0]
		}
		single.Bytes()[i] = p[0]
		// The weights are ITU-R BT.601's in fractions of 65536.
		luma.Bytes()[i] = byte((19595*int(p[0]) + 38470*int(p[1]) + 7471*int(p[2]) + 32768) / 65536)
	}
	coloured, plain := fileOf(encoded(encode, m)), fileOf(encoded(encode, grey))
	add := func(note string, file, y *tensor.Tensor, list ...any) {
		s.Add(cases.Case{Op: "ImageDecoder", Version: 20, Note: name + " " + note, Attrs: cases.Attrs(list...),
			In: cases.In(file), Want: cases.Want(y)})
	}
	add("as it is", coloured, rgb)
	add("rgb", coloured, rgb, "pixel_format", "RGB")
	add("bgr", coloured, bgr, "pixel_format", "BGR")
	add("luma", coloured, luma, "pixel_format", "Grayscale")
	add("grey", plain, single, "pixel_format", "Grayscale")
	add("grey to rgb", plain, three, "pixel_format", "RGB")
	add("grey to bgr", plain, three, "pixel_format", "BGR")
}

func encoded(encode func(w io.Writer, m image.Image) error, m image.Image) []byte {
	var b bytes.Buffer
	if err := encode(&b, m); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func encodePNM(w io.Writer, m image.Image) error {
	b := m.Bounds()
	grey, ok := m.(*image.Gray)
	if ok {
		_, err := fmt.Fprintf(w, "P5\n%d %d\n255\n%s", b.Dx(), b.Dy(), grey.Pix)
		return err
	}
	fmt.Fprintf(w, "P6\n%d %d\n255\n", b.Dx(), b.Dy())
	for i := range b.Dx() * b.Dy() {
		c := m.(*image.NRGBA).Pix[4*i:]
		if _, err := w.Write(c[:3]); err != nil {
			return err
		}
	}
	return nil
}

// fileOf returns the bytes of a file as a vector.
func fileOf(data []byte) *tensor.Tensor {
	t := tensor.New(tensor.U8, len(data))
	copy(t.Bytes(), data)
	return t
}

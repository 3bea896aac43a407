package nacre

import (
	"bytes"
	"errors"
	"image"
	_ "image/jpeg" // a format that DecodeImage reads
	_ "image/png"  // a format that DecodeImage reads
	"slices"

	"golang.org/x/image/draw"

	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ImageOptions say how a picture becomes a tensor. Each channel of a pixel becomes
// (value*Scale - Mean) / Std, with values from 0 to 255. The zero value gives numbers
// from 0 to 1.
type ImageOptions struct {
	// Scale is the factor of values; 0 is 1/255.
	Scale float64
	// Mean and Std have one number, or one for each channel; nil is 0 and 1.
	Mean, Std []float64
	// Layout is "nchw" for channels in front of rows and columns, "nhwc" for channels
	// behind them, and empty for the one whose channels are known to be 1 or 3.
	Layout string
}

// maxPixels bounds the size of a picture that is decoded.
const maxPixels = 1 << 28

// DecodeImage is FromImage of a PNG or JPEG file in memory, or one of another format
// that the program registered with package image. The error is also ErrFormat if the
// file cannot be decoded, and ErrUnsupported if it has more than 1<<28 pixels.
func DecodeImage(data []byte, in Info, o ImageOptions) (*Tensor, error) {
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if errors.Is(err, image.ErrFormat) {
		return nil, markf(ErrFormat, "the picture, %d bytes, is neither PNG nor JPEG nor of a format that the program registered with package image", len(data))
	}
	if err != nil {
		return nil, mark(ErrFormat, err)
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width > maxPixels/config.Height {
		return nil, markf(ErrUnsupported, "a picture of %dx%d is too large", config.Width, config.Height)
	}
	if _, err := o.frame(in, config.Width, config.Height); err != nil {
		return nil, err
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, mark(ErrFormat, err)
	}
	return FromImage(img, in, o)
}

// FromImage makes a picture a tensor for an input: of its element type, Float32 or
// Uint8, its extents, and one picture to the batch. The picture is resized to rows and
// columns that the input declares, by bilinear interpolation that averages where it
// shrinks, and keeps its own where these are open. Open channels are three; one
// channel is 0.299 red + 0.587 green + 0.114 blue. Uint8 takes values from 0 to 255,
// whatever Scale, Mean and Std are.
//
// The error is ErrShape if the input is of another element type, has other than 3 or 4
// axes, other than 1 or 3 channels, or other than one picture to the batch, and
// ErrOption if Layout is needed, or an option does not fit the input.
func FromImage(img image.Image, in Info, o ImageOptions) (*Tensor, error) {
	if img == nil || img.Bounds().Empty() {
		return nil, markf(ErrShape, "the picture has no pixels")
	}
	fr, err := o.frame(in, img.Bounds().Dx(), img.Bounds().Dy())
	if err != nil {
		return nil, err
	}
	t, err := Zeros(in.DType, fr.shape...)
	if err != nil {
		return nil, err
	}
	fr.fill(t, fr.resized(img), o)
	return t, nil
}

// frame is where the axes of a picture stand in a tensor.
type frame struct {
	shape         tensor.Shape
	c, h, w       int // axes
	channels      int
	height, width int
}

// frame decides extents and layout, and checks the options.
func (o ImageOptions) frame(in Info, width, height int) (frame, error) {
	var fr frame
	if in.Kind != TensorKind || in.DType != Float32 && in.DType != Uint8 {
		return fr, markf(ErrShape, "a picture becomes float32 or uint8, and the model takes %s", in.Type())
	}
	rank := len(in.Shape)
	if rank != 3 && rank != 4 {
		return fr, markf(ErrShape, "a picture has 3 or 4 axes, and the model takes %s", in.Type())
	}
	layout, err := o.layout(in)
	if err != nil {
		return fr, err
	}
	if first := rank - 3; layout == "nchw" {
		fr = frame{c: first, h: first + 1, w: first + 2}
	} else {
		fr = frame{c: first + 2, h: first, w: first + 1}
	}
	known := func(axis, otherwise int) int {
		if d := in.Shape[axis]; !d.Open() {
			return d.Size
		}
		return otherwise
	}
	fr.channels, fr.height, fr.width = known(fr.c, 3), known(fr.h, height), known(fr.w, width)
	if fr.channels != 1 && fr.channels != 3 || rank == 4 && known(0, 1) != 1 {
		return fr, markf(ErrShape, "one picture has 1 or 3 channels and makes a batch of 1; the model takes %s", in.Type())
	}
	fr.shape = make(tensor.Shape, rank)
	fr.shape[0] = 1
	fr.shape[fr.c], fr.shape[fr.h], fr.shape[fr.w] = fr.channels, fr.height, fr.width
	if err := fr.shape.Check(); err != nil || fr.width > maxPixels/max(fr.height, 1) {
		return fr, markf(ErrShape, "a picture of %dx%d is too large", fr.width, fr.height)
	}
	return fr, o.check(fr.channels)
}

// layout returns nchw or nhwc for an input of 3 or 4 axes.
func (o ImageOptions) layout(in Info) (string, error) {
	rank := len(in.Shape)
	channels := func(d Dim) bool { return d.Size == 1 || d.Size == 3 }
	switch {
	case o.Layout == "nchw" || o.Layout == "nhwc":
		return o.Layout, nil
	case o.Layout != "":
		return "", markf(ErrOption, "option Layout is %q; it is nchw, nhwc or empty", o.Layout)
	case channels(in.Shape[rank-3]):
		return "nchw", nil
	case channels(in.Shape[rank-1]):
		return "nhwc", nil
	}
	return "", markf(ErrOption, "no axis of %s shows by its extent that it holds channels; say nchw or nhwc with option Layout", in.Type())
}

func (o ImageOptions) check(channels int) error {
	for _, list := range [][]float64{o.Mean, o.Std} {
		if len(list) > 1 && len(list) != channels {
			return markf(ErrOption, "options Mean and Std have 1 or %d numbers here", channels)
		}
	}
	if slices.Contains(o.Std, 0) {
		return markf(ErrOption, "option Std has a 0, by which nothing can be divided")
	}
	return nil
}

// resized returns the picture in the frame's rows and columns.
func (fr *frame) resized(img image.Image) *image.RGBA {
	bounds := image.Rect(0, 0, fr.width, fr.height)
	sized := image.NewRGBA(bounds)
	if img.Bounds().Size() == bounds.Size() {
		draw.Draw(sized, bounds, img, img.Bounds().Min, draw.Src)
	} else {
		draw.BiLinear.Scale(sized, bounds, img, img.Bounds(), draw.Src, nil)
	}
	return sized
}

// fill stores the values of a picture.
func (fr *frame) fill(t *Tensor, img *image.RGBA, o ImageOptions) {
	steps := fr.shape.Strides()
	scale := o.Scale
	if scale == 0 {
		scale = 1.0 / 255
	}
	for y := range fr.height {
		for x := range fr.width {
			p := img.RGBAAt(x, y)
			values := [3]float64{float64(p.R), float64(p.G), float64(p.B)}
			if fr.channels == 1 {
				values[0] = 0.299*values[0] + 0.587*values[1] + 0.114*values[2]
			}
			for c := range fr.channels {
				at := c*steps[fr.c] + y*steps[fr.h] + x*steps[fr.w]
				if t.DType() == Uint8 {
					t.Bytes()[at] = uint8(values[c] + 0.5)
					continue
				}
				tensor.View[float32](&t.t)[at] = float32((values[c]*scale - pick(o.Mean, c, 0)) / pick(o.Std, c, 1))
			}
		}
	}
}

// pick returns element i of a list, the only one of a list of one, or def of none.
func pick(list []float64, i int, def float64) float64 {
	if len(list) == 0 {
		return def
	}
	return list[min(i, len(list)-1)]
}

package main

import (
	"bytes"
	"fmt"
	"image"
	_ "image/jpeg" // the formats that image.Decode reads
	_ "image/png"

	"github.com/spf13/pflag"
	"golang.org/x/image/draw"

	"github.com/nacre-ml/nacre/runtime/graph"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// maxPixels bounds the size of a picture that is decoded.
const maxPixels = 1 << 28

// pictureFlags say how a picture becomes a tensor: it is resized to the input's
// extents, and each channel becomes (value*scale - mean) / std with values from
// 0 to 255.
type pictureFlags struct {
	scale  float64
	mean   []float64
	std    []float64
	layout string
}

func (f *pictureFlags) add(flags *pflag.FlagSet) {
	flags.Float64Var(&f.scale, "image-scale", 1.0/255, "pictures: factor of the values 0 to 255")
	flags.Float64SliceVar(&f.mean, "image-mean", []float64{0}, "pictures: subtracted after scaling; one number, or one per channel")
	flags.Float64SliceVar(&f.std, "image-std", []float64{1}, "pictures: divided by after that; one number, or one per channel")
	flags.StringVar(&f.layout, "image-layout", "auto", "pictures: nchw, nhwc, or auto for the one with 1 or 3 channels")
	flags.Lookup("image-scale").DefValue = "1/255"
}

// frame is where the axes of a picture stand in a tensor.
type frame struct {
	shape         tensor.Shape
	c, h, w       int // axes
	channels      int
	height, width int
}

// tensor makes the picture an input of type t.
func (f *pictureFlags) tensor(data []byte, t graph.Type) (*tensor.Tensor, error) {
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if config.Width <= 0 || config.Height <= 0 || config.Width > maxPixels/config.Height {
		return nil, fmt.Errorf("a picture of %dx%d is too large", config.Width, config.Height)
	}
	fr, err := f.frame(t, config.Width, config.Height)
	if err != nil {
		return nil, err
	}
	if err := f.check(fr.channels); err != nil {
		return nil, err
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return f.fill(fr, t.DType, img)
}

// frame decides extents and layout.
func (f *pictureFlags) frame(t graph.Type, width, height int) (frame, error) {
	var fr frame
	if t.Kind != graph.TensorType || t.DType != tensor.F32 && t.DType != tensor.U8 {
		return fr, fmt.Errorf("a picture becomes float32 or uint8, and the model takes %v; use .npy or .pb", t)
	}
	rank := len(t.Dims)
	if rank != 3 && rank != 4 {
		return fr, fmt.Errorf("a picture has 3 or 4 axes, and the model takes %v; use .npy or .pb", t)
	}
	first, last := rank-3, rank-1
	layout := f.layout
	if layout == "auto" {
		switch {
		case t.Dims[first].Is(1), t.Dims[first].Is(3):
			layout = "nchw"
		case t.Dims[last].Is(1), t.Dims[last].Is(3):
			layout = "nhwc"
		default:
			return fr, fmt.Errorf("no axis of %v shows by its extent that it holds channels; say --image-layout nchw or nhwc", t)
		}
	}
	switch layout {
	case "nchw":
		fr = frame{c: first, h: first + 1, w: last}
	case "nhwc":
		fr = frame{c: last, h: first, w: first + 1}
	default:
		return fr, usagef("--image-layout %s: have auto, nchw, nhwc", f.layout)
	}
	known := func(axis, otherwise int) int {
		if n, ok := t.Dims[axis].Value(); ok {
			return n
		}
		return otherwise
	}
	fr.channels, fr.height, fr.width = known(fr.c, 3), known(fr.h, height), known(fr.w, width)
	if fr.channels != 1 && fr.channels != 3 || rank == 4 && known(0, 1) != 1 {
		return fr, fmt.Errorf("one picture has 1 or 3 channels and makes a batch of 1; the model takes %v", t)
	}
	fr.shape = make(tensor.Shape, rank)
	fr.shape[0] = 1
	fr.shape[fr.c], fr.shape[fr.h], fr.shape[fr.w] = fr.channels, fr.height, fr.width
	return fr, fr.shape.Check()
}

func (f *pictureFlags) check(channels int) error {
	for _, list := range [][]float64{f.mean, f.std} {
		if len(list) != 1 && len(list) != channels {
			return usagef("--image-mean and --image-std take 1 or %d numbers here", channels)
		}
	}
	return nil
}

// fill resizes the picture and stores its values.
func (f *pictureFlags) fill(fr frame, d tensor.DType, img image.Image) (*tensor.Tensor, error) {
	bounds := image.Rect(0, 0, fr.width, fr.height)
	sized := image.NewRGBA(bounds)
	if img.Bounds().Size() == bounds.Size() {
		draw.Draw(sized, bounds, img, img.Bounds().Min, draw.Src)
	} else {
		draw.BiLinear.Scale(sized, bounds, img, img.Bounds(), draw.Src, nil)
	}
	t := tensor.New(d, fr.shape...)
	steps := fr.shape.Strides()
	for y := range fr.height {
		for x := range fr.width {
			p := sized.RGBAAt(x, y)
			values := [3]float64{float64(p.R), float64(p.G), float64(p.B)}
			if fr.channels == 1 {
				values[0] = 0.299*values[0] + 0.587*values[1] + 0.114*values[2]
			}
			for c := range fr.channels {
				at := c*steps[fr.c] + y*steps[fr.h] + x*steps[fr.w]
				if d == tensor.U8 {
					t.Bytes()[at] = uint8(values[c] + 0.5)
					continue
				}
				tensor.View[float32](t)[at] = float32((values[c]*f.scale - pick(f.mean, c)) / pick(f.std, c))
			}
		}
	}
	return t, nil
}

func pick(list []float64, i int) float64 { return list[min(i, len(list)-1)] }

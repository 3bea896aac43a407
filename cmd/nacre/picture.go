package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
)

// pictureFlags are the flags that say how a picture becomes a tensor. It is fitted to the input's
// extents, and a value of 0 to 255 becomes (value*scale - mean) / std, by channel.
type pictureFlags struct {
	scale   float64
	mean    []float64
	std     []float64
	layout  string
	fit     string
	shorter int
	fill    []uint
	bgr     bool
	stored  bool
	memory  *size // --memory-limit; nil if the command has no such flag
}

// fits lists the ways to fit a picture, by name.
var fits = map[string]nacre.ImageFit{
	"stretch": nacre.FitStretch, "crop": nacre.FitCrop, "letterbox": nacre.FitLetterbox,
}

func (f *pictureFlags) add(flags *pflag.FlagSet) {
	flags.Float64Var(&f.scale, "image-scale", 1.0/255, "pictures: factor of the values 0 to 255")
	flags.Float64SliceVar(&f.mean, "image-mean", []float64{0},
		"pictures: subtracted after scaling; one number, or one per channel")
	flags.Float64SliceVar(&f.std, "image-std", []float64{1},
		"pictures: divided by after that; one number, or one per channel")
	flags.StringVar(&f.layout, "image-layout", "auto", "pictures: nchw, nhwc, or auto for the one with 1 or 3 channels")
	flags.StringVar(&f.fit, "image-fit", "stretch",
		"pictures of another shape: stretch, crop to keep the middle, or letterbox to fill beside the picture")
	flags.IntVar(&f.shorter, "image-shorter", 0,
		"pictures: length of the shorter side before --image-fit crop cuts the middle out, such as 256; 0 for the least")
	flags.UintSliceVar(&f.fill, "image-fill", []uint{0, 0, 0},
		"pictures: red, green and blue beside one of --image-fit letterbox, such as 114,114,114")
	flags.BoolVar(&f.bgr, "image-bgr", false, "pictures: blue first and red last")
	flags.BoolVar(&f.stored, "image-as-stored", false,
		"pictures: leave a JPEG as its pixels are stored, whatever its EXIF data says")
	flags.Lookup("image-scale").DefValue = "1/255"
}

// most returns the most bytes of a picture file.
func (f *pictureFlags) most() int64 {
	if f.memory != nil && *f.memory > 0 {
		return min(mostOfPicture, int64(*f.memory))
	}
	return mostOfPicture
}

// tensor returns the picture in data as a tensor for the input in, unless ctx ends.
func (f *pictureFlags) tensor(ctx context.Context, data []byte, in nacre.Info) (*nacre.Tensor, error) {
	if f.scale == 0 || len(f.mean) == 0 || len(f.std) == 0 {
		return nil, usagef("--image-scale must not be 0, and --image-mean and --image-std not empty")
	}
	fit, ok := fits[f.fit]
	if !ok {
		return nil, usagef("--image-fit is %q; it is stretch, crop or letterbox", f.fit)
	}
	o := nacre.ImageOptions{
		Scale: f.scale, Mean: f.mean, Std: f.std, Fit: fit, Shorter: f.shorter, BGR: f.bgr, AsStored: f.stored,
	}
	if len(f.fill) != len(o.Fill) {
		return nil, usagef("--image-fill takes 3 numbers, red, green and blue")
	}
	for i, v := range f.fill {
		if v > 255 {
			return nil, usagef("--image-fill takes numbers up to 255")
		}
		o.Fill[i] = uint8(v)
	}
	if f.layout != "auto" {
		o.Layout = f.layout
	}
	if f.memory != nil {
		o.MemoryLimit = int(*f.memory)
	}
	t, err := nacre.DecodeImageContext(ctx, data, in, o)
	switch {
	case errors.Is(err, nacre.ErrOption):
		return nil, usageError{err}
	case errors.Is(err, nacre.ErrShape):
		return nil, fmt.Errorf("%w; use .npy or .pb", err)
	}
	return t, err
}

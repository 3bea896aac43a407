package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/nacre-ml/nacre"
)

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

// tensor makes the picture a tensor for an input.
func (f *pictureFlags) tensor(data []byte, in nacre.Info) (*nacre.Tensor, error) {
	if f.scale == 0 || len(f.mean) == 0 || len(f.std) == 0 {
		return nil, usagef("--image-scale must not be 0, and --image-mean and --image-std not empty")
	}
	o := nacre.ImageOptions{Scale: f.scale, Mean: f.mean, Std: f.std}
	if f.layout != "auto" {
		o.Layout = f.layout
	}
	t, err := nacre.DecodeImage(data, in, o)
	switch {
	case errors.Is(err, nacre.ErrOption):
		return nil, usageError{fmt.Errorf("%w (--image-layout, --image-mean, --image-std)", err)}
	case errors.Is(err, nacre.ErrShape):
		return nil, fmt.Errorf("%w; use .npy or .pb", err)
	}
	return t, err
}

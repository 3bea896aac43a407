package main

import (
	"context"
	"fmt"
	"image"
	"image/color/palette"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"strings"

	"github.com/nacre-ml/nacre"
	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/internal/printable"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// raster is a tensor as rows of pixels.
type raster struct {
	t                       *tensor.Tensor
	at                      func(i int) float64
	height, width, channels int
	// The elements between neighbours of one channel, of one pixel and of one row.
	channel, pixel, row int
}

// writePictures stores the outputs of --picture.
func (f *runFlags) writePictures(ctx context.Context, w io.Writer, out map[string]nacre.Value) error {
	for _, arg := range f.pictures {
		name, path, _ := strings.Cut(arg, "=")
		t, ok := out[name].(*nacre.Tensor)
		if !ok {
			return usagef("--picture %s: no output %q is a tensor", arg, name)
		}
		img, err := pictureOf(ctx, plainTensor(t))
		if err != nil {
			return fmt.Errorf("output %q: %w", name, err)
		}
		if err := writeFile(ctx, path, func(w io.Writer) error { return png.Encode(w, img) }); err != nil {
			return err
		}
		printable.Fprintf(w, "%s %v -> %s\n", name, t, path)
	}
	return nil
}

// checkPictures checks the form of --picture.
func (f *runFlags) checkPictures() error {
	for _, arg := range f.pictures {
		name, path, ok := strings.Cut(arg, "=")
		if !ok || name == "" || strings.ToLower(filepath.Ext(path)) != ".png" {
			return usagef("--picture %s: the form is NAME=FILE.png", arg)
		}
	}
	return nil
}

// pictureOf returns a tensor as a picture. Axes of extent 1 before the last three do not count. Of
// three axes, the shorter of the first and the last is channels. One channel is grey, 3 are colours, 4
// are colours and opacity. Other numbers of channels are scores of classes: a pixel has the colour of
// its best class. Integers of more than 8 bits are classes.
func pictureOf(ctx context.Context, t *tensor.Tensor) (image.Image, error) {
	r, err := rasterOf(t)
	if err != nil {
		return nil, err
	}
	kind := t.DType().Kind()
	classes := r.channels == 1 && (kind == tensor.Signed || kind == tensor.Unsigned && t.DType() != tensor.U8)
	if classes || r.channels == 2 || r.channels > 4 {
		return r.classes(ctx)
	}
	scale, err := r.scale(ctx)
	if err != nil {
		return nil, err
	}
	area := image.Rect(0, 0, r.width, r.height)
	if r.channels == 1 {
		img := image.NewGray(area)
		err := r.each(ctx, func(i, at int) { img.Pix[i] = scale(r.at(at)) })
		return img, err
	}
	img := image.NewNRGBA(area)
	err = r.each(ctx, func(i, at int) {
		img.Pix[4*i+3] = math.MaxUint8
		for c := range r.channels {
			img.Pix[4*i+c] = scale(r.at(at + c*r.channel))
		}
	})
	return img, err
}

// rasterOf finds the axes of a picture.
func rasterOf(t *tensor.Tensor) (*raster, error) {
	shape := t.Shape()
	for len(shape) > 3 && shape[0] == 1 {
		shape = shape[1:]
	}
	r := &raster{t: t, at: tensor.Numbers(t), channels: 1}
	switch {
	case r.at == nil || t.Len() == 0 || len(shape) != 2 && len(shape) != 3:
		return nil, fmt.Errorf("%v is no picture, of height and width, and channels before or after them; --out stores it", t)
	case len(shape) == 2:
		r.height, r.width, r.pixel, r.row = shape[0], shape[1], 1, shape[1]
	case shape[0] <= shape[2]:
		r.channels, r.height, r.width = shape[0], shape[1], shape[2]
		r.channel, r.pixel, r.row = shape[1]*shape[2], 1, shape[2]
	default:
		r.height, r.width, r.channels = shape[0], shape[1], shape[2]
		r.channel, r.pixel, r.row = 1, shape[2], shape[1]*shape[2]
	}
	return r, nil
}

// each calls set for every pixel i, with the index of its first element.
func (r *raster) each(ctx context.Context, set func(i, at int)) error {
	return pieces.Each(ctx, r.height*r.width, max(pieces.Elements/r.channels, 1), func(from, to int) {
		for i := from; i < to; i++ {
			set(i, i/r.width*r.row+i%r.width*r.pixel)
		}
	})
}

// scale returns a function from elements to 0..255. Booleans and numbers in 0..1 are stretched from 0..1,
// other numbers in 0..255 are rounded, and any others are stretched from the least to the largest. A NaN
// is 0.
func (r *raster) scale(ctx context.Context) (func(float64) uint8, error) {
	lo, hi := math.Inf(1), math.Inf(-1)
	err := pieces.Each(ctx, r.t.Len(), pieces.Elements, func(from, to int) {
		for i := from; i < to; i++ {
			if v := r.at(i); v-v == 0 {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	})
	switch {
	case lo >= 0 && hi <= math.MaxUint8 && (hi > 1 || r.t.DType() == tensor.U8):
		lo, hi = 0, math.MaxUint8
	case lo >= 0 && hi <= 1:
		lo, hi = 0, 1
	case lo == hi:
		hi++
	}
	return func(v float64) uint8 {
		if v != v {
			return 0
		}
		return uint8(math.Round(math.MaxUint8 * min(max((v-lo)/(hi-lo), 0), 1)))
	}, err
}

// classes returns a picture with a colour for each class: the number of one channel, or the channel with
// the largest score. Class 0 is black.
func (r *raster) classes(ctx context.Context) (image.Image, error) {
	const step = 89 // neighbouring classes have colours far apart, and all colours are used
	colours := len(palette.WebSafe)
	img := image.NewPaletted(image.Rect(0, 0, r.width, r.height), palette.WebSafe)
	err := r.each(ctx, func(i, at int) {
		class := 0
		if r.channels == 1 {
			class = int(r.at(at)) % colours
		}
		for c := range r.channels {
			if r.channels > 1 && r.at(at+c*r.channel) > r.at(at+class*r.channel) {
				class = c
			}
		}
		img.Pix[i] = uint8((class%colours + colours) * step % colours)
	})
	return img, err
}

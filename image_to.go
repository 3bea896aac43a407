package nacre

import (
	"image"
	"math"
)

// ToImage makes a picture from a tensor, such as a mask or a picture that a model drew: the inverse
// of FromImage. Its shape is [rows,columns], or has one or three channels beside these, before them
// or after them (Layout), and may have a batch of one first. An element x becomes the value
// (x*Std + Mean) / Scale, rounded and bounded to 0 and 255; NaN becomes 0. Uint8 elements are values.
// The zero ImageOptions take numbers from 0 to 1. Only Scale, Mean, Std, BGR and Layout are read.
//
// The picture is an *image.Gray or, with three channels, an opaque *image.NRGBA in memory of its own.
// The error is ErrShape for elements that are neither floating-point nor Uint8 and for another
// shape, and ErrOption for options that do not fit.
func ToImage(t *Tensor, o ImageOptions) (_ image.Image, err error) {
	defer enter("").end(&err)
	p, err := o.picture(t)
	if err != nil {
		return nil, err
	}
	values, err := o.values(t)
	if err != nil {
		return nil, err
	}
	bounds := image.Rect(0, 0, p.width, p.height)
	if p.channels == 1 {
		img := image.NewGray(bounds)
		for i := range img.Pix {
			img.Pix[i] = values(i, 0)
		}
		return img, nil
	}
	img := image.NewNRGBA(bounds)
	for i := range p.width * p.height {
		pixel := img.Pix[4*i:][:4]
		for c := range 3 {
			to := c
			if o.BGR {
				to = 2 - c
			}
			pixel[to] = values(i*p.pixel+c*p.channel, c)
		}
		pixel[3] = math.MaxUint8
	}
	return img, nil
}

// picture is the place of a picture in a tensor.
type picture struct {
	width, height, channels int
	pixel, channel          int // distances of pixels of a row and of channels
}

// picture finds the picture in a tensor, and checks the options.
func (o ImageOptions) picture(t *Tensor) (picture, error) {
	shape := t.Shape()
	if len(shape) == 4 && shape[0] == 1 {
		shape = shape[1:]
	}
	p := picture{channels: 1, pixel: 1}
	switch len(shape) {
	case 2:
		p.height, p.width = shape[0], shape[1]
	case 3:
		in := Info{Kind: TensorKind, DType: t.DType(), Shape: []Dim{{Size: shape[0]}, {Size: shape[1]}, {Size: shape[2]}}}
		layout, err := o.layout(in)
		if err != nil {
			return p, err
		}
		if p.channels, p.height, p.width = shape[0], shape[1], shape[2]; layout == "nhwc" {
			p.height, p.width, p.channels = shape[0], shape[1], shape[2]
			p.pixel, p.channel = p.channels, 1
		} else {
			p.channel = p.height * p.width
		}
	default:
		return p, markf(ErrShape, "%v is no picture: it has [rows,columns], or channels beside these, and a batch of one", t)
	}
	if p.channels != 1 && p.channels != 3 {
		return p, markf(ErrShape, "%v has %d channels; a picture has 1 or 3", t, p.channels)
	}
	return p, o.check(p.channels)
}

// values returns a function of element i, of channel c, to the value of a pixel.
func (o ImageOptions) values(t *Tensor) (func(i, c int) uint8, error) {
	if t.DType() == Uint8 {
		list := t.Bytes()
		return func(i, _ int) uint8 { return list[i] }, nil
	}
	list, err := Float32s(t)
	if err != nil {
		return nil, markf(ErrShape, "%v is no picture: its elements are neither floats nor uint8", t)
	}
	scale := o.Scale
	if scale == 0 {
		scale = 1.0 / 255
	}
	return func(i, c int) uint8 {
		v := math.Round((float64(list[i])*pick(o.Std, c, 1) + pick(o.Mean, c, 0)) / scale)
		if v >= 0 { // false for NaN
			return uint8(min(v, math.MaxUint8))
		}
		return 0
	}, nil
}

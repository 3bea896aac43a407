package nacre

import (
	"bytes"
	"context"
	"errors"
	"image"
	_ "image/jpeg" // a format that DecodeImage reads
	_ "image/png"  // a format that DecodeImage reads
	"io"
	"slices"

	"github.com/nacre-ml/nacre/internal/pieces"
	"github.com/nacre-ml/nacre/internal/resample"
	"github.com/nacre-ml/nacre/runtime/tensor"
)

// ImageOptions say how a picture becomes a tensor. Each channel of a pixel becomes
// (value*Scale - Mean) / Std, with values from 0 to 255. The zero value gives numbers
// from 0 to 1 of the whole picture. The documentation of a network names the options of its
// training; these are common:
//
//	// Classifiers of torchvision and timm.
//	ImageOptions{
//		Fit: FitCrop, Shorter: 256,
//		Mean: []float64{0.485, 0.456, 0.406}, Std: []float64{0.229, 0.224, 0.225},
//	}
//	// Detectors of the YOLO family.
//	ImageOptions{Fit: FitLetterbox, Fill: [3]uint8{114, 114, 114}}
//	// Networks of TensorFlow that take numbers from -1 to 1.
//	ImageOptions{Mean: []float64{0.5}, Std: []float64{0.5}}
//	// Networks of Caffe.
//	ImageOptions{BGR: true, Scale: 1, Mean: []float64{104, 117, 123}}
type ImageOptions struct {
	// Scale is the factor of values; 0 is 1/255.
	Scale float64
	// Mean and Std have one number, or one for each channel in the order of the tensor; nil
	// is 0 and 1. A factor for each channel is 1 divided by its Std.
	Mean, Std []float64
	// BGR puts blue first and red last.
	BGR bool
	// Layout is "nchw" for channels before rows and columns, or "nhwc" for channels
	// after them. If it is empty, the extents of the input tell: channels are 1 or 3.
	Layout string
	// Fit says how a picture fits the rows and columns of the input.
	Fit ImageFit
	// Shorter is the length of the picture's shorter side after resizing, before FitCrop cuts
	// the middle out; 0 for the least that fills the input.
	Shorter int
	// Fill is the red, green and blue beside a picture of FitLetterbox.
	Fill [3]uint8
	// AsStored keeps the stored order of a JPEG file's pixels. Otherwise DecodeImage turns the
	// picture by the orientation in its EXIF data.
	AsStored bool
	// MaxPixels bounds the pixels of a picture; 0 is 1<<28.
	MaxPixels int
	// MemoryLimit bounds, in bytes, the memory of decoding a picture, resizing it and making
	// the tensor; 0 is the default of Options.MemoryLimit.
	MemoryLimit int
}

// ImageFit is a way to fit a picture to the rows and columns of an input.
type ImageFit uint8

// The ways of fitting a picture.
const (
	// FitStretch resizes rows and columns independently.
	FitStretch ImageFit = iota
	// FitCrop resizes the picture until it fills the input, and keeps the middle.
	FitCrop
	// FitLetterbox resizes the picture until all of it fits into the input, puts it into the
	// middle, and fills the rest.
	FitLetterbox
)

// maxPixels bounds the pixels of a tensor, and of a picture unless an option does.
const maxPixels = 1 << 28

// DecodeImage is FromImage for a PNG or JPEG file in memory, or a file of another format
// that the program registered with package image. It checks the size and the memory before it
// decodes pixels. The error is also ErrFormat if the file cannot be decoded.
func DecodeImage(data []byte, in Info, o ImageOptions) (*Tensor, error) {
	return DecodeImageContext(context.Background(), data, in, o)
}

// DecodeImageContext is DecodeImage that ends with the context's error when the context is
// done. It looks at the context as the decoder reads the file, and between rows of pixels after
// that. The error is ErrOption if ctx is nil.
func DecodeImageContext(ctx context.Context, data []byte, in Info, o ImageOptions) (_ *Tensor, err error) {
	defer enter("").end(&err)
	if ctx == nil {
		return nil, errNoPictureContext
	}
	open := func() io.Reader { return pieces.Reader(ctx, bytes.NewReader(data)) }
	config, kind, err := image.DecodeConfig(open())
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if errors.Is(err, image.ErrFormat) {
		const text = "the picture, %d bytes, is neither PNG nor JPEG nor of a format that the program registered with " +
			"package image"
		return nil, markf(ErrFormat, text, len(data))
	}
	if err != nil {
		return nil, markf(ErrFormat, "%w", err)
	}
	size := image.Pt(config.Width, config.Height)
	if err := o.bound(size); err != nil {
		return nil, err
	}
	orientation := 1
	if kind == "jpeg" && !o.AsStored {
		orientation = exifOrientation(data)
	}
	fr, err := o.frame(in, upright(size, orientation))
	if err != nil {
		return nil, err
	}
	if err := o.allows(size, decodedBytes(data, kind, config.ColorModel), in, fr, orientation); err != nil {
		return nil, err
	}
	img, _, err := image.Decode(open())
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err != nil {
		return nil, markf(ErrFormat, "%w", err)
	}
	return o.tensor(ctx, img, in, orientation)
}

var errNoPictureContext = markf(ErrOption, "the context of a picture is nil")

// FromImage makes a tensor for an input from a picture: a batch of one, of the input's element
// type, Float32 or Uint8, and its extents. It resizes the picture to the rows and columns that
// the input declares. If these are open, the picture keeps its own, or takes Shorter. Resizing
// interpolates linearly and averages when it shrinks, as Pillow's BILINEAR does.
// Open channels are three; one channel is 0.299 red + 0.587 green + 0.114 blue.
// Uint8 takes values from 0 to 255 and ignores Scale, Mean and Std.
//
// The error is ErrShape if the input has another element type, not 3 or 4 axes, not 1 or 3
// channels, or a batch other than 1. It is ErrOption if Layout is needed or an option does not
// fit the input, ErrUnsupported if the picture has more than ImageOptions.MaxPixels pixels, and
// ErrMemory if the work takes more than ImageOptions.MemoryLimit beside img.
func FromImage(img image.Image, in Info, o ImageOptions) (*Tensor, error) {
	return FromImageContext(context.Background(), img, in, o)
}

// FromImageContext is FromImage that ends with the context's error when the context is done.
// The error is ErrOption if ctx is nil.
func FromImageContext(ctx context.Context, img image.Image, in Info, o ImageOptions) (_ *Tensor, err error) {
	defer enter("").end(&err)
	if ctx == nil {
		return nil, errNoPictureContext
	}
	if img == nil || img.Bounds().Empty() {
		return nil, markf(ErrShape, "the picture has no pixels")
	}
	if err := o.bound(img.Bounds().Size()); err != nil {
		return nil, err
	}
	fr, err := o.frame(in, img.Bounds().Size())
	if err != nil {
		return nil, err
	}
	if err := o.allows(img.Bounds().Size(), flatten, in, fr, 1); err != nil {
		return nil, err
	}
	return o.tensor(ctx, img, in, 1)
}

// bound returns an error if a picture of this size has too many pixels.
func (o ImageOptions) bound(size image.Point) error {
	most := o.MaxPixels
	switch {
	case most < 0:
		return markf(ErrOption, "option MaxPixels is %d; it must not be negative", most)
	case most == 0:
		most = maxPixels
	}
	if size.X <= 0 || size.Y <= 0 || size.X > most/size.Y {
		return markf(ErrUnsupported, "a picture of %dx%d is too large; option MaxPixels allows %d pixels", size.X, size.Y,
			most)
	}
	return nil
}

// tensor is FromImage for a picture with an EXIF orientation.
func (o ImageOptions) tensor(ctx context.Context, img image.Image, in Info, orientation int) (*Tensor, error) {
	fr, err := o.frame(in, upright(img.Bounds().Size(), orientation))
	if err != nil {
		return nil, err
	}
	t, err := Zeros(in.DType, fr.shape...)
	if err != nil {
		return nil, err
	}
	rgb, err := fr.fitted(ctx, img, orientation, o.Fill)
	if err != nil {
		return nil, err
	}
	return t, fr.fill(ctx, t, rgb, o)
}

// upright returns the extents of a picture after it is turned upright.
func upright(size image.Point, orientation int) image.Point {
	if resample.Swaps(orientation) {
		return image.Pt(size.Y, size.X)
	}
	return size
}

// frame is the place of a picture's axes in a tensor.
type frame struct {
	shape         tensor.Shape
	c, h, w       int // axes
	channels      int
	height, width int
	// resized is the extents of the resized picture, part the pixels of it in the tensor, and
	// at the position of the first of them in the tensor.
	resized image.Point
	part    image.Rectangle
	at      image.Point
}

// frame decides extents and layout for a picture of this size, and checks the options.
func (o ImageOptions) frame(in Info, size image.Point) (frame, error) {
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
	fr.channels = known(fr.c, 3)
	if fr.channels != 1 && fr.channels != 3 || rank == 4 && known(0, 1) != 1 {
		return fr, markf(ErrShape, "one picture has 1 or 3 channels and makes a batch of 1; the model takes %s", in.Type())
	}
	if err := o.check(fr.channels); err != nil {
		return fr, err
	}
	own := o.shorter(size)
	fr.height, fr.width = known(fr.h, own.Y), known(fr.w, own.X)
	fr.shape = make(tensor.Shape, rank)
	fr.shape[0] = 1
	fr.shape[fr.c], fr.shape[fr.h], fr.shape[fr.w] = fr.channels, fr.height, fr.width
	if err := fr.shape.Check(); err != nil || fr.width > maxPixels/max(fr.height, 1) {
		return fr, markf(ErrShape, "a picture of %dx%d is too large", fr.width, fr.height)
	}
	if fr.width > 0 && fr.height > 0 {
		fr.fit(o, size)
	}
	if fr.resized.X > maxPixels/max(fr.resized.Y, 1) {
		return fr, markf(ErrShape, "a picture of %dx%d, to be cut, is too large", fr.resized.X, fr.resized.Y)
	}
	return fr, nil
}

// shorter returns the size at which the picture's shorter side is the option's.
func (o ImageOptions) shorter(size image.Point) image.Point {
	if o.Shorter == 0 {
		return size
	}
	if size.X < size.Y {
		return image.Pt(o.Shorter, scaled(o.Shorter, size.Y, size.X))
	}
	return image.Pt(scaled(o.Shorter, size.X, size.Y), o.Shorter)
}

// scaled is n·by/of, at least 1.
func scaled(n, by, of int) int { return max(int(float64(n)*float64(by)/float64(of)), 1) }

// fit sets the position of a picture of this size in the frame.
func (fr *frame) fit(o ImageOptions, size image.Point) {
	full := image.Pt(fr.width, fr.height)
	fr.resized, fr.part = full, image.Rectangle{Max: full}
	wide := float64(size.X)*float64(full.Y) > float64(size.Y)*float64(full.X)
	switch {
	case o.Fit == FitCrop && o.Shorter > 0:
		fr.resized = o.shorter(size)
	case o.Fit == FitCrop && wide || o.Fit == FitLetterbox && !wide:
		fr.resized.X = nearest(full.Y, size.X, size.Y)
	case o.Fit == FitCrop || o.Fit == FitLetterbox:
		fr.resized.Y = nearest(full.X, size.Y, size.X)
	}
	along := func(resized, full int) (from, to, at int) {
		if more := resized - full; more >= 0 {
			from = (more + more/2&1) / 2 // a half goes to the even number, as Python has it
			return from, from + full, 0
		}
		return 0, resized, (full - resized) / 2
	}
	fr.part.Min.X, fr.part.Max.X, fr.at.X = along(fr.resized.X, full.X)
	fr.part.Min.Y, fr.part.Max.Y, fr.at.Y = along(fr.resized.Y, full.Y)
}

// nearest is n·by/of to the nearest whole number, at least 1.
func nearest(n, by, of int) int {
	return max(int(float64(n)*float64(by)/float64(of)+0.5), 1)
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
	return "", markf(ErrOption,
		"no axis of %s shows by its extent that it holds channels; say nchw or nhwc with option Layout", in.Type())
}

func (o ImageOptions) check(channels int) error {
	switch {
	case o.Fit > FitLetterbox:
		return markf(ErrOption, "option Fit is %d; it is FitStretch, FitCrop or FitLetterbox", o.Fit)
	case o.Shorter < 0 || o.Shorter > maxPixels:
		return markf(ErrOption, "option Shorter is %d; it is a number of pixels, or 0", o.Shorter)
	case o.Shorter > 0 && o.Fit == FitLetterbox:
		return markf(ErrOption, "option Shorter has no meaning beside FitLetterbox")
	}
	for _, list := range [][]float64{o.Mean, o.Std} {
		if len(list) > 1 && len(list) != channels {
			return markf(ErrOption, "options Mean and Std have 1 or %d numbers here", channels)
		}
	}
	if slices.Contains(o.Std, 0) {
		return markf(ErrOption, "option Std has a 0; pixels are divided by Std")
	}
	return nil
}

// fitted returns the picture in the frame's rows and columns.
func (fr *frame) fitted(ctx context.Context, img image.Image, orientation int, fill [3]uint8) (*resample.RGB, error) {
	if fr.part.Empty() {
		return resample.New(fr.width, fr.height, fill), nil
	}
	// The stored pixels are resized, and then turned.
	part, stored := fr.part, upright(fr.resized, orientation)
	first := image.Pt(resample.Origin(orientation, part.Min.X, part.Min.Y, stored.X, stored.Y))
	last := image.Pt(resample.Origin(orientation, part.Max.X-1, part.Max.Y-1, stored.X, stored.Y))
	part = image.Rectangle{Min: first, Max: last}.Canon()
	part.Max = part.Max.Add(image.Pt(1, 1))
	cut, err := resample.Resize(ctx, img, stored, part)
	if err == nil {
		cut, err = cut.Upright(ctx, orientation)
	}
	if err != nil || cut.Width == fr.width && cut.Height == fr.height {
		return cut, err
	}
	all := resample.New(fr.width, fr.height, fill)
	all.Paste(cut, fr.at.X, fr.at.Y)
	return all, nil
}

// fill stores the values of a picture.
func (fr *frame) fill(ctx context.Context, t *Tensor, img *resample.RGB, o ImageOptions) error {
	steps := fr.shape.Strides()
	pixel, channel := steps[fr.w], steps[fr.c] // rows follow each other
	for c := range fr.channels {
		from := c
		if o.BGR {
			from = 2 - c
		}
		var store func(i, end int) // of pixels i to end-1
		switch {
		case t.DType() == Uint8 && fr.channels == 1:
			to := t.Bytes()
			store = func(i, end int) {
				for ; i < end; i++ {
					to[i] = uint8(grey(img.Pix[3*i:]) + 0.5)
				}
			}
		case t.DType() == Uint8:
			to := t.Bytes()[c*channel:]
			store = func(i, end int) {
				for ; i < end; i++ {
					to[i*pixel] = img.Pix[3*i+from]
				}
			}
		case fr.channels == 1:
			to := tensor.View[float32](&t.t)
			store = func(i, end int) {
				for ; i < end; i++ {
					to[i] = o.value(grey(img.Pix[3*i:]), 0)
				}
			}
		default:
			var values [256]float32
			for v := range values {
				values[v] = o.value(float64(v), c)
			}
			to := tensor.View[float32](&t.t)[c*channel:]
			store = func(i, end int) {
				for ; i < end; i++ {
					to[i*pixel] = values[img.Pix[3*i+from]]
				}
			}
		}
		if err := pieces.Each(ctx, len(img.Pix)/3, pieces.Elements, store); err != nil {
			return err
		}
	}
	return nil
}

// grey returns the brightness of a pixel.
func grey(p []byte) float64 { return 0.299*float64(p[0]) + 0.587*float64(p[1]) + 0.114*float64(p[2]) }

// value returns the element of channel c for a value from 0 to 255.
func (o ImageOptions) value(v float64, c int) float32 {
	scale := o.Scale
	if scale == 0 {
		scale = 1.0 / 255
	}
	return float32((v*scale - pick(o.Mean, c, 0)) / pick(o.Std, c, 1))
}

// pick returns element i of a list, the only one of a list of one, or def of none.
func pick(list []float64, i int, def float64) float64 {
	if len(list) == 0 {
		return def
	}
	return list[min(i, len(list)-1)]
}

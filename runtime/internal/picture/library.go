package picture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// libraryBytes bounds the bytes per pixel that library readers take: 8 for the pixels and as much
// for unpacked data, in buffers that grow to twice their size.
const libraryBytes = 8 + 2*8

func openPNG(data []byte) (*File, error) { return openLibrary(data, png.DecodeConfig, png.Decode, 0) }

func openBMP(data []byte) (*File, error) { return openLibrary(data, bmp.DecodeConfig, bmp.Decode, 0) }

// A tile may be larger than the picture, up to this many pixels.
const largestTile = 1024 * 1024

func openTIFF(data []byte) (*File, error) {
	f, err := openLibrary(data, tiff.DecodeConfig, tiff.Decode, largestTile)
	if err != nil || !isFaxOnBlack(data) {
		return f, err
	}
	decode := f.decode
	f.decode = func() (*Picture, error) {
		p, err := decode()
		if err == nil {
			for i, v := range p.Pixels {
				p.Pixels[i] = ^v
			}
		}
		return p, err
	}
	return f, nil
}

// isFaxOnBlack reports whether the first picture of a TIFF is a fax with black zeros. In a fax the
// white runs are zeros, whatever zeros mean. The library inverts them.
func isFaxOnBlack(data []byte) bool {
	var order binary.ByteOrder = binary.LittleEndian
	if data[0] == 'M' {
		order = binary.BigEndian
	}
	const compression, photometric, entry = 259, 262, 12
	var fax, black bool
	at := int(order.Uint32(data[4:]))
	if at < 0 || at > len(data)-2 {
		return false
	}
	n := int(order.Uint16(data[at:]))
	for at += 2; n > 0 && at <= len(data)-entry; n, at = n-1, at+entry {
		switch v := order.Uint16(data[at+8:]); order.Uint16(data[at:]) {
		case compression:
			fax = v == 3 || v == 4
		case photometric:
			black = v == 1
		}
	}
	return fax && black
}

func openWebP(data []byte) (*File, error) {
	return openLibrary(data, webp.DecodeConfig, webp.Decode, 0)
}

// openLibrary reads a header. extra is the number of pixels unpacked beyond the picture's.
func openLibrary(
	data []byte, config func(io.Reader) (image.Config, error), decode func(io.Reader) (image.Image, error), extra int,
) (*File, error) {
	c, err := config(reader(data))
	if err != nil {
		return nil, libraryError(err)
	}
	n, err := memory(c.Width, c.Height, 3+libraryBytes)
	if err != nil {
		return nil, err
	}
	return &File{Width: c.Width, Height: c.Height, Memory: n + extra*libraryBytes, decode: func() (*Picture, error) {
		img, err := decode(reader(data))
		if err != nil {
			return nil, libraryError(err)
		}
		return fromImage(img)
	}}, nil
}

// libraryError marks errors for features that a library does not support.
func libraryError(err error) error {
	var inPNG png.UnsupportedError
	var inTIFF tiff.UnsupportedError
	if errors.As(err, &inPNG) || errors.As(err, &inTIFF) || errors.Is(err, bmp.ErrUnsupported) {
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return err
}

// fromImage takes the colours of an image as stored and ignores opacity.
func fromImage(img image.Image) (*Picture, error) {
	b := img.Bounds()
	p := &Picture{Width: b.Dx(), Height: b.Dy(), Channels: 3}
	switch img := img.(type) {
	case *image.Gray:
		p.Channels = 1
		p.fill(img.Pix, img.Stride, func(dst, src []byte) { copy(dst, src) })
	case *image.Gray16:
		p.Channels = 1
		p.fill(img.Pix, img.Stride, func(dst, src []byte) {
			for i := range dst {
				dst[i] = src[2*i]
			}
		})
	case *image.NRGBA:
		p.fill(img.Pix, img.Stride, func(dst, src []byte) { thirds(dst, src, 1) })
	case *image.NRGBA64:
		p.fill(img.Pix, img.Stride, func(dst, src []byte) { thirds(dst, src, 2) })
	case *image.RGBA:
		p.fill(img.Pix, img.Stride, func(dst, src []byte) { undim(dst, src, 1) })
	case *image.RGBA64:
		p.fill(img.Pix, img.Stride, func(dst, src []byte) { undim(dst, src, 2) })
	case *image.Paletted:
		return p, p.paint(img)
	case *image.YCbCr:
		p.fromVP8(img)
	case *image.NYCbCrA:
		p.fromVP8(&img.YCbCr)
	default:
		return nil, fmt.Errorf("%w: pixels of type %T", ErrUnsupported, img)
	}
	return p, nil
}

// fill makes the pixels from rows of src.
func (p *Picture) fill(src []byte, stride int, row func(dst, src []byte)) {
	n := p.Width * p.Channels
	p.Pixels = make([]byte, n*p.Height)
	for y := range p.Height {
		row(p.Pixels[y*n:(y+1)*n], src[y*stride:])
	}
}

// thirds copies the first three of every four values. A value of src has width bytes with the upper
// byte first.
func thirds(dst, src []byte, width int) {
	for i, j := 0, 0; i+2 < len(dst); i, j = i+3, j+4*width {
		dst[i], dst[i+1], dst[i+2] = src[j], src[j+width], src[j+2*width]
	}
}

// undim is thirds for colours premultiplied by opacity.
func undim(dst, src []byte, width int) {
	thirds(dst, src, width)
	for i, j := 0, 3*width; i+2 < len(dst); i, j = i+3, j+4*width {
		if a := int(src[j]); a != 0 && a != 255 {
			for k := range 3 {
				dst[i+k] = byte(min(int(dst[i+k])*255/a, 255))
			}
		}
	}
}

// paint looks up the colours of a palette.
func (p *Picture) paint(img *image.Paletted) error {
	var table [256][3]byte
	for i, c := range img.Palette {
		if i < len(table) {
			rgb := color.NRGBAModel.Convert(c).(color.NRGBA)
			table[i] = [3]byte{rgb.R, rgb.G, rgb.B}
		}
	}
	last := byte(min(len(img.Palette), 256) - 1)
	var err error
	p.fill(img.Pix, img.Stride, func(dst, src []byte) {
		for i := range len(dst) / 3 {
			if src[i] > last || len(img.Palette) == 0 {
				err = fmt.Errorf("colour %d of a palette of %d", src[i], len(img.Palette))
				return
			}
			copy(dst[3*i:], table[src[i]][:])
		}
	})
	return err
}

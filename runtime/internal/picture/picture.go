// Package picture reads pictures in the formats of ONNX's ImageDecoder operator. Pixels equal, to
// the bit, the results of the C libraries that most programs use. Lossy formats leave rounding and
// the enlarging of colour planes open, and models are trained on the output of libjpeg, libwebp and
// OpenJPEG.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// Picture is rows of pixels without gaps, from the top. A pixel has Channels bytes: 1 for grey, 3
// for red, green and blue. Transparency is dropped, and of 16 bits the upper 8 are kept.
type Picture struct {
	Width, Height, Channels int
	Pixels                  []byte
}

// ErrUnsupported marks errors of files that are well formed as far as read, but use features
// unknown to this package.
var ErrUnsupported = errors.New("not supported")

// File is a picture with only its header read.
type File struct {
	Format        string
	Width, Height int
	// Memory is the most bytes that Decode takes, including its result.
	Memory int

	decode func() (*Picture, error)
}

// format is one row of the table of formats.
type format struct {
	name  string
	magic []string // first bytes of files; a dot matches any byte
	open  func(data []byte) (*File, error)
}

var formats = []format{
	{"JPEG", []string{"\xff\xd8\xff"}, openJPEG},
	{"JPEG 2000", []string{"\x00\x00\x00\x0cjP  \r\n\x87\n", "\xff\x4f\xff\x51"}, openJPEG2000},
	{"PNG", []string{"\x89PNG\r\n\x1a\n"}, openPNG},
	{"BMP", []string{"BM"}, openBMP},
	{"TIFF", []string{"II*\x00", "MM\x00*"}, openTIFF},
	{"WebP", []string{"RIFF....WEBP"}, openWebP},
	{"PNM", []string{"P1", "P2", "P3", "P4", "P5", "P6"}, openPNM},
}

// Open detects the format from the first bytes and reads the header. data must not change before
// Decode. A file of no known format is an error.
func Open(data []byte) (*File, error) {
	for _, row := range formats {
		for _, magic := range row.magic {
			if !begins(data, magic) {
				continue
			}
			f, err := row.open(data)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", row.name, err)
			}
			if f.Width <= 0 || f.Height <= 0 {
				return nil, fmt.Errorf("%s: a picture of %d by %d pixels", row.name, f.Width, f.Height)
			}
			f.Format = row.name
			return f, nil
		}
	}
	return nil, fmt.Errorf("no picture of a known format begins with %.16q", data[:min(len(data), 16)])
}

func begins(data []byte, magic string) bool {
	if len(data) < len(magic) {
		return false
	}
	for i, c := range []byte(magic) {
		if c != '.' && data[i] != c {
			return false
		}
	}
	return true
}

// Decode reads the pixels.
func (f *File) Decode() (*Picture, error) {
	p, err := f.decode()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Format, err)
	}
	if p.Width != f.Width || p.Height != f.Height || len(p.Pixels) != p.Width*p.Height*p.Channels {
		return nil, fmt.Errorf("%s: the picture has %d by %d pixels, the header says %d by %d", f.Format, p.Width, p.Height,
			f.Width, f.Height)
	}
	return p, nil
}

// maxBytes bounds the pixels of a picture, so that sums of a few such sizes fit an int.
const maxBytes = min(1<<56, math.MaxInt>>2)

// memory returns the size in bytes of width·height pixels of each bytes.
func memory(width, height, each int) (int, error) {
	if width <= 0 || height <= 0 {
		return 0, fmt.Errorf("a picture of %d by %d pixels", width, height)
	}
	high, n := bits.Mul64(uint64(width), uint64(height))
	if high != 0 || n > maxBytes/uint64(each) {
		return 0, fmt.Errorf("a picture of %d by %d pixels", width, height)
	}
	return int(n) * each, nil
}

// Convert stores the pixels in dst, 3·Width·Height bytes: red, green and blue or, if blueFirst is
// set, blue, green and red.
func (p *Picture) Convert(dst []byte, blueFirst bool) {
	if p.Channels == 1 {
		for i, v := range p.Pixels {
			dst[3*i], dst[3*i+1], dst[3*i+2] = v, v, v
		}
		return
	}
	copy(dst, p.Pixels)
	if blueFirst {
		for i := 0; i+2 < len(dst); i += 3 {
			dst[i], dst[i+2] = dst[i+2], dst[i]
		}
	}
}

// Grey stores the pixels in dst, Width·Height bytes, as luma of ITU-R BT.601. The weights are
// rounded to fractions of 65536.
func (p *Picture) Grey(dst []byte) {
	if p.Channels == 1 {
		copy(dst, p.Pixels)
		return
	}
	for i := range dst {
		r, g, b := uint32(p.Pixels[3*i]), uint32(p.Pixels[3*i+1]), uint32(p.Pixels[3*i+2])
		dst[i] = byte((19595*r + 38470*g + 7471*b + 1<<15) >> 16)
	}
}

// reader wraps data for the readers of the standard library.
func reader(data []byte) *bytes.Reader { return bytes.NewReader(data) }

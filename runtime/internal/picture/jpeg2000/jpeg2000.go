// Package jpeg2000 reads JPEG 2000 pictures (ITU-T T.800), as bare codestreams and as JP2 files. It
// supports both transforms, any number of tiles, layers and precincts, every order of packets,
// every style of code blocks, regions of interest and palettes. Where the standard leaves rounding
// open, it follows OpenJPEG.
package jpeg2000

import (
	"errors"
	"fmt"
	"math"
)

// UnsupportedError names a feature of a file that this package does not know.
type UnsupportedError string

// Error returns the name of the feature.
func (e UnsupportedError) Error() string { return string(e) }

var errShort = errors.New("the file ends too soon")

// Decoder is a file with its header read.
type Decoder struct {
	Width, Height int
	Channels      int // of the result: 1 for grey, 3 for red, green and blue
	Memory        int // the most bytes that Decode takes

	stream *codestream
	box    boxes
}

// Bounds that let sums and small multiples fit an int.
const (
	maxSamples = min(1<<40, math.MaxInt)      // of a component, and pixels of a picture
	maxExtent  = min(1<<32-1, math.MaxInt>>2) // extents and offsets on the reference grid
)

// sampleBytes is the memory of one sample of a component: result and coefficient, each twice during
// the transform, and its share of blocks and precincts.
const sampleBytes = 4*4 + structBytes/samplesPerStruct

// Open reads the header of a file. data must not change before Decode.
func Open(data []byte) (*Decoder, error) {
	d := &Decoder{}
	stream, err := d.box.read(data)
	if err != nil {
		return nil, err
	}
	if d.stream, err = openStream(stream); err != nil {
		return nil, err
	}
	s := d.stream
	d.Width, d.Height = s.x1-s.x0, s.y1-s.y0
	if d.Channels, err = d.box.check(s); err != nil {
		return nil, err
	}
	if d.Width > maxSamples/d.Height {
		return nil, tooLarge(d)
	}
	need := int64(d.Width)*int64(d.Height)*int64(d.Channels) + int64(len(data)) + fewStructs*structBytes
	for _, c := range s.components {
		need += sampleBytes * int64(c.width) * int64(c.height)
	}
	if need > math.MaxInt {
		return nil, tooLarge(d)
	}
	d.Memory = int(need)
	return d, nil
}

func tooLarge(d *Decoder) error {
	return fmt.Errorf("a picture of %d by %d pixels", d.Width, d.Height)
}

// Decode reads the pixels, rows of Width pixels of Channels bytes.
func (d *Decoder) Decode() ([]byte, error) {
	planes, err := d.stream.decode()
	if err != nil {
		return nil, err
	}
	return d.pixels(planes), nil
}

// up returns a/b rounded up, for a that is not negative.
func up(a, b int) int { return (a + b - 1) / b }

// upShift returns a/2^n rounded up.
func upShift(a int, n uint) int { return (a + 1<<n - 1) >> n }

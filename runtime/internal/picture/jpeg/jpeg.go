// Package jpeg reads JPEG pictures (ITU-T T.81) of 8 bits: baseline, extended and progressive, with
// Huffman coding. Where the standard leaves a choice, it follows the defaults of libjpeg to the
// bit: the inverse transform in integers, interpolated colours, and rounding. The standard
// library's reader differs by 1 in some pixels, and by more where colours are enlarged.
package jpeg

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// UnsupportedError names a feature of a file that this package does not know.
type UnsupportedError string

// Error returns the name of the feature.
func (e UnsupportedError) Error() string { return string(e) }

// Markers, which follow a byte 0xff. See ITU-T T.81, table B.1.
const (
	markSOF0  = 0xc0 // frames: baseline,
	markSOF1  = 0xc1 // extended,
	markSOF2  = 0xc2 // progressive
	markDHT   = 0xc4
	markJPG   = 0xc8
	markDAC   = 0xcc
	markSOF15 = 0xcf
	markRST0  = 0xd0
	markSOI   = 0xd8
	markEOI   = 0xd9
	markSOS   = 0xda
	markDQT   = 0xdb
	markDNL   = 0xdc
	markDRI   = 0xdd
	markAPP0  = 0xe0
	markAPP14 = 0xee
)

// maxScans bounds the scans of a file. Each passes over the whole picture, and a small file could
// have many.
const maxScans = 200

// Decoder is a file with its header read.
type Decoder struct {
	Width, Height int
	Channels      int // of the result: 1 for grey, 3 for red, green and blue
	Memory        int // bytes that Decode takes

	data        []byte
	progressive bool
	components  []*component
	maxH, maxV  int // the largest sampling factors
	mcusX       int // units of all components in a row
	mcusY       int
	jfif        bool
	adobe       int // the Adobe segment's transform; -1 without the segment
	quant       [4]*[64]uint16
	huffman     [2][4]*huffman // for first coefficients, and for others
	restart     int            // units between restart markers; 0 for none
	scans       int
}

// component is one plane of samples, in blocks of 8 by 8.
type component struct {
	id            byte
	h, v          int // sampling factors
	table         byte
	quant         *[64]uint16 // set when the first scan begins
	width, height int         // samples within the picture
	blocksX       int         // blocks of a row of whole units
	blocksY       int
	coefficients  []int16 // 64 per block, in row-major order
	samples       []byte
}

// Open reads the header of a file. data must not change before Decode.
func Open(data []byte) (*Decoder, error) {
	d := &Decoder{data: data, adobe: -1}
	return d, d.read(true)
}

// Decode reads the pixels, rows of Width pixels of Channels bytes.
func (d *Decoder) Decode() ([]byte, error) {
	d = &Decoder{data: d.data, adobe: -1}
	if err := d.read(false); err != nil {
		return nil, err
	}
	for _, c := range d.components {
		if c.quant == nil {
			return nil, fmt.Errorf("component %d is missing", c.id)
		}
		c.transform()
	}
	return d.pixels()
}

var errShort = errors.New("the file ends too soon")

// read walks the segments, up to the frame's header or to the end.
func (d *Decoder) read(headerOnly bool) error {
	at := 2
	for {
		mark, next, ok := nextMarker(d.data, at)
		if !ok || mark == markEOI {
			if d.components == nil || d.scans == 0 && !headerOnly {
				return errShort
			}
			return nil
		}
		if at = next; mark >= markRST0 && mark <= markSOI || mark == 0x01 {
			continue
		}
		if len(d.data)-at < 2 {
			return errShort
		}
		n := int(binary.BigEndian.Uint16(d.data[at:]))
		if n < 2 || n > len(d.data)-at {
			return errShort
		}
		body := d.data[at+2 : at+n]
		at += n
		if err := d.segment(mark, body); err != nil {
			return err
		}
		if headerOnly && d.components != nil {
			return nil
		}
		if mark != markSOS {
			continue
		}
		end, err := d.scan(body, at)
		if err != nil {
			return err
		}
		if at = end; !d.progressive && d.complete() {
			return nil
		}
	}
}

// complete reports whether every component had a scan.
func (d *Decoder) complete() bool {
	for _, c := range d.components {
		if c.quant == nil {
			return false
		}
	}
	return true
}

// nextMarker finds the next marker from at on and returns the position after it.
func nextMarker(data []byte, at int) (mark byte, next int, ok bool) {
	for ; at+1 < len(data); at++ {
		if data[at] == 0xff && data[at+1] != 0 && data[at+1] != 0xff {
			return data[at+1], at + 2, true
		}
	}
	return 0, 0, false
}

// segment reads a segment before a scan.
func (d *Decoder) segment(mark byte, body []byte) error {
	switch {
	case mark >= markSOF0 && mark <= markSOF2:
		d.progressive = mark == markSOF2
		return d.frame(body)
	case mark == markDHT:
		return d.huffmanTables(body)
	case mark == markDAC || mark > markSOF2 && mark <= markSOF15 && mark != markJPG:
		return UnsupportedError(fmt.Sprintf("a frame of type %d: lossless, hierarchical or arithmetic", mark-markSOF0))
	case mark == markDNL:
		return UnsupportedError("a height after the first scan")
	case mark == markDQT:
		return d.quantTables(body)
	case mark == markDRI:
		if len(body) != 2 {
			return errors.New("the restart interval has not 2 bytes")
		}
		d.restart = int(binary.BigEndian.Uint16(body))
	case mark == markAPP0 && len(body) >= 5 && string(body[:5]) == "JFIF\x00":
		d.jfif = true
	case mark == markAPP14 && len(body) >= 12 && string(body[:5]) == "Adobe":
		d.adobe = int(body[11])
	}
	return nil
}

// frame reads the size of the picture and its components.
func (d *Decoder) frame(body []byte) error {
	if d.components != nil {
		return errors.New("there are two frames")
	}
	if len(body) < 6 || len(body) != 6+3*int(body[5]) {
		return errors.New("the frame's header has a wrong length")
	}
	if body[0] != 8 {
		return UnsupportedError(fmt.Sprintf("a precision of %d bits", body[0]))
	}
	d.Height, d.Width = int(binary.BigEndian.Uint16(body[1:])), int(binary.BigEndian.Uint16(body[3:]))
	if d.Height == 0 {
		return UnsupportedError("a height after the first scan")
	}
	if d.Width == 0 {
		return errors.New("the picture has no columns")
	}
	if n := int(body[5]); n != 1 && n != 3 && n != 4 {
		return UnsupportedError(fmt.Sprintf("a number of %d components", n))
	}
	for b := body[6:]; len(b) > 0; b = b[3:] {
		c := &component{id: b[0], h: int(b[1] >> 4), v: int(b[1] & 15), table: b[2]}
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 || c.table > 3 {
			return fmt.Errorf("component %d has factors %d by %d and table %d", c.id, c.h, c.v, c.table)
		}
		for _, other := range d.components {
			if other.id == c.id {
				return fmt.Errorf("there are two components %d", c.id)
			}
		}
		d.components = append(d.components, c)
		d.maxH, d.maxV = max(d.maxH, c.h), max(d.maxV, c.v)
	}
	return d.layOut()
}

// layOut computes the sizes of planes.
func (d *Decoder) layOut() error {
	d.mcusX, d.mcusY = up(d.Width, 8*d.maxH), up(d.Height, 8*d.maxV)
	d.Channels = min(len(d.components), 3)
	d.Memory = d.Width*d.Height*d.Channels + 8*d.Width
	for _, c := range d.components {
		if d.maxH%c.h != 0 || d.maxV%c.v != 0 {
			return UnsupportedError(fmt.Sprintf("a sampling of %d by %d among %d by %d", c.h, c.v, d.maxH, d.maxV))
		}
		c.width, c.height = up(d.Width*c.h, d.maxH), up(d.Height*c.v, d.maxV)
		c.blocksX, c.blocksY = d.mcusX*c.h, d.mcusY*c.v
		d.Memory += 3 * 64 * c.blocksX * c.blocksY
	}
	return nil
}

// up returns a/b rounded up.
func up(a, b int) int { return (a + b - 1) / b }

func (d *Decoder) quantTables(body []byte) error {
	for len(body) > 0 {
		precise, k := int(body[0]>>4), body[0]&15
		if precise > 1 || k > 3 || len(body) < 1+64*(1+precise) {
			return errors.New("a quantisation table is broken")
		}
		body = body[1:]
		t := new([64]uint16)
		for i := range t {
			if precise == 1 {
				t[zigzag[i]] = binary.BigEndian.Uint16(body[2*i:])
			} else {
				t[zigzag[i]] = uint16(body[i])
			}
		}
		d.quant[k] = t
		body = body[64*(1+precise):]
	}
	return nil
}

// zigzag maps coefficients in file order to their row-major positions in a block.
var zigzag = [64]byte{
	0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5,
	12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
	35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
	58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
}

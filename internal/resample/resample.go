// Package resample resizes pictures like Pillow's filter BILINEAR: rows first, then columns, each
// rounded to bytes. Values differ by one if Pillow resizes columns first. The luma and chroma of a
// JPEG are resized separately, each from its own pixels.
package resample

import (
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"

	"github.com/nacre-ml/nacre/internal/pieces"
)

// RGB is a picture: rows of red, green and blue pixels without gaps, from the top.
type RGB struct {
	Width, Height int
	Pix           []byte
}

// New returns a picture of one colour.
func New(width, height int, c [3]uint8) *RGB {
	p := &RGB{width, height, make([]byte, 3*width*height)}
	if c != [3]uint8{} {
		for n := copy(p.Pix, c[:]); n < len(p.Pix); {
			n += copy(p.Pix[n:], p.Pix[:n])
		}
	}
	return p
}

// Resize resizes the picture to size and returns the pixels in part. Pixels that are not opaque are
// blended with black. part is not empty and within size. If ctx ends, Resize returns its error.
func Resize(ctx pieces.Context, img image.Image, size image.Point, part image.Rectangle) (*RGB, error) {
	t := &task{ctx, img.Bounds(), size, part}
	switch img := img.(type) {
	case *image.YCbCr:
		return t.ycbcr(img)
	case *image.Gray:
		y := t.plane(img.Pix, img.Stride)
		return t.each(func(row []byte, at int) {
			for x, v := range y.row(at)[:len(row)/3] {
				row[3*x], row[3*x+1], row[3*x+2] = v, v, v
			}
		})
	case *image.RGBA:
		return t.rgba(img.Pix, img.Stride)
	case *image.NRGBA:
		if img.Opaque() {
			return t.rgba(img.Pix, img.Stride)
		}
	}
	flat, err := t.flat(img)
	if err != nil {
		return nil, err
	}
	return t.rgba(flat.Pix, flat.Stride)
}

// task is one picture to resize, until ctx ends.
type task struct {
	ctx    pieces.Context
	bounds image.Rectangle
	size   image.Point
	part   image.Rectangle
}

// flat returns the picture blended with black.
func (t *task) flat(img image.Image) (*image.RGBA, error) {
	flat, b := image.NewRGBA(t.bounds), t.bounds
	err := pieces.Each(t.ctx, b.Dy(), max(pieces.Elements/b.Dx(), 1), func(from, to int) {
		band := image.Rect(b.Min.X, b.Min.Y+from, b.Max.X, b.Min.Y+to)
		draw.Draw(flat, band, img, band.Min, draw.Src)
	})
	return flat, err
}

// filters returns the weights for a plane with one pixel per columns by rows pixels of the picture,
// and the extents of the plane. If the context ends, the weights are unfinished, and no row may be
// computed.
func (t *task) filters(columns, rows int) (across, down *filter, width, height int) {
	line := func(min, max, size, from, to, per int) (*filter, int) {
		n := (max+per-1)/per - min/per // like image.YCbCr
		start := float64(min)/float64(per) - float64(min/per)
		return newFilter(t.ctx, from, to, n, start, float64(max-min)/float64(per)/float64(size)), n
	}
	across, width = line(t.bounds.Min.X, t.bounds.Max.X, t.size.X, t.part.Min.X, t.part.Max.X, columns)
	down, height = line(t.bounds.Min.Y, t.bounds.Max.Y, t.size.Y, t.part.Min.Y, t.part.Max.Y, rows)
	return across, down, width, height
}

// each returns a picture whose rows f fills.
func (t *task) each(f func(row []byte, at int)) (*RGB, error) {
	out := New(t.part.Dx(), t.part.Dy(), [3]uint8{})
	err := pieces.Each(t.ctx, out.Height, 1, func(y, _ int) { f(out.Pix[3*out.Width*y:][:3*out.Width], y) })
	return out, err
}

// lines computes the rows of a result from source rows. It resizes source rows across when they are
// first read. It keeps only the source rows of one row of the result, and some of the next ones, so
// that a high picture takes little memory. If the context ends, rows are unfinished.
type lines struct {
	ctx       pieces.Context
	down      *filter
	stride    int                           // bytes of a row, a multiple of 8
	fill      func(i int, row, next []byte) // resizes source row i, and i+1 into next if step is 2
	step      int
	rows      []byte
	room      int // rows that fit, besides one that fill may add
	from, end int // the range of source rows in rows
	line      []byte
}

// newLines returns lines of n bytes.
func (t *task) newLines(n int, down *filter, step int, fill func(i int, row, next []byte)) *lines {
	const more = 16
	l := &lines{ctx: t.ctx, down: down, stride: (n + 7) &^ 7, fill: fill, step: step, from: down.first[0],
		end: down.first[0]}
	for _, w := range down.weights {
		l.room = max(l.room, len(w)+more)
	}
	l.rows, l.line = make([]byte, (l.room+1)*l.stride), make([]byte, l.stride)
	return l
}

// at returns the memory from source row i on.
func (l *lines) at(i int) []byte { return l.rows[(i-l.from)*l.stride:] }

// row returns row i of the result, valid until the next call. i must increase from call to call.
func (l *lines) row(i int) []byte {
	first := l.down.first[i]
	end := first + len(l.down.weights[i])
	l.end = max(l.end, first)
	if end-l.from > l.room {
		copy(l.rows, l.at(first)[:(l.end-first)*l.stride])
		l.from = first
	}
	for ; l.end < end && l.ctx.Err() == nil; l.end += l.step {
		l.fill(l.end, l.at(l.end), l.at(l.end+1))
	}
	l.down.down(l.line, l.at(first), i)
	return l.line
}

// plane resizes a plane of bytes.
func (t *task) plane(pix []byte, stride int) *lines {
	across, down, width, height := t.filters(1, 1)
	pairs := make([]uint64, width)
	return t.newLines(len(across.first), down, 2, func(i int, row, next []byte) {
		one := pix[i*stride:][:width]
		two := one
		if i+1 < height {
			two = pix[(i+1)*stride:][:width]
		}
		for x, v := range one {
			pairs[x] = uint64(v) | uint64(two[x])<<32
		}
		across.across(pairs, row, next, 1)
	})
}

// rgba resizes pixels of red, green, blue and another byte.
func (t *task) rgba(pix []byte, stride int) (*RGB, error) {
	across, down, width, height := t.filters(1, 1)
	one, two, green := make([]uint64, width), make([]uint64, width), make([]uint64, width)
	l := t.newLines(3*t.part.Dx(), down, 2, func(i int, row, next []byte) {
		upper := pix[i*stride:][:4*width]
		lower := upper
		if i+1 < height {
			lower = pix[(i+1)*stride:][:4*width]
		}
		for x := range green {
			u, v := uint64(binary.LittleEndian.Uint32(upper[4*x:])), uint64(binary.LittleEndian.Uint32(lower[4*x:]))
			one[x], two[x] = u&0xff|u&0xff0000<<16, v&0xff|v&0xff0000<<16
			green[x] = u>>8&0xff | v&0xff00<<24
		}
		across.across(one, row, row[2:], 3)
		across.across(two, next, next[2:], 3)
		across.across(green, row[1:], next[1:], 3)
	})
	return t.each(func(row []byte, at int) { copy(row, l.row(at)) })
}

// ycbcr resizes luma and chroma separately.
func (t *task) ycbcr(img *image.YCbCr) (*RGB, error) {
	columns, rows := 1, 1
	switch img.SubsampleRatio {
	case image.YCbCrSubsampleRatio422:
		columns = 2
	case image.YCbCrSubsampleRatio420:
		columns, rows = 2, 2
	case image.YCbCrSubsampleRatio440:
		rows = 2
	case image.YCbCrSubsampleRatio411:
		columns = 4
	case image.YCbCrSubsampleRatio410:
		columns, rows = 4, 2
	}
	bright := t.plane(img.Y, img.YStride)
	across, down, width, _ := t.filters(columns, rows)
	pairs, n := make([]uint64, width), t.part.Dx()
	colour := t.newLines(2*n, down, 1, func(i int, row, _ []byte) {
		cb, cr := img.Cb[i*img.CStride:][:width], img.Cr[i*img.CStride:][:width]
		for x, v := range cb {
			pairs[x] = uint64(v) | uint64(cr[x])<<32
		}
		across.across(pairs, row, row[n:], 1)
	})
	return t.each(func(row []byte, at int) {
		y, both := bright.row(at), colour.row(at)
		cb, cr := both[:n], both[n:]
		for x := range n {
			row[3*x], row[3*x+1], row[3*x+2] = color.YCbCrToRGB(y[x], cb[x], cr[x])
		}
	})
}

// Upright returns the picture turned upright by an EXIF orientation, 1 to 8. For others it returns
// the picture unchanged. If ctx ends, Upright returns its error.
func (p *RGB) Upright(ctx pieces.Context, orientation int) (*RGB, error) {
	if orientation <= 1 || orientation > 8 {
		return p, nil
	}
	out := New(p.Width, p.Height, [3]uint8{})
	if Swaps(orientation) {
		out.Width, out.Height = p.Height, p.Width
	}
	err := pieces.Each(ctx, out.Height, max(pieces.Elements/max(out.Width, 1), 1), func(y, end int) {
		for ; y < end; y++ {
			for x := range out.Width {
				u, v := Origin(orientation, x, y, p.Width, p.Height)
				copy(out.Pix[3*(y*out.Width+x):][:3], p.Pix[3*(v*p.Width+u):])
			}
		}
	})
	return out, err
}

// Swaps reports whether an orientation swaps rows and columns.
func Swaps(orientation int) bool { return orientation >= 5 && orientation <= 8 }

// Origin returns the place of pixel x, y of the turned picture in the stored one, of extents width
// and height.
func Origin(orientation, x, y, width, height int) (u, v int) {
	if Swaps(orientation) {
		x, y = y, x
	}
	switch orientation {
	case 2, 3, 7, 8:
		x = width - 1 - x
	}
	switch orientation {
	case 3, 4, 6, 7:
		y = height - 1 - y
	}
	return x, y
}

// Paste copies a picture into p, with its upper left corner at x, y.
func (p *RGB) Paste(from *RGB, x, y int) {
	for i := range from.Height {
		copy(p.Pix[3*((y+i)*p.Width+x):][:3*from.Width], from.Pix[3*i*from.Width:])
	}
}

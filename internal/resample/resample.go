// Package resample resizes pictures like Pillow's filter BILINEAR: rows first, then columns, each
// rounded to bytes. Values differ by one if Pillow resizes columns first. The luma and chroma of a
// JPEG are resized separately, each from its own pixels.
package resample

import (
	"encoding/binary"
	"image"
	"image/color"
	"image/draw"
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
		for i := 0; i < len(p.Pix); i += 3 {
			copy(p.Pix[i:], c[:])
		}
	}
	return p
}

// Resize resizes the picture to size and returns the pixels in part. Pixels that are not opaque are
// blended with black. part is not empty and within size.
func Resize(img image.Image, size image.Point, part image.Rectangle) *RGB {
	switch img := img.(type) {
	case *image.YCbCr:
		return ycbcr(img, size, part)
	case *image.Gray:
		t := newTask(img.Rect, size, part)
		y := t.plane(img.Pix, img.Stride)
		out := New(part.Dx(), part.Dy(), [3]uint8{})
		t.each(out, func(row []byte, at int) {
			for x, v := range y.row(at)[:out.Width] {
				row[3*x], row[3*x+1], row[3*x+2] = v, v, v
			}
		})
		return out
	case *image.RGBA:
		return newTask(img.Rect, size, part).rgba(img.Pix, img.Stride)
	case *image.NRGBA:
		if img.Opaque() {
			return newTask(img.Rect, size, part).rgba(img.Pix, img.Stride)
		}
	}
	flat := image.NewRGBA(img.Bounds())
	draw.Draw(flat, flat.Rect, img, flat.Rect.Min, draw.Src)
	return newTask(flat.Rect, size, part).rgba(flat.Pix, flat.Stride)
}

// task is one picture to resize.
type task struct {
	bounds image.Rectangle
	size   image.Point
	part   image.Rectangle
}

func newTask(bounds image.Rectangle, size image.Point, part image.Rectangle) task {
	return task{bounds, size, part}
}

// filters returns the weights for a plane with one pixel per columns by rows pixels of the picture,
// and the extents of the plane.
func (t task) filters(columns, rows int) (across, down *filter, width, height int) {
	line := func(min, max, size, from, to, per int) (*filter, int) {
		n := (max+per-1)/per - min/per // like image.YCbCr
		start := float64(min)/float64(per) - float64(min/per)
		return newFilter(from, to, n, start, float64(max-min)/float64(per)/float64(size)), n
	}
	across, width = line(t.bounds.Min.X, t.bounds.Max.X, t.size.X, t.part.Min.X, t.part.Max.X, columns)
	down, height = line(t.bounds.Min.Y, t.bounds.Max.Y, t.size.Y, t.part.Min.Y, t.part.Max.Y, rows)
	return across, down, width, height
}

// each calls f for every row of a picture.
func (t task) each(out *RGB, f func(row []byte, at int)) {
	for y := range out.Height {
		f(out.Pix[3*out.Width*y:][:3*out.Width], y)
	}
}

// lines computes the rows of a result from source rows. It resizes source rows across when they are
// first read. It keeps only the source rows of one row of the result, and some of the next ones, so
// that a high picture takes little memory.
type lines struct {
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
func newLines(n int, down *filter, step int, fill func(i int, row, next []byte)) *lines {
	const more = 16
	l := &lines{down: down, stride: (n + 7) &^ 7, fill: fill, step: step, from: down.first[0], end: down.first[0]}
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
	for ; l.end < end; l.end += l.step {
		l.fill(l.end, l.at(l.end), l.at(l.end+1))
	}
	l.down.down(l.line, l.at(first), i)
	return l.line
}

// plane resizes a plane of bytes.
func (t task) plane(pix []byte, stride int) *lines {
	across, down, width, height := t.filters(1, 1)
	pairs := make([]uint64, width)
	return newLines(len(across.first), down, 2, func(i int, row, next []byte) {
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
func (t task) rgba(pix []byte, stride int) *RGB {
	across, down, width, height := t.filters(1, 1)
	out := New(t.part.Dx(), t.part.Dy(), [3]uint8{})
	one, two, green := make([]uint64, width), make([]uint64, width), make([]uint64, width)
	l := newLines(3*out.Width, down, 2, func(i int, row, next []byte) {
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
	t.each(out, func(row []byte, at int) { copy(row, l.row(at)) })
	return out
}

// ycbcr resizes luma and chroma separately.
func ycbcr(img *image.YCbCr, size image.Point, part image.Rectangle) *RGB {
	t := newTask(img.Rect, size, part)
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
	out := New(part.Dx(), part.Dy(), [3]uint8{})
	pairs := make([]uint64, width)
	colour := newLines(2*out.Width, down, 1, func(i int, row, _ []byte) {
		cb, cr := img.Cb[i*img.CStride:][:width], img.Cr[i*img.CStride:][:width]
		for x, v := range cb {
			pairs[x] = uint64(v) | uint64(cr[x])<<32
		}
		across.across(pairs, row, row[out.Width:], 1)
	})
	t.each(out, func(row []byte, at int) {
		y, both := bright.row(at), colour.row(at)
		cb, cr := both[:out.Width], both[out.Width:]
		for x := range out.Width {
			row[3*x], row[3*x+1], row[3*x+2] = color.YCbCrToRGB(y[x], cb[x], cr[x])
		}
	})
	return out
}

// Turn returns the picture turned upright by an EXIF orientation, 1 to 8. For others it returns the
// picture unchanged.
func (p *RGB) Turn(orientation int) *RGB {
	if orientation <= 1 || orientation > 8 {
		return p
	}
	out := New(p.Width, p.Height, [3]uint8{})
	if Swaps(orientation) {
		out.Width, out.Height = p.Height, p.Width
	}
	for y := range out.Height {
		for x := range out.Width {
			u, v := Origin(orientation, x, y, p.Width, p.Height)
			copy(out.Pix[3*(y*out.Width+x):][:3], p.Pix[3*(v*p.Width+u):])
		}
	}
	return out
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

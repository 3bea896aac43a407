package jpeg2000

import (
	"errors"
	"math"
)

// samples decodes the blocks of a tile and stores its samples in the planes of the picture.
func (t *tile) samples(out [][]int32) error {
	for _, p := range t.components {
		for _, r := range p.resolutions {
			for _, b := range r.bands {
				b.coefficients = make([]int32, max(b.width(), 0)*max(b.height(), 0))
			}
		}
	}
	var d tier
	for _, pr := range t.precincts {
		p := t.components[pr.component]
		for _, b := range pr.bands {
			for k := range b.list {
				if bl := &b.list[k]; bl.passes > 0 {
					d.decode(b.band, bl, p.style, p.shift)
				}
			}
		}
	}
	whole, fractions := make([][]int32, len(t.components)), make([][]float32, len(t.components))
	for i, p := range t.components {
		switch {
		case p.empty():
		case p.reversible:
			whole[i] = rebuild(p, reversible, 1, 1, func(b *band, i int) int32 { return b.coefficients[i] / 2 })
		default:
			fractions[i] = rebuild(p, irreversible, lowScale, highScale, func(b *band, i int) float32 {
				return float32(b.coefficients[i]) / 2 * b.delta
			})
		}
		p.resolutions = nil
	}
	if t.mixed {
		if err := t.unmix(whole, fractions); err != nil {
			return err
		}
	}
	for i, p := range t.components {
		if !p.empty() {
			t.store(i, whole[i], fractions[i], out[i])
		}
	}
	return nil
}

// unmix inverts the transform of the first three components to colours: ITU-T T.800, annex G.
func (t *tile) unmix(whole [][]int32, fractions [][]float32) error {
	if len(t.components) < 3 {
		return errors.New("fewer than three components are mixed")
	}
	a := t.components[0]
	for _, p := range t.components[1:3] {
		if p.area != a.area || p.reversible != a.reversible {
			return errors.New("components of different kinds are mixed")
		}
	}
	if a.empty() {
		return nil
	}
	if a.reversible {
		r, g, b := whole[0], whole[1], whole[2]
		for i, y := range r {
			u, v := g[i], b[i]
			g[i] = y - (u+v)>>2
			r[i], b[i] = v+g[i], u+g[i]
		}
		return nil
	}
	r, g, b := fractions[0], fractions[1], fractions[2]
	for i, y := range r {
		u, v := g[i], b[i]
		r[i], g[i], b[i] = y+1.402*v, y-0.34413*u-0.71414*v, y+1.772*u
	}
	return nil
}

// store rounds the samples, adds half of the range to unsigned ones, and clamps them to their bits.
func (t *tile) store(component int, whole []int32, fractions []float32, out []int32) {
	p, c := t.components[component], t.stream.components[component]
	low, high, offset := int32(0), int32(1)<<c.bits-1, int32(1)<<(c.bits-1)
	if c.signed {
		low, high, offset = -offset, offset-1, 0
	}
	w := p.width()
	for y := range p.height() {
		row := out[(p.y0-c.y0+y)*c.width+p.x0-c.x0:]
		for x := range w {
			var v int32
			if whole != nil {
				v = whole[y*w+x]
			} else {
				v = int32(min(max(math.RoundToEven(float64(fractions[y*w+x])), -1<<30), 1<<30))
			}
			row[x] = min(max(min(max(v, -1<<30), 1<<30)+offset, low), high)
		}
	}
}

// pixels converts planes to bytes, through the palette for channels that use it.
func (d *Decoder) pixels(planes [][]int32) []byte {
	s := d.stream
	out := make([]byte, d.Width*d.Height*d.Channels)
	for k := range d.Channels {
		column := d.box.mapped[d.box.channels[k]]
		c, plane := s.components[column.component], planes[column.component]
		convert := c.toByte
		if column.palette >= 0 {
			convert = func(v int32) byte {
				return d.box.palette[min(max(int(v), 0), len(d.box.palette)-1)][column.palette]
			}
		}
		for y := range d.Height {
			row := plane[min(max((s.y0+y)/c.dy-c.y0, 0), c.height-1)*c.width:]
			for x := range d.Width {
				out[(y*d.Width+x)*d.Channels+k] = convert(row[min(max((s.x0+x)/c.dx-c.x0, 0), c.width-1)])
			}
		}
	}
	if d.box.space == spaceYCC && d.Channels == 3 {
		for i := 0; i < len(out); i += 3 {
			fromYCC(out[i : i+3])
		}
	}
	return out
}

// toByte converts a sample of any depth to 8 bits, rounded.
func (c component) toByte(v int32) byte {
	if c.signed {
		v += 1 << (c.bits - 1)
	}
	switch {
	case c.bits > 8:
		n := c.bits - 8
		return byte(min((v+1<<(n-1))>>n, 255))
	case c.bits < 8:
		most := int32(1)<<c.bits - 1
		return byte((v*255 + most/2) / most)
	}
	return byte(v)
}

// fromYCC converts luma and colour differences, ITU-R BT.601 over the full range, to colours.
func fromYCC(p []byte) {
	y, u, v := float64(p[0]), float64(p[1])-128, float64(p[2])-128
	for i, f := range []float64{y + 1.402*v, y - 0.344136*u - 0.714136*v, y + 1.772*u} {
		p[i] = byte(min(max(math.Round(f), 0), 255))
	}
}

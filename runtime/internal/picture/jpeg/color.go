package jpeg

// pixels enlarges the planes to the size of the picture and converts them to colours.
func (d *Decoder) pixels() ([]byte, error) {
	out := make([]byte, d.Width*d.Height*d.Channels)
	rows := make([][]byte, len(d.components))
	for i, c := range d.components {
		rows[i] = make([]byte, (c.width+1)*(d.maxH/c.h))
	}
	convert := d.conversion()
	for y := range d.Height {
		for i, c := range d.components {
			d.enlarge(c, y, rows[i])
		}
		convert(out[y*d.Width*d.Channels:(y+1)*d.Width*d.Channels], rows)
	}
	return out, nil
}

// enlarge computes row y at the picture's size from the samples of a component. Planes of half the
// width or height, or both, are interpolated: 3 parts of the nearer sample and 1 of the farther, in
// both directions. Other planes are repeated.
func (d *Decoder) enlarge(c *component, y int, out []byte) {
	h, v := d.maxH/c.h, d.maxV/c.v
	row := func(y int) []byte {
		y = min(max(y, 0), c.height-1)
		return c.samples[y*8*c.blocksX:][:c.width]
	}
	near := row(y / v)
	far := row(y/v - 1 + y%2*2)
	switch {
	case h == 1 && v == 2:
		for x := range near {
			out[x] = byte((3*int(near[x]) + int(far[x]) + 1 + y%2) >> 2)
		}
	case h == 2 && v == 1 && c.width > 2:
		wide(out, c.width, 2, func(x int) int { return int(near[x]) })
	case h == 2 && v == 2 && c.width > 2:
		wide(out, c.width, 4, func(x int) int { return 3*int(near[x]) + int(far[x]) })
	default:
		for x, s := range near {
			for k := range h {
				out[x*h+k] = s
			}
		}
	}
}

// wide interpolates between n samples. The sums have the given number of binary places. Halves are
// rounded down and up alternately: up in odd columns of planes with full height, in even columns of
// others.
func wide(out []byte, n, places int, sample func(x int) int) {
	half := 1 << (places - 1)
	even, odd := half-1, half
	if places == 4 {
		even, odd = odd, even
	}
	last, this := sample(0), sample(0)
	for x := range n {
		next := this
		if x+1 < n {
			next = sample(x + 1)
		}
		out[2*x] = byte((3*this + last + even) >> places)
		out[2*x+1] = byte((3*this + next + odd) >> places)
		last, this = this, next
	}
}

// conversion returns a function that converts rows of samples to a row of pixels.
func (d *Decoder) conversion() func(out []byte, rows [][]byte) {
	switch len(d.components) {
	case 1:
		return func(out []byte, rows [][]byte) { copy(out, rows[0]) }
	case 3:
		if d.isRGB() {
			return func(out []byte, rows [][]byte) {
				for x := range len(out) / 3 {
					out[3*x], out[3*x+1], out[3*x+2] = rows[0][x], rows[1][x], rows[2][x]
				}
			}
		}
		return func(out []byte, rows [][]byte) {
			for x := range len(out) / 3 {
				out[3*x], out[3*x+1], out[3*x+2] = fromYCC(rows[0][x], rows[1][x], rows[2][x])
			}
		}
	}
	transformed := d.adobe == 2
	return func(out []byte, rows [][]byte) {
		for x := range len(out) / 3 {
			// Files hold inverted inks, as Adobe's programs write them.
			c, m, y, light := rows[0][x], rows[1][x], rows[2][x], rows[3][x]
			if transformed {
				c, m, y = fromYCC(c, m, y)
				c, m, y = 255-c, 255-m, 255-y
			}
			out[3*x], out[3*x+1], out[3*x+2] = inked(c, light), inked(m, light), inked(y, light)
		}
	}
}

// inked returns the light that remains under an ink, 255 for none.
func inked(ink, light byte) byte {
	v := int(255-ink)*int(light) + 128
	return light - byte((v>>8+v)>>8)
}

// isRGB reports whether components are colours rather than luma and colour differences. The Adobe
// segment decides, otherwise the components' names do.
func (d *Decoder) isRGB() bool {
	c := d.components
	switch {
	case d.jfif:
		return false
	case d.adobe >= 0:
		return d.adobe == 0
	}
	return c[0].id == 'R' && c[1].id == 'G' && c[2].id == 'B'
}

// fromYCC converts luma and colour differences, ITU-R BT.601 over the full range, to colours.
func fromYCC(y, cb, cr byte) (r, g, b byte) {
	l, u, v := int32(y), int32(cb)-128, int32(cr)-128
	const half = 1 << 15
	r = limit(l + (91881*v+half)>>16)
	g = limit(l + (-22554*u-46802*v+half)>>16)
	b = limit(l + (116130*u+half)>>16)
	return r, g, b
}

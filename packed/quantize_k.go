package packed

import "encoding/binary"

// grid is a set of values that codes stand for, in parts of a scale.
type grid interface {
	// sums returns the sums of w*x*q and w*q*q for the values q that are nearest to x*inverse.
	sums(x, w []float32, inverse float32) (xq, qq float32)
	// loss returns the sum of squared errors with a scale.
	loss(x, w []float32, scale float32) float32
	// codes writes the codes with a scale.
	codes(dst []uint8, x []float32, scale float32)
}

// grouped is a type with groups of elements, each with a whole number of its block's scale.
type grouped struct {
	grid
	size      int       // of a group
	low, high int32     // of the whole numbers
	tries     []float32 // inverse scales to begin with, in parts of the largest element
	reach     int32     // of the search of whole numbers
}

// best returns the scale that leaves the least error of those that the sums of the tries give.
func best(g grid, tries []float32, x, w []float32) (scale float32) {
	m := largest(x)
	if m == 0 {
		return 0
	}
	var most float32
	for _, c := range tries {
		if xq, qq := g.sums(x, w, c/m); xq*xq > most*qq {
			scale, most = xq/qq, xq*xq/qq
		}
	}
	return scale
}

// fit finds the scale of a block and the whole numbers of its groups, and writes the codes.
func (t *grouped) fit(codes []uint8, scales []int32, x, w []float32) (d float32) {
	var wanted [16]float32
	var most float32
	for j := range scales {
		at := j * t.size
		wanted[j] = best(t, t.tries, x[at:at+t.size], w[at:at+t.size])
		if abs32(wanted[j]) > abs32(most) {
			most = wanted[j]
		}
	}
	d = storable(most / float32(t.low))
	for round := range 2 {
		id := inverse(d)
		var xq, qq float32
		for j := range scales {
			gx, gw := x[j*t.size:][:t.size], w[j*t.size:][:t.size]
			from := min(max(rounded(wanted[j]*id), t.low), t.high)
			reach := t.reach
			switch {
			case round > 0:
				reach = 1
			case weighed(w):
				reach *= 2
			}
			scales[j] = t.nearest(gx, gw, d, from, reach)
			wanted[j] = d * float32(scales[j])
			s := float32(scales[j])
			gxq, gqq := t.sums(gx, gw, inverse(wanted[j]))
			xq += float32(s * gxq)
			qq += float32(s * s * gqq)
		}
		if qq > 0 {
			d = storable(xq / qq)
		}
	}
	for j, s := range scales {
		at := j * t.size
		t.codes(codes[at:at+t.size], x[at:at+t.size], d*float32(s))
	}
	return d
}

// nearest returns the whole number within reach of from that leaves the least error.
func (t *grouped) nearest(x, w []float32, d float32, from, reach int32) int32 {
	at, least := from, t.loss(x, w, d*float32(from))
	for s := max(from-reach, t.low); s <= min(from+reach, t.high); s++ {
		if s == from {
			continue
		}
		if e := t.loss(x, w, d*float32(s)); e < least {
			at, least = s, e
		}
	}
	return at
}

var (
	gridQ3K = grouped{grid: symmetric{-4, 3}, size: 16, low: -32, high: 31, reach: 1,
		tries: []float32{-5.2, -4.8, -4.5, -4.2, -4, -3.8, -3.6, -3.4, -3.2, -3, 2.8, 3, 3.2, 3.4, 3.7, 4}}
	gridQ6K = grouped{grid: symmetric{-32, 31}, size: 16, low: -128, high: 127, reach: 3,
		tries: []float32{-32, -31.5}}
)

func quantizeQ3K(dst []byte, x, w []float32) {
	var codes [256]uint8
	var scales [16]int32
	d := gridQ3K.fit(codes[:], scales[:], x, w)
	third, q, s := dst[:32], dst[32:96], dst[96:108]
	clear(dst)
	putHalf(dst[108:], d)
	for j, v := range scales {
		c := byte(v + 32)
		s[j%8] |= c & 15 << (j / 8 * 4)
		s[8+j%4] |= c >> 4 << (j / 4 * 2)
	}
	for i, c := range codes {
		q[i/128*32+i%32] |= c & 3 << (i / 32 % 4 * 2)
		third[i%32] |= c >> 2 << (i / 32)
	}
}

func quantizeQ6K(dst []byte, x, w []float32) {
	var codes [256]uint8
	var scales [16]int32
	d := gridQ6K.fit(codes[:], scales[:], x, w)
	low, high, s := dst[:128], dst[128:192], dst[192:208]
	clear(dst)
	putHalf(dst[208:], d)
	for j, v := range scales {
		s[j] = byte(v)
	}
	for i, c := range codes {
		h, k, l := i/128, i%128/32, i%32
		low[64*h+k%2*32+l] |= c & 15 << (k / 2 * 4)
		high[32*h+l] |= c >> 4 << (2 * k)
	}
}

// leveled is a type with groups of elements, each with whole numbers of its block's scale and of the
// block's least value.
type leveled struct {
	affine
	size     int       // of a group
	top      int32     // of the whole numbers
	tries    []float32 // levels from the least to the greatest element to begin with
	weighed  []float32 // tries with importance; nil for no others
	rounds   int       // of the search of whole numbers
	negative bool      // the number that is subtracted may be negative
}

// fit finds the scale and the least value of a block and the whole numbers of its groups, and writes
// the codes.
func (t *leveled) fit(codes []uint8, scales, leasts []uint8, x, w []float32) (d, dmin float32) {
	var sums [16]moments
	var a, b [16]float32 // scales and least values that are wanted
	var mostA, mostB float32
	weighed := weighed(w)
	for j := range scales {
		gx, gw := x[j*t.size:][:t.size], w[j*t.size:][:t.size]
		sums[j] = t.moments(gx, gw)
		a[j], b[j] = t.begin(&sums[j], gx, gw, weighed)
		mostA, mostB = max(mostA, a[j]), max(mostB, b[j])
	}
	d, dmin = storable(mostA/float32(t.top)), storable(mostB/float32(t.top))
	for round := range t.rounds {
		reach, passes := int32(1), 1
		if weighed {
			passes = 3
			if round == 0 {
				reach = 4
			}
		}
		id, idmin := inverse(d), inverse(dmin)
		var aa, ab, bb, ax, bx float32
		for j := range scales {
			gx, gw := x[j*t.size:][:t.size], w[j*t.size:][:t.size]
			s := min(max(rounded(a[j]*id), 0), t.top)
			scales[j], leasts[j] = t.nearest(&sums[j], gx, gw, d, dmin, s, reach, passes, b[j], idmin)
			s1, m1 := float32(scales[j]), float32(leasts[j])
			a[j], b[j] = d*s1, dmin*m1
			g := &sums[j]
			t.sums(g, gx, gw, inverse(a[j]), b[j])
			aa += float32(s1 * s1 * g.qq)
			ab -= float32(s1 * m1 * g.q)
			bb += float32(m1 * m1 * g.w)
			ax += float32(s1 * g.xq)
			bx -= float32(m1 * g.x)
		}
		if det := aa*bb - ab*ab; det > 0 {
			nd, nm := (ax*bb-bx*ab)/det, (aa*bx-ab*ax)/det
			if nd > 0 && nm >= 0 {
				d, dmin = storable(nd), storable(nm)
			}
		} else if aa > 0 && ax > 0 {
			d = storable(ax / aa)
		}
	}
	for j := range scales {
		at := j * t.size
		t.codes(codes[at:at+t.size], x[at:at+t.size], d*float32(scales[j]), dmin*float32(leasts[j]))
	}
	return d, dmin
}

// begin returns the scale and the least value of a group, before they are whole numbers of others.
func (t *leveled) begin(m *moments, x, w []float32, weighed bool) (scale, least float32) {
	low, high := span(x)
	if !t.negative {
		low = min(low, 0)
	}
	if high <= low {
		return 0, -low
	}
	loss := float32(3.4e38)
	tries := t.tries
	if weighed && t.weighed != nil {
		tries = t.weighed
	}
	for _, n := range tries {
		t.sums(m, x, w, n/(high-low), -low)
		if a, b, e := m.solve(t.negative); e < loss {
			scale, least, loss = a, b, e
		}
	}
	for range 2 {
		t.sums(m, x, w, inverse(scale), least)
		a, b, e := m.solve(t.negative)
		if !(e < loss) {
			break
		}
		scale, least, loss = a, b, e
	}
	return scale, least
}

// nearest returns the whole numbers within reach of s and least that leave the least error of a group.
func (t *leveled) nearest(m *moments, x, w []float32, d, dmin float32, s, reach int32, passes int, least, idmin float32) (scale, low uint8) {
	loss := float32(3.4e38)
	for c := max(s-reach, 0); c <= min(s+reach, t.top); c++ {
		a, b := d*float32(c), least
		for range passes {
			t.sums(m, x, w, inverse(a), b)
			// The least value that fits these codes.
			fits := min(max(rounded((a*m.q-m.x)*inverse(m.w)*idmin), 0), t.top)
			b = dmin * float32(fits)
			if e := m.loss(a, b); e < loss {
				scale, low, loss = uint8(c), uint8(fits), e
			}
		}
	}
	return scale, low
}

var (
	gridQ2K = leveled{affine: affine{3}, size: 16, top: 15, rounds: 3,
		tries: []float32{2.4, 2.8, 3.2, 3.6, 4, 4.5}}
	gridQ4K = leveled{affine: affine{15}, size: 32, top: 63, rounds: 2,
		tries:   []float32{14.2, 14.8, 15.3, 15.8, 16.4, 17},
		weighed: []float32{11.8, 12.6, 13.4, 14, 14.5, 15, 15.5, 16, 16.5, 17, 17.7, 18.5}}
	gridQ5K = leveled{affine: affine{31}, size: 32, top: 63, rounds: 3,
		tries:   []float32{30.3, 30.8, 31.2, 31.7, 32.3},
		weighed: []float32{26, 27.2, 28.4, 29.3, 30, 30.6, 31.2, 31.8, 32.4, 33, 34}}
)

func quantizeQ2K(dst []byte, x, w []float32) {
	var codes [256]uint8
	var scales, leasts [16]uint8
	d, dmin := gridQ2K.fit(codes[:], scales[:], leasts[:], x, w)
	clear(dst)
	putHalf(dst[80:], d)
	putHalf(dst[82:], dmin)
	for j, s := range scales {
		dst[j] = s | leasts[j]<<4
	}
	q := dst[16:80]
	for i, c := range codes {
		q[i/128*32+i%32] |= c << (i / 32 % 4 * 2)
	}
}

// putScalesK stores the scales and the least values of Q4_K and Q5_K.
func putScalesK(dst []byte, scales, leasts *[8]uint8) {
	for j := range 4 {
		dst[j] = scales[j] | scales[j+4]>>4<<6
		dst[j+4] = leasts[j] | leasts[j+4]>>4<<6
		dst[j+8] = scales[j+4]&15 | leasts[j+4]<<4
	}
}

// packNibbles stores the low 4 bits of codes, 64 to 32 bytes.
func packNibbles(dst []byte, codes []uint8) {
	for i := range dst {
		at := i/32*64 + i%32
		dst[i] = codes[at]&15 | codes[at+32]<<4
	}
}

func quantizeQ4K(dst []byte, x, w []float32) {
	var codes [256]uint8
	var scales, leasts [8]uint8
	d, dmin := gridQ4K.fit(codes[:], scales[:], leasts[:], x, w)
	putHalf(dst, d)
	putHalf(dst[2:], dmin)
	putScalesK(dst[4:16], &scales, &leasts)
	packNibbles(dst[16:144], codes[:])
}

func quantizeQ5K(dst []byte, x, w []float32) {
	var codes [256]uint8
	var scales, leasts [8]uint8
	d, dmin := gridQ5K.fit(codes[:], scales[:], leasts[:], x, w)
	putHalf(dst, d)
	putHalf(dst[2:], dmin)
	putScalesK(dst[4:16], &scales, &leasts)
	fifth := dst[16:48]
	clear(fifth)
	for i, c := range codes {
		fifth[i%32] |= c >> 4 << (i / 32)
	}
	packNibbles(dst[48:176], codes[:])
}

var gridIQ4XS = grouped{grid: &tabledNL, size: 32, low: -32, high: 31, reach: 1,
	tries: []float32{-131, -127, -122, -117, -112, -106, -98, 100, 107, 112, 117, 122, 128}}

func quantizeIQ4XS(dst []byte, x, w []float32) {
	var codes [256]uint8
	var scales [8]int32
	d := gridIQ4XS.fit(codes[:], scales[:], x, w)
	clear(dst)
	putHalf(dst, d)
	var high uint16
	for j, s := range scales {
		c := s + 32
		high |= uint16(c>>4) << (2 * j)
		dst[4+j/2] |= byte(c&15) << (j % 2 * 4)
		for i := range 16 {
			dst[8+16*j+i] = codes[32*j+i] | codes[32*j+i+16]<<4
		}
	}
	binary.LittleEndian.PutUint16(dst[2:], high)
}

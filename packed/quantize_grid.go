package packed

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
)

// vectors finds rows of a code book. The elements of a vector are rounded to the values that rows
// have, and the rows that are nearest to such a point are looked up.
type vectors struct {
	book   *book
	width  int     // of a vector
	levels int     // values that elements of rows have
	first  float32 // of the values
	step   float32 // between values, nearly
	count  int     // of the rows near a point
	near   func() []uint16
	rows   func() [][8]float32
}

func newVectors(b *book, count int) *vectors {
	v := &vectors{book: b, width: 8, levels: len(b.values), first: float32(b.values[0]), count: count}
	if b.width > 2 {
		v.width = 4
	}
	v.step = (float32(b.values[v.levels-1]) - v.first) / float32(v.levels-1)
	v.rows = sync.OnceValue(func() [][8]float32 {
		list := make([][8]float32, len(b.codes))
		for r, row := range b.rows() {
			for i, c := range row {
				list[r][i] = float32(c)
			}
		}
		return list
	})
	v.near = sync.OnceValue(v.neighbours)
	return v
}

// neighbours returns the rows near each point, the nearest first.
func (v *vectors) neighbours() []uint16 {
	points := 1
	for range v.width {
		points *= v.levels
	}
	list := make([]uint16, points*v.count)
	keys := make([]uint32, v.count) // distances and rows, in order
	rows := v.book.rows()
	for p := range points {
		var at [8]int32
		for i, rest := v.width-1, p; i >= 0; i, rest = i-1, rest/v.levels {
			at[i] = int32(v.book.values[rest%v.levels])
		}
		for i := range keys {
			keys[i] = math.MaxUint32
		}
		for r := range rows {
			sum := uint32(0)
			for i, c := range rows[r] {
				d := at[i] - int32(c)
				sum += uint32(d * d)
			}
			key := min(sum, 1<<20-1)<<11 | uint32(r)
			i := len(keys) - 1
			if key > keys[i] {
				continue
			}
			for ; i > 0 && keys[i-1] > key; i-- {
				keys[i] = keys[i-1]
			}
			keys[i] = key
		}
		for i := range v.count {
			list[p*v.count+i] = uint16(keys[i] & (1<<11 - 1))
		}
	}
	return list
}

// nearest returns the row with the least weighed error to x.
func (v *vectors) nearest(x, w []float32, near []uint16, rows [][8]float32) (row uint16, loss float32) {
	p := 0
	x, w = x[:v.width], w[:v.width]
	for _, a := range x {
		p = p*v.levels + int(min(max(rounded((min(max(a, -1e4), 1e4)-v.first)/v.step), 0), int32(v.levels-1)))
	}
	loss = math.MaxFloat32
	for _, r := range near[p*v.count:][:v.count] {
		g := rows[r][:len(x)]
		var e float32
		for i, a := range x {
			d := a - g[i]
			e += float32(w[i] * d * d)
		}
		if e < loss {
			row, loss = r, e
		}
	}
	return row, loss
}

// booked is a type with vectors that are rows of a code book. A group has an odd multiple of the unit of
// its block.
type booked struct {
	*vectors
	size   int       // of a group
	parts  float32   // of a block's scale that are a unit
	most   int32     // of the numbers s that make up the multiples 2s+1
	tries  []float32 // inverse scales to begin with, in parts of the largest element
	signs  bool      // elements have signs beside the rows
	even   bool      // the number of minus signs of 8 elements is even
	shift  float32   // which is added to all elements of a row, or subtracted
	single bool      // each vector has a shift of its own, not each group
}

// choice is the code of each vector of a block.
type choice struct {
	rows   [64]uint16
	minus  [64]bool // the shift is subtracted
	scales [16]uint8
	signs  [32]byte
}

// fit finds the vectors and the scales of a block, and returns the unit of the scales.
func (t *booked) fit(c *choice, x, w []float32) (unit float32) {
	var sized [256]float32
	copy(sized[:], x)
	if t.signs {
		for k := range c.signs {
			c.signs[k] = t.split(sized[8*k:][:8], w[8*k:])
		}
	}
	x = sized[:]
	var wanted [16]float32
	var most float32
	groups := 256 / t.size
	for j := range groups {
		gx, gw := x[j*t.size:][:t.size], w[j*t.size:][:t.size]
		m := abs32(largest(gx))
		if m == 0 {
			continue
		}
		var gain float32
		for _, k := range t.tries {
			if xq, qq := t.try(c, j, gx, gw, k/m); xq > 0 && xq*xq > gain*qq {
				wanted[j], gain = xq/qq, xq*xq/qq
			}
		}
		most = max(most, wanted[j])
	}
	unit = most / float32(2*t.most+1)
	for round := range 3 {
		if unit = storable(t.parts*unit) / t.parts; !(unit > 0) {
			return 0
		}
		var xq, qq float32
		for j := range groups {
			gx, gw := x[j*t.size:][:t.size], w[j*t.size:][:t.size]
			reach := int32(1)
			if round == 2 { // the unit is final
				reach = 0
			}
			from := min(max(rounded((wanted[j]/unit-1)/2), 0), t.most)
			gain, bestXQ, bestQQ := float32(-math.MaxFloat32), float32(0), float32(0)
			for s := max(from-reach, 0); s <= min(from+reach, t.most); s++ {
				a := unit * float32(2*s+1)
				if p, q := t.try(c, j, gx, gw, 1/a); 2*a*p-a*a*q > gain {
					gain, c.scales[j], bestXQ, bestQQ = 2*a*p-a*a*q, uint8(s), p, q
				}
			}
			odd := float32(2*int32(c.scales[j]) + 1)
			wanted[j] = unit * odd
			xq += odd * bestXQ
			qq += odd * odd * bestQQ
		}
		if round < 2 && qq > 0 && xq > 0 {
			unit = xq / qq
		}
	}
	return unit
}

// split replaces 8 elements by their sizes and returns their signs. If the number of minus signs must
// be even and is not, the least important element gets the other sign.
func (t *booked) split(x, w []float32) (signs byte) {
	for i, v := range x {
		if v < 0 {
			x[i], signs = -v, signs|1<<i
		}
	}
	if !t.even || bits.OnesCount8(signs)%2 == 0 {
		return signs
	}
	at, least := 0, float32(math.MaxFloat32)
	for i, v := range x {
		if e := w[i] * v * v; e < least {
			at, least = i, e
		}
	}
	x[at] = -x[at]
	return signs ^ 1<<at
}

// try chooses the vectors of a group with a scale, and returns the sums of w*x*q and w*q*q.
func (t *booked) try(c *choice, group int, x, w []float32, inverse float32) (xq, qq float32) {
	near, rows := t.near(), t.rows()
	n := t.size / t.width
	list, minus := c.rows[group*n:][:n], c.minus[group*n:][:n]
	var scaled [32]float32
	if t.shift == 0 {
		for i, v := range x {
			scaled[i] = v * inverse
		}
		for k := range list {
			list[k], _ = t.nearest(scaled[k*t.width:], w[k*t.width:], near, rows)
		}
		return t.total(list, minus, x, w, rows)
	}
	var losses [2]float32
	var found [2][4]uint16
	var each [2][4]float32
	for side, e := range []float32{t.shift, -t.shift} {
		for i, v := range x {
			scaled[i] = v*inverse - e
		}
		for k := range list {
			found[side][k], each[side][k] = t.nearest(scaled[k*t.width:], w[k*t.width:], near, rows)
			losses[side] += each[side][k]
		}
	}
	for k := range list {
		side := 0
		if t.single && each[1][k] < each[0][k] || !t.single && losses[1] < losses[0] {
			side = 1
		}
		list[k], minus[k] = found[side][k], side == 1
	}
	return t.total(list, minus, x, w, rows)
}

// total returns the sums for chosen vectors.
func (t *booked) total(list []uint16, minus []bool, x, w []float32, rows [][8]float32) (xq, qq float32) {
	for k, r := range list {
		e := t.shift
		if minus[k] {
			e = -e
		}
		g := &rows[r]
		for i := range t.width {
			at := k*t.width + i
			q := g[i] + e
			wq := w[at] * q
			xq += float32(wq * x[at])
			qq += float32(wq * q)
		}
	}
	return xq, qq
}

var (
	tries2 = []float32{34, 42, 50, 60, 72}
	tries3 = []float32{50, 57, 63, 70, 78}
	tries1 = []float32{1.2, 1.6, 2.1, 2.8}

	gridIQ2XXS = booked{vectors: newVectors(bookIQ2XXS, 8), size: 32, parts: 8, most: 15, tries: tries2, signs: true, even: true}
	gridIQ2XS  = booked{vectors: newVectors(bookIQ2XS, 8), size: 16, parts: 8, most: 15, tries: tries2, signs: true, even: true}
	gridIQ2S   = booked{vectors: newVectors(bookIQ2S, 8), size: 16, parts: 8, most: 15, tries: tries2, signs: true}
	gridIQ3XXS = booked{vectors: newVectors(bookIQ3XXS, 8), size: 32, parts: 4, most: 15, tries: tries3, signs: true, even: true}
	gridIQ3S   = booked{vectors: newVectors(bookIQ3S, 6), size: 32, parts: 1, most: 15, signs: true,
		tries: []float32{12, 13.5, 15, 16.5, 18.5}}
	near1    = newVectors(bookIQ1, 10)
	gridIQ1S = booked{vectors: near1, size: 32, parts: 1, most: 7, tries: tries1, shift: 0.125}
	gridIQ1M = booked{vectors: near1, size: 16, parts: 1, most: 7, tries: tries1, shift: 0.125, single: true}
)

func quantizeIQ2XXS(dst []byte, x, w []float32) {
	var c choice
	putHalf(dst, 8*gridIQ2XXS.fit(&c, x, w))
	for g := range 8 {
		word := uint32(c.scales[g]) << 28
		for k := range 4 {
			dst[2+8*g+k] = byte(c.rows[4*g+k])
			word |= uint32(c.signs[4*g+k]&127) << (7 * k)
		}
		binary.LittleEndian.PutUint32(dst[6+8*g:], word)
	}
}

func quantizeIQ2XS(dst []byte, x, w []float32) {
	var c choice
	clear(dst)
	putHalf(dst, 8*gridIQ2XS.fit(&c, x, w))
	for k, row := range c.rows[:32] {
		binary.LittleEndian.PutUint16(dst[2+2*k:], row|uint16(c.signs[k]&127)<<9)
	}
	for j, s := range c.scales {
		dst[66+j/2] |= s << (j % 2 * 4)
	}
}

func quantizeIQ2S(dst []byte, x, w []float32) {
	var c choice
	clear(dst)
	putHalf(dst, 8*gridIQ2S.fit(&c, x, w))
	for k, row := range c.rows[:32] {
		dst[2+k] = byte(row)
		dst[34+k] = c.signs[k]
		dst[66+k/4] |= byte(row>>8) << (k % 4 * 2)
	}
	for j, s := range c.scales {
		dst[74+j/2] |= s << (j % 2 * 4)
	}
}

func quantizeIQ3XXS(dst []byte, x, w []float32) {
	var c choice
	putHalf(dst, 4*gridIQ3XXS.fit(&c, x, w))
	for k, row := range c.rows {
		dst[2+k] = byte(row)
	}
	for g := range 8 {
		word := uint32(c.scales[g]) << 28
		for k := range 4 {
			word |= uint32(c.signs[4*g+k]&127) << (7 * k)
		}
		binary.LittleEndian.PutUint32(dst[66+4*g:], word)
	}
}

func quantizeIQ3S(dst []byte, x, w []float32) {
	var c choice
	clear(dst)
	putHalf(dst, gridIQ3S.fit(&c, x, w))
	for k, row := range c.rows {
		dst[2+k] = byte(row)
		dst[66+k/8] |= byte(row>>8) << (k % 8)
	}
	copy(dst[74:106], c.signs[:])
	for j, s := range c.scales[:8] {
		dst[106+j/2] |= s << (j % 2 * 4)
	}
}

func quantizeIQ1S(dst []byte, x, w []float32) {
	var c choice
	putHalf(dst, gridIQ1S.fit(&c, x, w))
	for g := range 8 {
		word := uint16(c.scales[g]) << 12
		if c.minus[4*g] {
			word |= 1 << 15
		}
		for k := range 4 {
			dst[2+4*g+k] = byte(c.rows[4*g+k])
			word |= c.rows[4*g+k] >> 8 << (3 * k)
		}
		binary.LittleEndian.PutUint16(dst[34+2*g:], word)
	}
}

func quantizeIQ1M(dst []byte, x, w []float32) {
	var c choice
	clear(dst)
	d := uint16(ToF16(gridIQ1M.fit(&c, x, w)))
	for k, row := range c.rows[:32] {
		dst[k] = byte(row)
		n := byte(row >> 8)
		if c.minus[k] {
			n |= 8
		}
		dst[32+k/2] |= n << (k % 2 * 4)
	}
	for i := range 4 {
		word := d >> (4 * i) & 15 << 12
		for j, s := range c.scales[4*i:][:4] {
			word |= uint16(s) << (3 * j)
		}
		binary.LittleEndian.PutUint16(dst[48+2*i:], word)
	}
}

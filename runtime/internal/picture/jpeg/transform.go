package jpeg

// Constants of the transform, with 13 binary places.
const (
	c0298 = 2446  // 0.298631336
	c0390 = 3196  // 0.390180644
	c0541 = 4433  // 0.541196100
	c0765 = 6270  // 0.765366865
	c0899 = 7373  // 0.899976223
	c1175 = 9633  // 1.175875602
	c1501 = 12299 // 1.501321110
	c1847 = 15137 // 1.847759065
	c1961 = 16069 // 1.961570560
	c2053 = 16819 // 2.053119869
	c2562 = 20995 // 2.562915447
	c3072 = 25172 // 3.072711026
)

// transform computes samples from coefficients block by block, then drops the coefficients.
func (c *component) transform() {
	stride := 8 * c.blocksX
	c.samples = make([]byte, 64*c.blocksX*c.blocksY)
	var b [64]int32
	for k := range c.blocksX * c.blocksY {
		for i, v := range c.coefficients[64*k:][:64] {
			b[i] = int32(v) * int32(c.quant[i])
		}
		for x := range 8 {
			inverse(&b, x, 8, 11)
		}
		for y := range 8 {
			inverse(&b, 8*y, 1, 18)
		}
		out := c.samples[k/c.blocksX*8*stride+k%c.blocksX*8:]
		for i, v := range b {
			out[i/8*stride+i%8] = limit(v + 128)
		}
	}
	c.coefficients = nil
}

func limit(v int32) byte { return byte(min(max(v, 0), 255)) }

// inverse is the inverse cosine transform of 8 numbers, times the square root of 8, by the method
// of Loeffler, Ligtenberg and Moschytz ("Practical fast 1-D DCT algorithms with 11
// multiplications", ICASSP 1989). The constants add 13 binary places to the input's. The lowest
// shift places are rounded away.
func inverse(b *[64]int32, at, step int, shift uint) {
	in := func(i int) int32 { return b[at+i*step] }
	// Even coefficients.
	z := (in(2) + in(6)) * c0541
	s2, s3 := z-in(6)*c1847, z+in(2)*c0765
	s0, s1 := (in(0)+in(4))<<13, (in(0)-in(4))<<13
	e0, e3, e1, e2 := s0+s3, s0-s3, s1+s2, s1-s2
	// Odd ones.
	p, q, r, t := in(7), in(5), in(3), in(1)
	z5 := (p + r + q + t) * c1175
	z1, z2, z3, z4 := -(p+t)*c0899, -(q+r)*c2562, -(p+r)*c1961+z5, -(q+t)*c0390+z5
	o3, o2, o1, o0 := p*c0298+z1+z3, q*c2053+z2+z4, r*c3072+z2+z3, t*c1501+z1+z4

	half := int32(1) << (shift - 1)
	for i, pair := range [4][2]int32{{e0, o0}, {e1, o1}, {e2, o2}, {e3, o3}} {
		b[at+i*step] = (pair[0] + pair[1] + half) >> shift
		b[at+(7-i)*step] = (pair[0] - pair[1] + half) >> shift
	}
}

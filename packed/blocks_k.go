package packed

// Blocks of 256 elements in groups of 16 or 32 with scales of few bits, s, and least values, m:
//
//	Q2_K | 16 x (s, m of 4 bits) | 64 bytes of 2 bits | d half | dm half |             (d*s)*q - dm*m
//	Q3_K | 32 bytes, third bits | 64 bytes of 2 bits | 12 bytes: 16 s of 6 bits | d half |  (d*(s-32))*(q-4)
//	Q4_K | d half | dm half | 12 bytes: 8 s, 8 m of 6 bits | 128 bytes of 4 bits |     (d*s)*q - dm*m
//	Q5_K | d half | dm half | 12 bytes: 8 s, 8 m of 6 bits | 32 bytes, fifth bits | 128 bytes of 4 bits |
//	Q6_K | 128 bytes of 4 bits | 64 bytes of 2 high bits | 16 int8 s | d half |        (d*s)*(q-32)
//
// 32 bytes of 2 bits hold 128 elements: bits 2k and 2k+1 of byte i belong to element 32k+i. 32 bytes
// of 4 bits hold 64 elements in the same way; in Q6_K, 64 bytes hold 128. Bit j of byte i of the
// third or fifth bits belongs to element 32j+i.

func unpackQ2K(y []float32, b []byte) {
	scales, q, d, dmin := b[:16], b[16:80], half(b[80:]), half(b[82:])
	for j, s := range scales {
		scale, least := d*float32(s&15), float32(dmin*float32(s>>4))
		from, shift := q[j/8*32+j%2*16:][:16], j%8/2*2
		for i, c := range from {
			y[16*j+i] = float32(scale*float32(c>>shift&3)) - least
		}
	}
}

func unpackQ3K(y []float32, b []byte) {
	third, q, s, d := b[:32], b[32:96], b[96:108], half(b[108:])
	for j := range 16 {
		low, high := s[j%8]>>(j/8*4)&15, s[8+j%4]>>(j/4*2)&3
		scale := d * float32(int(low|high<<4)-32)
		at, shift := j%2*16, j%8/2*2
		from, bits := q[j/8*32+at:][:16], third[at:][:16]
		for i, c := range from {
			y[16*j+i] = scale * float32(int(c>>shift&3|bits[i]>>(j/2)&1<<2)-4)
		}
	}
}

// scalesK returns scale and least value of group j of Q4_K and Q5_K, before they are multiplied.
func scalesK(s []byte, j int) (scale, least byte) {
	if j < 4 {
		return s[j] & 63, s[j+4] & 63
	}
	return s[j+4]&15 | s[j-4]>>6<<4, s[j+4]>>4 | s[j]>>6<<4
}

func unpackQ4K(y []float32, b []byte) {
	d, dmin, s, q := half(b), half(b[2:]), b[4:16], b[16:144]
	for j := range 8 {
		sc, mn := scalesK(s, j)
		scale, least := d*float32(sc), float32(dmin*float32(mn))
		shift := j % 2 * 4
		for i, c := range q[j/2*32:][:32] {
			y[32*j+i] = float32(scale*float32(c>>shift&15)) - least
		}
	}
}

func unpackQ5K(y []float32, b []byte) {
	d, dmin, s, fifth, q := half(b), half(b[2:]), b[4:16], b[16:48], b[48:176]
	for j := range 8 {
		sc, mn := scalesK(s, j)
		scale, least := d*float32(sc), float32(dmin*float32(mn))
		shift := j % 2 * 4
		for i, c := range q[j/2*32:][:32] {
			y[32*j+i] = float32(scale*float32(c>>shift&15|fifth[i]>>j&1<<4)) - least
		}
	}
}

func unpackQ6K(y []float32, b []byte) {
	low, high, scales, d := b[:128], b[128:192], b[192:208], half(b[208:])
	for j, s := range scales {
		scale := d * float32(int8(s))
		h, k, at := j/8, j%8/2, j%2*16 // half of the block, row of 32 in it, place in the row
		from, bits := low[64*h+k%2*32+at:][:16], high[32*h+at:][:16]
		for i, c := range from {
			y[16*j+i] = scale * float32(int(c>>(k/2*4)&15|bits[i]>>(2*k)&3<<4)-32)
		}
	}
}

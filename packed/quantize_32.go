package packed

// tabled is a grid of 16 values in rising order.
type tabled struct {
	values *[16]float32
	near   [1024]uint8 // the code of the value that is nearest to i/4 - 128
}

var tabledNL = newTabled(&valuesNL)

func newTabled(values *[16]float32) (t tabled) {
	t.values = values
	for i := range t.near {
		v := float32(i)/4 - 128
		for c, value := range values {
			if abs32(value-v) < abs32(values[t.near[i]]-v) {
				t.near[i] = uint8(c)
			}
		}
	}
	return t
}

// code returns the code of the value that is nearest to v.
func (t *tabled) code(v float32) uint8 { return t.near[uint32(min(max(rounded(4*v), -512), 511)+512)] }

func (t *tabled) sums(x, w []float32, inverse float32) (xq, qq float32) {
	w = w[:len(x)]
	for i, v := range x {
		q := t.values[t.code(v*inverse)&15]
		wq := w[i] * q
		xq += float32(wq * v)
		qq += float32(wq * q)
	}
	return xq, qq
}

func (t *tabled) loss(x, w []float32, scale float32) (e float32) {
	w = w[:len(x)]
	inverse := inverse(scale)
	for i, v := range x {
		d := v - float32(scale*t.values[t.code(v*inverse)&15])
		e += float32(w[i] * d * d)
	}
	return e
}

func (t *tabled) codes(dst []uint8, x []float32, scale float32) {
	inverse := inverse(scale)
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = t.code(v * inverse)
	}
}

// single returns the best scale of a block without groups, and writes the codes.
func single(codes []uint8, g grid, tries []float32, x, w []float32) (d float32) {
	d = best(g, tries, x, w)
	for range 2 {
		if xq, qq := g.sums(x, w, inverse(d)); qq > 0 {
			d = xq / qq
		}
	}
	d = storable(d)
	g.codes(codes, x, d)
	return d
}

var (
	triesQ40   = []float32{-9.6, -9.2, -8.9, -8.6, -8.3, -8, -7.7, -7.4, -7.1, -6.7, -6.2, 6.7, 7, 7.3, 7.6, 7.9, 8.2}
	triesQ50   = []float32{-17.5, -17, -16.7, -16.4, -16.1, -15.8, -15.5, -15.2, -14.8, -14.3, -13.6, -12.8, 14.2, 14.7, 15.1, 15.5, 15.9}
	triesIQ4NL = []float32{-136, -131, -127, -123, -119, -115, -111, -106, -100, -92, 94, 101, 107, 111, 115, 119, 123, 128}
)

func quantizeQ40(dst []byte, x, w []float32) {
	var codes [32]uint8
	putHalf(dst, single(codes[:], symmetric{-8, 7}, triesQ40, x, w))
	packHalves(dst[2:18], &codes)
}

func quantizeQ50(dst []byte, x, w []float32) {
	var codes [32]uint8
	putHalf(dst, single(codes[:], symmetric{-16, 15}, triesQ50, x, w))
	packFive(dst[2:22], func(i int) uint32 { return uint32(codes[i]) })
}

func quantizeIQ4NL(dst []byte, x, w []float32) {
	var codes [32]uint8
	putHalf(dst, single(codes[:], &tabledNL, triesIQ4NL, x, w))
	packHalves(dst[2:18], &codes)
}

var (
	gridQ41 = leveled{affine: affine{15}, negative: true, tries: []float32{13.9, 14.3, 14.7, 15.1, 15.6, 16.1},
		weighed: []float32{10.5, 11.2, 11.9, 12.5, 13.1, 13.6, 14.1, 14.5, 14.9, 15.3, 15.7, 16.1, 16.6, 17.2}}
	gridQ51 = leveled{affine: affine{31}, negative: true, tries: []float32{29.8, 30.3, 30.8, 31.2, 31.7},
		weighed: []float32{23, 24.5, 25.7, 26.8, 27.7, 28.5, 29.2, 29.8, 30.3, 30.8, 31.2, 31.7, 32.3, 33}}
)

// lone returns the scale and the least value of a block without groups, and writes the codes.
func (t *leveled) lone(codes []uint8, x, w []float32) (d, m float32) {
	sums := t.moments(x, w)
	a, b := t.begin(&sums, x, w, weighed(w))
	d, m = storable(a), storable(-b)
	t.codes(codes, x, d, -m)
	return d, m
}

func quantizeQ41(dst []byte, x, w []float32) {
	var codes [32]uint8
	d, m := gridQ41.lone(codes[:], x, w)
	putHalf(dst, d)
	putHalf(dst[2:], m)
	packHalves(dst[4:20], &codes)
}

func quantizeQ51(dst []byte, x, w []float32) {
	var codes [32]uint8
	d, m := gridQ51.lone(codes[:], x, w)
	putHalf(dst, d)
	putHalf(dst[2:], m)
	packFive(dst[4:24], func(i int) uint32 { return uint32(codes[i]) })
}

// packHalves stores 32 codes of 4 bits, the first half in the low bits.
func packHalves(dst []byte, codes *[32]uint8) {
	for i := range 16 {
		dst[i] = codes[i]&15 | codes[i+16]<<4
	}
}

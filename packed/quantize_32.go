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
	triesQ40   = []float32{-9, -8.7, -8.4, -8.1, -7.8, -7.5, -7.2, 7.8, 7.5}
	triesQ50   = []float32{-16.8, -16.5, -16.2, -15.9, -15.6, -15.3}
	triesIQ4NL = []float32{-132, -127, -122, -117, -112, -107, 108, 113, 118, 123}
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
	gridQ41 = leveled{affine: affine{15}, negative: true, tries: []float32{13.9, 14.3, 14.7, 15.1, 15.6, 16.1}}
	gridQ51 = leveled{affine: affine{31}, negative: true, tries: []float32{29.8, 30.3, 30.8, 31.2, 31.7}}
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

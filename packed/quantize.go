package packed

import "math"

// Quantisers look for scales with which the sum of squared errors of a block is small. A pass over
// the elements with a scale gives codes and sums. The sums give the best scale for these codes, and
// its error, by least squares. Scales of few bits are then chosen by the error that they leave, and
// the float16 scales of the block by least squares again.

// weights is the importance of the elements of a block where there is none.
var weights = func() (w [256]float32) {
	for i := range w {
		w[i] = 1
	}
	return w
}()

// weighed reports whether the elements of a block have importance of their own.
func weighed(w []float32) bool { return &w[0] != &weights[0] }

// quantizer returns a function that calls one for each block. Blocks of zeros and of numbers that are
// too small for a float16 scale become zeros. Elements beyond the range of a type are cut to it.
func (b *Blocks) quantizer(one func(dst []byte, x, w []float32)) func(dst []byte, src, importance []float32) {
	return func(dst []byte, src, importance []float32) {
		var cut, relative [256]float32
		for ; len(src) > 0; dst, src = dst[b.Bytes:], src[b.Elements:] {
			x, w := src[:b.Elements], weights[:b.Elements]
			if importance != nil {
				w = normal(relative[:b.Elements], importance)
				importance = importance[b.Elements:]
			}
			switch most := abs32(largest(x)); {
			case most < 1e-12:
				clear(cut[:])
				x = cut[:b.Elements]
			case most > 1e8:
				for i, v := range x {
					cut[i] = min(max(v, -1e8), 1e8)
				}
				x = cut[:b.Elements]
			}
			one(dst[:b.Bytes], x, w)
		}
	}
}

// normal writes the importance of a block in parts of its largest. If no element is important, all
// are alike.
func normal(dst, importance []float32) []float32 {
	var bits uint32 // of numbers that are not negative, in their order
	importance = importance[:len(dst)]
	for _, v := range importance {
		bits = max(bits, bits32(v))
	}
	most := float32bits(bits)
	if !(most > 0) || most > math.MaxFloat32 {
		return weights[:len(dst)]
	}
	if to := 1 / most; to <= math.MaxFloat32 {
		for i, v := range importance {
			dst[i] = v * to
		}
		return dst
	}
	for i, v := range importance {
		dst[i] = v / most
	}
	return dst
}

// storable returns v as a float16 holds it, the largest one if v is larger.
func storable(v float32) float32 { return ToF16(min(max(v, -65504), 65504)).Float32() }

// A float32 from 2^23 to 2^24 has no bits below the point, so that adding shifter rounds. The bits of
// the sum of shifter and an integer are ordinal and the integer.
const (
	shifter = 0x1.8p23
	ordinal = 0x4b400000
)

// rounded returns the nearest integer to v, for a magnitude below 2^22.
func rounded(v float32) int32 { return int32(bits32(v+shifter)) - ordinal }

// whole returns the nearest integer to v, or the nearer of low and high.
func whole(v float32, low, high int32) int32 {
	return min(max(int32(bits32(v+shifter)), ordinal+low), ordinal+high) - ordinal
}

// within returns the nearest integer to v, or the nearer end of the range. The ends are ordinals.
func within(v float32, low, high int32) float32 {
	return float32bits(uint32(min(max(int32(bits32(v+shifter)), low), high))) - shifter
}

// symmetric is a grid of codes from low to high without a least value.
type symmetric struct{ low, high int32 }

// sumElements is the most elements whose sums are float32.
const sumElements = 1 << 14

// sums returns the sums of w*x*q and w*q*q of the codes q of x in parts of 1/inverse.
func (g symmetric) sums(x, w []float32, inverse float32) (xq, qq float32) {
	if len(x) <= sumElements {
		return g.some(x, w, inverse)
	}
	var allXQ, allQQ float64
	for at := 0; at < len(x); at += sumElements {
		end := min(at+sumElements, len(x))
		xq, qq := g.some(x[at:end], w[at:end], inverse)
		allXQ, allQQ = allXQ+float64(xq), allQQ+float64(qq)
	}
	return float32(allXQ), float32(allQQ)
}

// some is sums for at most sumElements elements.
func (g symmetric) some(x, w []float32, inverse float32) (xq, qq float32) {
	w = w[:len(x)]
	low, high := ordinal+g.low, ordinal+g.high
	for i, v := range x {
		q := within(v*inverse, low, high)
		wq := w[i] * q
		xq += float32(wq * v)
		qq += float32(wq * q)
	}
	return xq, qq
}

// best returns the scale that leaves the least error of those that the sums of the tries give.
func (g symmetric) best(tries []float32, x, w []float32) (scale float32) {
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

// affine is a grid of codes from 0 to most with a least value, which is subtracted.
type affine struct{ most int32 }

// moments are sums over a group of elements.
type moments struct{ w, x, xx, q, qq, xq float32 }

// moments returns the sums of w, w*x and w*x*x.
func (affine) moments(x, w []float32) (m moments) {
	w = w[:len(x)]
	for i, v := range x {
		wx := w[i] * v
		m.w += w[i]
		m.x += wx
		m.xx += float32(wx * v)
	}
	return m
}

// sums sets the sums with codes of (x+least)*inverse.
func (g affine) sums(m *moments, x, w []float32, inverse, least float32) {
	var sq, sqq, sxq float32
	w = w[:len(x)]
	shift, high := float32(least*inverse), ordinal+g.most
	for i, v := range x {
		q := within(float32(v*inverse)+shift, ordinal, high)
		wq := w[i] * q
		sq += wq
		sqq += float32(wq * q)
		sxq += float32(wq * v)
	}
	m.q, m.qq, m.xq = sq, sqq, sxq
}

// solve returns the scale and the least value with the least error for the codes. The least value is
// negative only if negative is true.
func (m *moments) solve(negative bool) (scale, least, loss float32) {
	det := float32(m.w*m.qq) - float32(m.q*m.q)
	if det > 0 {
		scale = (float32(m.w*m.xq) - float32(m.x*m.q)) / det
		least = (float32(m.q*m.xq) - float32(m.qq*m.x)) / det
	}
	if least <= 0 && !negative || !(det > 0) {
		scale, least = 0, 0
		if m.qq > 0 {
			scale = m.xq / m.qq
		}
	}
	return scale, least, m.loss(scale, least)
}

// loss returns the sum of squared errors with the codes, less a part that is the same for all codes
// unless xx is set.
func (m *moments) loss(scale, least float32) float32 {
	return m.xx - float32(2*scale*m.xq) + float32(2*least*m.x) + float32(scale*scale*m.qq) -
		float32(2*scale*least*m.q) + float32(least*least*m.w)
}

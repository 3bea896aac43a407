package packed

// Integers is a range of codes that stand for whole numbers of a scale, from Low to High, at most
// 256 of them.
type Integers struct{ Low, High int }

// Scale returns the scale with which codes of x leave a small sum of squared errors. importance has
// a weight for the error of each element, or is nil. Elements are finite.
func (g Integers) Scale(x, importance []float32) float32 {
	w := importance
	if w == nil {
		w = ones(len(x))
	}
	n := float32(max(-g.Low, g.High))
	side := float32(-1) // of the end that the largest element is at
	if g.High > -g.Low {
		side = 1
	}
	s := symmetric{int32(g.Low), int32(g.High)}
	var tries [16]float32
	for i := range 12 {
		tries[i] = side * n * (0.66 + 0.035*float32(i))
	}
	list := tries[:12]
	if n < 8 { // the other end may be the better one
		for i, c := range []float32{0.7, 0.8, 0.9, 1} {
			tries[12+i] = -side * max(n-1, 1) * c
		}
		list = tries[:]
	} else {
		for i := range list {
			list[i] = side * (n + 0.5*float32(i-8)*n/64)
		}
	}
	d := s.best(list, x, w)
	for range 2 {
		if xq, qq := s.sums(x, w, inverse(d)); qq > 0 {
			d = xq / qq
		}
	}
	return d
}

// ScaleZero is Scale for codes that count from a zero point, a code too. The range of x that codes
// reach includes 0.
func (g Integers) ScaleZero(x, importance []float32) (scale float32, zero int) {
	w := importance
	if w == nil {
		w = ones(len(x))
	}
	low, high := span(x)
	low, high = min(low, 0), max(high, 0)
	if !(high > low) {
		return 0, g.Low
	}
	most := g.High - g.Low
	a := affine{int32(most)}
	m := a.moments(x, w)
	// The two numbers of codes beside the least element that its share of the range gives.
	first := int(float32(most) * -low / (high - low))
	loss := float32(3.4e38)
	begin, end, steps, cut := max(first-1, 0), min(first+2, most), 6, 0.04*min(1, 8/float32(most))
	if most <= 3 { // few enough to try all, and to cut much
		begin, end, steps, cut = 0, most, 9, 0.07
	}
	for z := begin; z <= end; z++ {
		// Scales with which both ends fit, and smaller ones that cut the farther end.
		reach := float32(0)
		if z > 0 {
			reach = -low / float32(z)
		}
		if z < most {
			reach = max(reach, high/float32(most-z))
		}
		if z == 0 && low < 0 || z == most && high > 0 {
			reach = (high - low) / float32(most)
		}
		for k := range steps {
			s := reach * (1 - cut*float32(k))
			for range 2 {
				a.sums(&m, x, w, inverse(s), s*float32(z))
				qz := m.qq - 2*float32(z)*m.q + float32(z*z)*m.w
				xz := m.xq - float32(z)*m.x
				if !(qz > 0) || !(xz > 0) {
					break
				}
				s = xz / qz
				if e := m.xx - xz*s; e < loss {
					scale, zero, loss = s, z+g.Low, e
				}
			}
		}
	}
	return scale, zero
}

// Codes writes the codes of x, less Low, that are nearest for a scale and a zero point.
func (g Integers) Codes(dst []uint8, x []float32, scale float32, zero int) {
	id, low, high := inverse(scale), int32(g.Low), int32(g.High)
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = uint8(min(max(rounded(min(max(v*id, -4096), 4096))+int32(zero), low), high) - low)
	}
}

// ones returns n weights that are alike.
func ones(n int) []float32 {
	if n <= len(weights) {
		return weights[:n]
	}
	w := make([]float32, n)
	for i := range w {
		w[i] = 1
	}
	return w
}

package packed

import "math"

// leveled is a type with a scale and a least value for each group of elements. In blocks of groups,
// they are whole numbers of the block's.
type leveled struct {
	top      int32     // of the whole numbers
	tries    []float32 // levels from the least to the greatest element to begin with
	weighed  []float32 // tries with importance; nil for no others
	rounds   int       // of the search of whole numbers
	negative bool      // the number that is subtracted may be negative
}

// fit finds the scales and the least values of blocks and the whole numbers of their groups.
func (t *leveled) fit(s *searcher) {
	t.begin(s)
	for at := 0; at < s.Used; at += s.groups {
		var mostA, mostB float32
		for l := at; l < at+s.groups; l++ {
			mostA, mostB = max(mostA, s.scale[l]), max(mostB, s.least[l])
		}
		s.d[at], s.dmin[at] = storable(mostA/float32(t.top)), storable(mostB/float32(t.top))
	}
	for round := range t.rounds {
		reach, passes := int32(1), 1
		if s.weighed {
			passes = 3
			if round == 0 {
				reach = 4
			}
		}
		t.nearest(s, reach, passes)
		for l := range s.Used {
			s.offer(0, l, reciprocal(s.scale[l]), s.least[l])
		}
		s.try(1)
		for at := 0; at < s.Used; at += s.groups {
			s.together(at)
		}
	}
	for l := range s.Used {
		at := l - l%s.groups
		s.scale[l], s.least[l] = s.d[at]*float32(s.whole[l]), s.dmin[at]*float32(s.floor[l])
	}
}

// together sets the scale and the least value of a block to those with the least error for the whole
// numbers of its groups.
func (s *searcher) together(at int) {
	var aa, ab, bb, ax, bx float32
	for l := at; l < at+s.groups; l++ {
		s1, m1, g := float32(s.whole[l]), float32(s.floor[l]), s.measured(0, l)
		aa += float32(s1 * s1 * g.qq)
		ab -= float32(s1 * m1 * g.q)
		bb += float32(m1 * m1 * g.w)
		ax += float32(s1 * g.xq)
		bx -= float32(m1 * g.x)
	}
	if det := float32(aa*bb) - float32(ab*ab); det > 0 {
		nd, nm := (float32(ax*bb)-float32(bx*ab))/det, (float32(aa*bx)-float32(ab*ax))/det
		if nd > 0 && nm >= 0 {
			s.d[at], s.dmin[at] = storable(nd), storable(nm)
		}
	} else if aa > 0 && ax > 0 {
		s.d[at] = storable(ax / aa)
	}
}

// begin sets the scale and the least value of each lane, before they are whole numbers of others.
func (t *leveled) begin(s *searcher) {
	var loss [Lanes]float32
	tries := t.tries
	if s.weighed && t.weighed != nil {
		tries = t.weighed
	}
	for l := range s.Used {
		low, high := s.low[l], s.high[l]
		if !t.negative {
			low = min(low, 0)
		}
		s.scale[l], s.least[l], loss[l] = 0, -low, math.MaxFloat32
		if high <= low {
			loss[l] = -math.MaxFloat32 // nothing is better
		}
		width := reciprocal(high - low)
		for k, n := range tries {
			s.offer(k, l, n*width, -low)
		}
	}
	choose := func(n int) {
		s.try(n)
		for l := range s.Used {
			for k := range n {
				if a, b, e := s.measured(k, l).solve(t.negative); e < loss[l] {
					s.scale[l], s.least[l], loss[l] = a, b, e
				}
			}
		}
	}
	choose(len(tries))
	for range 2 {
		for l := range s.Used {
			s.offer(0, l, reciprocal(s.scale[l]), s.least[l])
		}
		choose(1)
	}
}

// inverses are those of whole numbers from -128 on, with 0 for 0.
var inverses = func() (list [256]float32) {
	for i := range list {
		list[i] = inverse(float32(i - 128))
	}
	return list
}()

// nearest sets the whole numbers of each lane, within reach of its scale, that leave the least error,
// and the scale and the least value that they give.
func (t *leveled) nearest(s *searcher, reach int32, passes int) {
	var loss [Lanes]float32
	var from [Lanes]int32
	var leasts [9 * Lanes]float32
	n := int(2*reach + 1)
	for l := range s.Used {
		d := s.d[l-l%s.groups]
		loss[l], from[l] = math.MaxFloat32, whole(s.scale[l]*inverse(d), 0, t.top)-reach
		for k := range n {
			leasts[k*Lanes+l] = s.least[l]
		}
	}
	for range passes {
		for l := range s.Used {
			id := inverse(s.d[l-l%s.groups])
			for k := range n {
				c := min(max(from[l]+int32(k), 0), t.top)
				s.offer(k, l, id*inverses[uint8(c+128)], leasts[k*Lanes+l])
			}
		}
		s.try(n)
		for l := range s.Used {
			at := l - l%s.groups
			d, dmin := s.d[at], s.dmin[at]
			to := inverse(s.moments[l].w) * inverse(dmin)
			for k := range n {
				c := min(max(from[l]+int32(k), 0), t.top)
				a, m := d*float32(c), s.measured(k, l)
				// The least value that fits these codes.
				fits := whole((float32(a*m.q)-m.x)*to, 0, t.top)
				b := dmin * float32(fits)
				leasts[k*Lanes+l] = b
				if e := m.loss(a, b); e < loss[l] {
					s.whole[l], s.floor[l], s.scale[l], s.least[l], loss[l] = c, fits, a, b, e
				}
			}
		}
	}
}

// levels writes the codes of a lane with a least value.
func (s *searcher) levels(dst []uint8, l int) {
	inverse, least, x := inverse(s.scale[l]), s.least[l], s.x[l]
	high := ordinal + int32(s.High)
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = uint8(min(max(int32(bits32(float32((v+least)*inverse)+shifter)), ordinal), high) - ordinal)
	}
}

package packed

// grouped is a type with groups of elements, each with a whole number of its block's scale.
type grouped struct {
	low, high int32     // of the whole numbers
	tries     []float32 // inverse scales to begin with, in parts of the largest element
	reach     int32     // of the search of whole numbers
	weighed   int32     // reach with importance
}

// best sets the scale of each lane that leaves the least error of those that the sums of the tries
// give.
func (s *searcher) best(tries []float32) {
	var most [Lanes]float32
	for l := range s.Used {
		most[l], s.scale[l] = s.one(s.most[l]), 0
	}
	for t, c := range tries {
		row := s.Inverse[t*Lanes:][:Lanes]
		for l, v := range most {
			row[l] = c * v
		}
	}
	s.try(len(tries))
	clear(most[:])
	for t := range tries {
		qq, xq := s.Sums[(3*t+1)*Lanes:][:Lanes], s.Sums[(3*t+2)*Lanes:][:Lanes]
		for l := range s.Used {
			if e := xq[l] * xq[l]; e > most[l]*qq[l] {
				s.scale[l], most[l] = xq[l]/qq[l], e/qq[l]
			}
		}
	}
}

// one returns the factor with which v becomes 1 before it has a code.
func (s *searcher) one(v float32) float32 {
	if s.Table != nil {
		return 4 * reciprocal(v)
	}
	return reciprocal(v)
}

// fit finds the scales of blocks and the whole numbers of their groups.
func (t *grouped) fit(s *searcher) {
	s.best(t.tries)
	for at := 0; at < s.Used; at += s.groups {
		var most float32
		for _, v := range s.scale[at : at+s.groups] {
			if abs32(v) > abs32(most) {
				most = v
			}
		}
		s.d[at] = storable(most / float32(t.low))
	}
	for round := range 2 {
		reach := t.reach
		switch {
		case round > 0:
			reach = 1
		case s.weighed:
			reach = t.weighed
		}
		t.nearest(s, reach)
		for at := 0; at < s.Used; at += s.groups {
			var xq, qq float32
			for l := at; l < at+s.groups; l++ {
				n, m := float32(s.whole[l]), &s.moments[l]
				xq += float32(n * m.xq)
				qq += float32(n * n * m.qq)
			}
			if qq > 0 {
				s.d[at] = storable(xq / qq)
			}
		}
	}
	for l := range s.Used {
		s.scale[l] = s.d[l-l%s.groups] * float32(s.whole[l])
	}
}

// nearest sets the whole number of each lane within reach of its scale that leaves the least error,
// and the scale and the moments with it.
func (t *grouped) nearest(s *searcher, reach int32) {
	s.Reach, s.Least, s.Most = int(reach), float32(t.low), float32(t.high)
	for l := range s.Used {
		d := s.d[l-l%s.groups]
		id := inverse(d)
		s.Unit[l], s.Inverse[l], s.Whole[l] = d, id, float32(whole(s.scale[l]*id, t.low, t.high))
		if s.Table != nil {
			s.Inverse[l] = 4 * id
		}
	}
	s.compute(&s.Search)
	for l := range s.Used {
		s.whole[l] = int32(s.Whole[l])
		s.scale[l] = s.Unit[l] * s.Whole[l]
		s.measured(0, l)
	}
}

// codes writes the codes of a lane without a least value, less low.
func (s *searcher) codes(dst []uint8, l int) {
	inverse, x := inverse(s.scale[l]), s.x[l]
	low, high := ordinal+int32(s.Low), ordinal+int32(s.High)
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = uint8(min(max(int32(bits32(float32(v*inverse)+shifter)), low), high) - low)
	}
}

package packed

import "math"

// The sizes of a Search.
const (
	Lanes          = 16 // groups of elements that are side by side
	SearchElements = 32 // of a group, at most
	SearchTries    = 20 // at most
)

// searchTable is the length of a table.
const searchTable = 1024

// A Search has groups of elements side by side, one in each lane, and scales that are tried for
// them. Element e of lane l is at e*Lanes + l, and so are the numbers of try e.
//
// The code of element x of a try is the whole number that is nearest to x*Inverse + Shift, ties to
// even, or the nearer of Low and High. If there is a Table, the code is its number at 512 above
// this whole number. x*Inverse + Shift is finite.
type Search struct {
	Used           int // lanes; the numbers of others do not matter
	Size           int // elements of a group
	Tries          int
	Low, High      float32
	Table          []float32 // of 1024 numbers, or nil
	X, W           [SearchElements * Lanes]float32
	Inverse, Shift [SearchTries * Lanes]float32

	// If Reach is positive, Compute looks for whole numbers in place of tries: those within Reach of
	// Whole, from Least to Most, with which the scale Unit*Whole leaves the least error. Of each
	// lane, Inverse has the inverse scale of the whole number 1. Whole gets the numbers, and Sums
	// their sums, the first row of which is zeros.
	Reach       int
	Least, Most float32
	Unit, Whole [Lanes]float32

	// Sums are of w*q, w*q*q and w*q*x over the elements x with weights w and codes q, three rows of
	// Lanes for each try.
	Sums [3 * SearchTries * Lanes]float32
}

// Compute sets Sums, and Whole if Reach is positive. Products and sums are rounded one by one, in the
// order of elements.
func (s *Search) Compute() {
	if s.Reach > 0 {
		s.wholes()
		return
	}
	s.sums()
}

// wholes finds whole numbers.
func (s *Search) wholes() {
	near, id, tries := s.Whole, [Lanes]float32(s.Inverse[:Lanes]), s.Tries
	clear(s.Shift[:Lanes])
	var loss [Lanes]float32
	var sums [3 * Lanes]float32
	for l := range loss {
		loss[l] = math.MaxFloat32
	}
	s.Tries = 1
	for k := range 2*s.Reach + 1 { // the nearest number, those above it, and those below it
		by := float32(k)
		if k > s.Reach {
			by = float32(s.Reach - k)
		}
		var tried [Lanes]float32
		for l := range s.Used {
			tried[l] = min(max(near[l]+by, s.Least), s.Most)
			s.Inverse[l] = id[l] * inverse(tried[l])
		}
		s.sums()
		for l := range s.Used {
			a := s.Unit[l] * tried[l]
			e := a * (float32(a*s.Sums[Lanes+l]) - 2*s.Sums[2*Lanes+l])
			if !(e < loss[l]) {
				continue
			}
			s.Whole[l], loss[l] = tried[l], e
			sums[Lanes+l], sums[2*Lanes+l] = s.Sums[Lanes+l], s.Sums[2*Lanes+l]
		}
	}
	copy(s.Sums[:], sums[:])
	copy(s.Inverse[:], id[:])
	s.Tries = tries
}

// sums sets Sums.
func (s *Search) sums() {
	low, high := ordinal+int32(s.Low), ordinal+int32(s.High)
	for t := range s.Tries {
		for l := range s.Used {
			inverse, shift := s.Inverse[t*Lanes+l], s.Shift[t*Lanes+l]
			var wq, wqq, wqx float32
			for at := l; at < s.Size*Lanes; at += Lanes {
				v := s.X[at]
				q := within(float32(v*inverse)+shift, low, high)
				if s.Table != nil {
					q = s.Table[int(q)+searchTable/2]
				}
				weighed := s.W[at] * q
				wq += weighed
				wqq += float32(weighed * q)
				wqx += float32(weighed * v)
			}
			sums := s.Sums[3*t*Lanes+l:]
			sums[0], sums[Lanes], sums[2*Lanes] = wq, wqq, wqx
		}
	}
}

// searcher finds the scales of the groups of a few blocks.
type searcher struct {
	Search
	compute func(*Search)
	groups  int  // of a block
	weighed bool // the elements have importance
	ones    bool // W is that of elements without importance

	x               [Lanes][]float32 // groups
	cut             [SearchElements * Lanes]float32
	moments         [Lanes]moments
	low, high, most [Lanes]float32 // the least, the greatest and the largest element

	// Results: the scale and the number that is subtracted of each lane, as whole numbers of d and
	// dmin of its block if it has groups.
	scale, least [Lanes]float32
	whole, floor [Lanes]int32
	d, dmin      [Lanes]float32
}

// ordered returns an integer for v that is less than another's if v is less.
func ordered(v float32) int32 {
	n := int32(bits32(v))
	return n ^ n>>31&math.MaxInt32
}

// load puts a group in a lane. Without importance, w is nil.
func (s *searcher) load(l int, x, w []float32) {
	s.x[l] = x
	var sum, weight float32
	low, high := int32(math.MaxInt32), int32(math.MinInt32) // as ordered integers, without branches
	to := s.X[l:]
	if w == nil {
		weight = float32(len(x))
		for e, v := range x {
			to[e*Lanes] = v
			sum += v
			n := ordered(v)
			low, high = min(low, n), max(high, n)
		}
	} else {
		weights := s.W[l:]
		w = w[:len(x)]
		for e, v := range x {
			to[e*Lanes], weights[e*Lanes] = v, w[e]
			weight += w[e]
			sum += float32(w[e] * v)
			n := ordered(v)
			low, high = min(low, n), max(high, n)
		}
	}
	s.moments[l] = moments{w: weight, x: sum}
	s.low[l] = float32bits(uint32(low ^ low>>31&math.MaxInt32))
	s.high[l] = float32bits(uint32(high ^ high>>31&math.MaxInt32))
	s.most[l] = s.high[l]
	if -s.low[l] > s.high[l] {
		s.most[l] = s.low[l]
	}
}

// block puts the groups of a block in lanes.
func (s *searcher) block(at int, x, w []float32) {
	most := s.loads(at, x, w)
	if most >= 1e-12 && most <= 1e8 || most == 0 {
		return
	}
	cut := s.cut[at*s.Size:][:len(x)]
	for i, v := range x {
		if cut[i] = 0; most > 1 {
			cut[i] = min(max(v, -1e8), 1e8)
		}
	}
	s.loads(at, cut, w)
}

// loads puts groups in lanes, and returns their largest magnitude.
func (s *searcher) loads(at int, x, w []float32) (most float32) {
	for j := range s.groups {
		var part []float32
		if w != nil {
			part = w[j*s.Size:][:s.Size]
		}
		s.load(at+j, x[j*s.Size:][:s.Size], part)
		most = max(most, abs32(s.most[at+j]))
	}
	return most
}

// fill sets the weights of all elements to 1.
func (s *searcher) fill() {
	if !s.ones {
		for i := range s.W {
			s.W[i] = 1
		}
	}
	s.ones = true
}

// reciprocal returns 1/d, or 0 if products with it may be infinite.
func reciprocal(d float32) float32 {
	if abs32(d) < 1e-20 {
		return 0
	}
	return 1 / d
}

// offer sets the scale of a try, and the number that is added to elements.
func (s *searcher) offer(try, l int, inverse, least float32) {
	s.Inverse[try*Lanes+l], s.Shift[try*Lanes+l] = inverse, float32(least*inverse)
}

// try computes the sums of so many tries.
func (s *searcher) try(n int) {
	s.Tries, s.Reach = n, 0
	s.compute(&s.Search)
}

// of returns the sums of w*q*x and w*q*q of a try.
func (s *searcher) of(try, l int) (xq, qq float32) {
	at := 3*try*Lanes + l
	return s.Sums[at+2*Lanes], s.Sums[at+Lanes]
}

// measured returns the moments of a lane with the codes of a try.
func (s *searcher) measured(try, l int) *moments {
	m, at := &s.moments[l], 3*try*Lanes+l
	m.q, m.qq, m.xq = s.Sums[at], s.Sums[at+Lanes], s.Sums[at+2*Lanes]
	return m
}

// searched is a type whose blocks are found by searches.
type searched struct {
	size, groups int
	low, high    int32
	table        *tabled
	fit          func(s *searcher)
	put          func(dst []byte, s *searcher, lane int) // stores the block that begins in the lane
}

// quantizer returns a function that quantises blocks by searches with compute.
func (t *searched) quantizer(b *Blocks, compute func(*Search)) func(dst []byte, src, importance []float32) {
	s := &searcher{compute: compute, groups: t.groups}
	s.Size, s.Low, s.High = t.size, float32(t.low), float32(t.high)
	if t.table != nil {
		s.Table, s.Low, s.High = t.table.entries[:], -searchTable/2, searchTable/2-1
	}
	var relative [256]float32
	return func(dst []byte, src, importance []float32) {
		for len(src) > 0 {
			s.Used = 0
			for s.Used < Lanes && len(src) > s.Used*t.size {
				at := s.Used * t.size
				var w []float32
				if importance != nil {
					if w = normal(relative[:b.Elements], importance[at:]); !weighed(w) {
						w = nil
					}
				}
				if s.Used > 0 && s.weighed != (w != nil) {
					break
				}
				if s.weighed = w != nil; s.weighed {
					s.ones = false
				} else {
					s.fill()
				}
				s.block(s.Used, src[at:][:b.Elements], w)
				s.Used += t.groups
			}
			t.fit(s)
			for l := 0; l < s.Used; l += t.groups {
				t.put(dst[:b.Bytes], s, l)
				dst = dst[b.Bytes:]
			}
			src = src[s.Used*t.size:]
			if importance != nil {
				importance = importance[s.Used*t.size:]
			}
		}
	}
}

// Quantizer returns a function like Quantize, with other code for the sums of searches: compute sets
// them as Search.Compute does, with the same bits. The function is for one goroutine.
func (b *Blocks) Quantizer(compute func(*Search)) func(dst []byte, src, importance []float32) {
	if b.search == nil {
		return b.Quantize
	}
	return b.search.quantizer(b, compute)
}

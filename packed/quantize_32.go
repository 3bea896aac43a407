package packed

// tabled is a grid of 16 values in rising order.
type tabled struct {
	near    [searchTable]uint8   // the code of the value that is nearest to i/4 - 128
	entries [searchTable]float32 // this value
}

var tabledNL = newTabled(&valuesNL)

func newTabled(values *[16]float32) (t tabled) {
	for i := range t.near {
		v := float32(i)/4 - 128
		for c, value := range values {
			if abs32(value-v) < abs32(values[t.near[i]]-v) {
				t.near[i] = uint8(c)
			}
		}
		t.entries[i] = values[t.near[i]]
	}
	return t
}

// code returns the code of the value that is nearest to v.
func (t *tabled) code(v float32) uint8 { return t.near[uint32(min(max(rounded(4*v), -512), 511)+512)] }

// near writes the codes of a lane of a table.
func (s *searcher) near(dst []uint8, l int) {
	inverse, x := inverse(s.scale[l]), s.x[l]
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = tabledNL.code(v * inverse)
	}
}

// single finds the scales of blocks without groups.
type single []float32

func (tries single) fit(s *searcher) {
	s.best(tries)
	for range 2 {
		for l := range s.Used {
			s.Inverse[l] = s.one(s.scale[l])
		}
		s.try(1)
		for l := range s.Used {
			if xq, qq := s.of(0, l); qq > 0 {
				s.scale[l] = xq / qq
			}
		}
	}
	for l := range s.Used {
		s.scale[l] = storable(s.scale[l])
	}
}

var (
	triesQ40   = single{-9.6, -9.2, -8.9, -8.6, -8.3, -8, -7.7, -7.4, -7.1, -6.7, -6.2, 6.7, 7, 7.3, 7.6, 7.9, 8.2}
	triesQ50   = single{-17.5, -17, -16.7, -16.4, -16.1, -15.8, -15.5, -15.2, -14.8, -14.3, -13.6, -12.8, 14.2, 14.7, 15.1, 15.5, 15.9}
	triesIQ4NL = single{-136, -131, -127, -123, -119, -115, -111, -106, -100, -92, 94, 101, 107, 111, 115, 119, 123, 128}

	searchQ40   = searched{size: 32, groups: 1, low: -8, high: 7, fit: triesQ40.fit, put: putQ40}
	searchQ50   = searched{size: 32, groups: 1, low: -16, high: 15, fit: triesQ50.fit, put: putQ50}
	searchIQ4NL = searched{size: 32, groups: 1, table: &tabledNL, fit: triesIQ4NL.fit, put: putIQ4NL}
)

func putQ40(dst []byte, s *searcher, at int) {
	var codes [32]uint8
	s.codes(codes[:], at)
	putHalf(dst, s.scale[at])
	packHalves(dst[2:18], &codes)
}

func putQ50(dst []byte, s *searcher, at int) {
	var codes [32]uint8
	s.codes(codes[:], at)
	putHalf(dst, s.scale[at])
	packFive(dst[2:22], func(i int) uint32 { return uint32(codes[i]) })
}

func putIQ4NL(dst []byte, s *searcher, at int) {
	var codes [32]uint8
	s.near(codes[:], at)
	putHalf(dst, s.scale[at])
	packHalves(dst[2:18], &codes)
}

var (
	gridQ41 = leveled{negative: true, tries: []float32{13.9, 14.3, 14.7, 15.1, 15.6, 16.1},
		weighed: []float32{10.5, 11.2, 11.9, 12.5, 13.1, 13.6, 14.1, 14.5, 14.9, 15.3, 15.7, 16.1, 16.6, 17.2}}
	gridQ51 = leveled{negative: true, tries: []float32{29.8, 30.3, 30.8, 31.2, 31.7},
		weighed: []float32{23, 24.5, 25.7, 26.8, 27.7, 28.5, 29.2, 29.8, 30.3, 30.8, 31.2, 31.7, 32.3, 33}}
)

// lone finds the scales and the least values of blocks without groups.
func (t *leveled) lone(s *searcher) {
	t.begin(s)
	for l := range s.Used {
		s.scale[l], s.least[l] = storable(s.scale[l]), storable(s.least[l])
	}
}

var (
	searchQ41 = searched{size: 32, groups: 1, high: 15, fit: gridQ41.lone, put: putQ41}
	searchQ51 = searched{size: 32, groups: 1, high: 31, fit: gridQ51.lone, put: putQ51}
)

func putQ41(dst []byte, s *searcher, at int) {
	var codes [32]uint8
	s.levels(codes[:], at)
	putHalf(dst, s.scale[at])
	putHalf(dst[2:], -s.least[at])
	packHalves(dst[4:20], &codes)
}

func putQ51(dst []byte, s *searcher, at int) {
	var codes [32]uint8
	s.levels(codes[:], at)
	putHalf(dst, s.scale[at])
	putHalf(dst[2:], -s.least[at])
	packFive(dst[4:24], func(i int) uint32 { return uint32(codes[i]) })
}

// packHalves stores 32 codes of 4 bits, the first half in the low bits.
func packHalves(dst []byte, codes *[32]uint8) {
	for i := range 16 {
		dst[i] = codes[i]&15 | codes[i+16]<<4
	}
}

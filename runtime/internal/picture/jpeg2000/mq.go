package jpeg2000

// mq decodes binary decisions: ITU-T T.800, annex C. Past the end of its data it reads bytes 0xff,
// which begin no marker.
type mq struct {
	data []byte
	at   int
	a, c uint32
	ct   int
}

// state is a row of the table of probabilities.
type state struct {
	qe         uint32
	more, less byte  // the next state after the likely and the unlikely decision
	swap       uint8 // 1 if the unlikely decision becomes the likely one
}

var states = [47]state{
	{0x5601, 1, 1, 1}, {0x3401, 2, 6, 0}, {0x1801, 3, 9, 0}, {0x0ac1, 4, 12, 0}, {0x0521, 5, 29, 0}, {0x0221, 38, 33, 0},
	{0x5601, 7, 6, 1}, {0x5401, 8, 14, 0}, {0x4801, 9, 14, 0}, {0x3801, 10, 14, 0}, {0x3001, 11, 17, 0}, {0x2401, 12, 18, 0},
	{0x1c01, 13, 20, 0}, {0x1601, 29, 21, 0}, {0x5601, 15, 14, 1}, {0x5401, 16, 14, 0}, {0x5101, 17, 15, 0}, {0x4801, 18, 16, 0},
	{0x3801, 19, 17, 0}, {0x3401, 20, 18, 0}, {0x3001, 21, 19, 0}, {0x2801, 22, 19, 0}, {0x2401, 23, 20, 0}, {0x2201, 24, 21, 0},
	{0x1c01, 25, 22, 0}, {0x1801, 26, 23, 0}, {0x1601, 27, 24, 0}, {0x1401, 28, 25, 0}, {0x1201, 29, 26, 0}, {0x1101, 30, 27, 0},
	{0x0ac1, 31, 28, 0}, {0x09c1, 32, 29, 0}, {0x08a1, 33, 30, 0}, {0x0521, 34, 31, 0}, {0x0441, 35, 32, 0}, {0x02a1, 36, 33, 0},
	{0x0221, 37, 34, 0}, {0x0141, 38, 35, 0}, {0x0111, 39, 36, 0}, {0x0085, 40, 37, 0}, {0x0049, 41, 38, 0}, {0x0025, 42, 39, 0},
	{0x0015, 43, 40, 0}, {0x0009, 44, 41, 0}, {0x0005, 45, 42, 0}, {0x0001, 45, 43, 0}, {0x5601, 46, 46, 0},
}

// context is the state of one kind of decision.
type context struct {
	state  byte
	likely uint8
}

func (m *mq) reset(data []byte) {
	*m = mq{data: data}
	m.c = uint32(m.byteAt(0)) << 16
	m.fill()
	m.c <<= 7
	m.ct -= 7
	m.a = 0x8000
}

func (m *mq) byteAt(i int) byte {
	if i < len(m.data) {
		return m.data[i]
	}
	return 0xff
}

// fill adds a byte. After 0xff a byte has 7 bits, unless it belongs to a marker.
func (m *mq) fill() {
	if m.byteAt(m.at) != 0xff {
		m.at++
		m.c += uint32(m.byteAt(m.at)) << 8
		m.ct = 8
		return
	}
	if next := m.byteAt(m.at + 1); next > 0x8f {
		m.c += 0xff00
		m.ct = 8
	} else {
		m.at++
		m.c += uint32(next) << 9
		m.ct = 7
	}
}

// bit decodes a decision.
func (m *mq) bit(x *context) uint8 {
	s := &states[x.state]
	d := x.likely
	m.a -= s.qe
	if m.c>>16 < s.qe {
		likely := m.a < s.qe
		m.a = s.qe
		d = m.adapt(x, s, likely)
	} else {
		m.c -= s.qe << 16
		if m.a&0x8000 != 0 {
			return d
		}
		d = m.adapt(x, s, m.a >= s.qe)
	}
	for m.a&0x8000 == 0 {
		if m.ct == 0 {
			m.fill()
		}
		m.a, m.c, m.ct = m.a<<1, m.c<<1, m.ct-1
	}
	return d
}

// adapt updates a context and returns the decision.
func (m *mq) adapt(x *context, s *state, likely bool) uint8 {
	d := x.likely
	if likely {
		x.state = s.more
		return d
	}
	x.likely ^= s.swap
	x.state = s.less
	return 1 - d
}

// raw reads bits that are not coded. A byte after 0xff has 7 bits. Past the end, bits are 1.
type raw struct {
	data  []byte
	at    int
	store byte
	count int
}

func (r *raw) bit() uint8 {
	if r.count == 0 {
		r.count = 8
		if r.store == 0xff {
			r.count = 7
		}
		r.store = 0xff
		if r.at < len(r.data) {
			r.store = r.data[r.at]
			r.at++
		}
	}
	r.count--
	return r.store >> r.count & 1
}

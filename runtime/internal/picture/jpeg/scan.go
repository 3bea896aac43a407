package jpeg

import "errors"

// scan decodes some coefficients of some components.
type scan struct {
	bits
	d           *Decoder
	parts       []part
	first, last int // coefficients, in file order
	high, low   int // bits of coefficients: the bits from low up are new if high is 0, otherwise bit low
	run         int // blocks without further coefficients
}

// part is a component in a scan.
type part struct {
	*component
	dc, ac *huffman
	before int32 // the previous first coefficient
}

// scan reads the header of a scan and its data from at on. It returns the end of the data.
func (d *Decoder) scan(body []byte, at int) (int, error) {
	s := &scan{bits: bits{data: d.data, at: at}, d: d}
	if d.scans++; d.scans > maxScans {
		return 0, UnsupportedError("a file of so many scans")
	}
	if err := s.header(body); err != nil {
		return 0, err
	}
	for i := range s.parts {
		c := s.parts[i].component
		if c.quant == nil {
			if c.quant = d.quant[c.table]; c.quant == nil {
				return 0, errors.New("a quantisation table is missing")
			}
			c.coefficients = make([]int16, 64*c.blocksX*c.blocksY)
		} else if !d.progressive {
			return 0, errors.New("a component has two scans")
		}
	}
	err := s.walk()
	return s.at, err
}

func (s *scan) header(body []byte) error {
	d := s.d
	if len(body) < 1 || len(body) != 4+2*int(body[0]) || d.components == nil {
		return errors.New("a scan's header is broken")
	}
	blocks := 0
	for i := range int(body[0]) {
		id, dc, ac := body[1+2*i], body[2+2*i]>>4, body[2+2*i]&15
		var p part
		for _, c := range d.components {
			if c.id == id {
				p.component = c
			}
		}
		for _, other := range s.parts {
			if other.component == p.component {
				return errors.New("a scan has a component twice")
			}
		}
		if p.component == nil || dc > 3 || ac > 3 {
			return errors.New("a scan's header names a missing component or table")
		}
		p.dc, p.ac = d.huffman[0][dc], d.huffman[1][ac]
		s.parts = append(s.parts, p)
		blocks += p.h * p.v
	}
	if len(s.parts) == 0 || len(s.parts) > 1 && blocks > 10 {
		return errors.New("a scan has no blocks, or more than 10 in a unit")
	}
	b := body[len(body)-3:]
	s.first, s.last, s.high, s.low = int(b[0]), int(b[1]), int(b[2]>>4), int(b[2]&15)
	if !d.progressive {
		s.first, s.last, s.high, s.low = 0, 63, 0, 0
	}
	return s.check()
}

// check checks the coded coefficients and the tables that they need.
func (s *scan) check() error {
	if s.last > 63 || s.first > s.last || s.low > 13 || s.high != 0 && s.high != s.low+1 {
		return errors.New("a scan has coefficients or bits that do not exist")
	}
	if s.d.progressive && (s.first == 0) != (s.last == 0) || s.first > 0 && len(s.parts) > 1 {
		return errors.New("a progressive scan mixes first coefficients or components with others")
	}
	for _, p := range s.parts {
		if s.first == 0 && s.high == 0 && p.dc == nil || s.last > 0 && p.ac == nil {
			return errors.New("a Huffman table is missing")
		}
	}
	return nil
}

// walk decodes every unit. With one component a unit is a block. Otherwise it has as many blocks of
// each component as its factors say.
func (s *scan) walk() error {
	columns, rows := s.d.mcusX, s.d.mcusY
	single := len(s.parts) == 1
	if single {
		columns, rows = up(s.parts[0].width, 8), up(s.parts[0].height, 8)
	}
	for unit := range columns * rows {
		if s.d.restart > 0 && unit > 0 && unit%s.d.restart == 0 {
			if err := s.align(unit/s.d.restart - 1); err != nil {
				return err
			}
			for i := range s.parts {
				s.parts[i].before = 0
			}
			s.run = 0
		}
		x, y := unit%columns, unit/columns
		for i := range s.parts {
			p := &s.parts[i]
			if single {
				s.block(p, x, y)
				continue
			}
			for k := range p.h * p.v {
				s.block(p, x*p.h+k%p.h, y*p.v+k/p.h)
			}
		}
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

// block decodes the scan's bits of one block.
func (s *scan) block(p *part, x, y int) {
	at := 64 * (y*p.blocksX + x)
	b := (*[64]int16)(p.coefficients[at:])
	switch {
	case s.high > 0 && s.first == 0:
		b[0] |= int16(s.get(1) << s.low)
	case s.high > 0:
		s.refine(p, b)
	default:
		if s.first == 0 {
			p.before += s.number(int(s.value(p.dc)))
			b[0] = int16(p.before << s.low)
		}
		if s.last > 0 {
			s.others(p, b)
		}
	}
}

// others decodes the coefficients after the first.
func (s *scan) others(p *part, b *[64]int16) {
	if s.run > 0 {
		s.run--
		return
	}
	for k := max(s.first, 1); k <= s.last; k++ {
		v := s.value(p.ac)
		zeros, size := int(v>>4), int(v&15)
		if size == 0 && zeros < 15 {
			// The other coefficients are 0. In a progressive scan, further blocks may have none
			// either.
			if s.d.progressive {
				s.run = 1<<zeros - 1 + int(s.get(zeros))
			}
			return
		}
		if k += zeros; k > s.last && size > 0 {
			s.err = errors.New("a block has more than 64 coefficients")
		}
		if s.err != nil {
			return
		}
		if size > 0 {
			b[zigzag[k]] = int16(s.number(size) << s.low)
		}
	}
}

// refine decodes one more bit of coefficients that are not 0, and coefficients that were 0 so far.
func (s *scan) refine(p *part, b *[64]int16) {
	k := s.first
	for ; k <= s.last && s.run == 0 && s.err == nil; k++ {
		v := s.value(p.ac)
		zeros, fresh := int(v>>4), int16(0)
		switch size := v & 15; {
		case size == 0 && zeros < 15:
			s.run = 1<<zeros + int(s.get(zeros))
		case size > 1:
			s.err = errors.New("a refined coefficient has more than one bit")
		case size == 1 && s.get(1) == 1:
			fresh = 1 << s.low
		case size == 1:
			fresh = -1 << s.low
		}
		if s.run > 0 {
			break
		}
		if k = s.more(b, k, zeros); k <= s.last && fresh != 0 {
			b[zigzag[k]] = fresh
		}
	}
	if s.run > 0 {
		s.more(b, k, 64)
		s.run--
	}
}

// more adds a bit to the nonzero coefficients from k on. It skips the given number of zeros and
// returns the position of the next zero.
func (s *scan) more(b *[64]int16, k, zeros int) int {
	for ; k <= s.last; k++ {
		c := &b[zigzag[k]]
		switch {
		case *c == 0 && zeros == 0:
			return k
		case *c == 0:
			zeros--
		case s.get(1) == 1 && *c>>s.low&1 == 0:
			// If the bit is set already, it came twice.
			if *c > 0 {
				*c += 1 << s.low
			} else {
				*c -= 1 << s.low
			}
		}
	}
	return k
}

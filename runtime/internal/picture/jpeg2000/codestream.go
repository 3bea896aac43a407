package jpeg2000

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Markers: ITU-T T.800, table A.2.
const (
	markSOC = 0xff4f
	markCAP = 0xff50
	markSIZ = 0xff51
	markCOD = 0xff52
	markCOC = 0xff53
	markQCD = 0xff5c
	markQCC = 0xff5d
	markRGN = 0xff5e
	markPOC = 0xff5f
	markPPM = 0xff60
	markPPT = 0xff61
	markSOT = 0xff90
	markSOP = 0xff91
	markEPH = 0xff92
	markSOD = 0xff93
	markEOC = 0xffd9
)

// codestream is a picture: an area of a reference grid, divided into tiles.
type codestream struct {
	x0, y0, x1, y1                      int // the picture
	tileX, tileY, tileWidth, tileHeight int // the first tile
	across, down                        int // tiles
	components                          []component
	main                                params
	parts                               [][][]byte // the parts of every tile, each with header and packets
}

// component is a plane of samples, one for every dx by dy points of the grid.
type component struct {
	bits          int
	signed        bool
	dx, dy        int
	x0, y0        int
	width, height int
}

// params holds the coding parameters from the main header or a tile's header.
type params struct {
	order      byte // of packets
	layers     int
	mixed      bool // the first three components are transformed together
	components []coding
	changes    []change
}

// coding is the parameters of a component.
type coding struct {
	levels              int
	blockX, blockY      uint // logarithms of the sizes of code blocks
	style               byte
	reversible          bool
	precincts           []byte // logarithms of sizes, by resolution; nil for 15
	quantStyle          byte
	guard               int
	steps               []step
	shift               int  // of the region of interest
	ownCoding, ownQuant bool // a header gave this component its own
}

// step is a quantisation step: (1+mantissa/2048)·2^(range-exponent).
type step struct{ exponent, mantissa int }

// change is a subset of the packets with its own order.
type change struct {
	firstResolution, resolutions int
	firstComponent, components   int
	layers                       int
	order                        byte
}

// maxComponents bounds the components: as many as pictures have, and a few more.
const maxComponents = 8

// openStream reads the main header and finds the parts of tiles.
func openStream(data []byte) (*codestream, error) {
	if len(data) < 4 || binary.BigEndian.Uint32(data) != markSOC<<16|markSIZ {
		return nil, errors.New("the codestream has no size")
	}
	s := &codestream{}
	rest, err := s.segments(data[2:], &s.main, true)
	if err != nil {
		return nil, err
	}
	if s.main.layers == 0 {
		return nil, errors.New("the main header has no coding")
	}
	return s, s.findParts(rest)
}

// segments reads a header up to the first tile or, in a tile, up to its packets.
func (s *codestream) segments(data []byte, p *params, main bool) ([]byte, error) {
	for {
		if len(data) < 2 {
			return nil, errShort
		}
		mark := int(binary.BigEndian.Uint16(data))
		if mark == markSOT && main {
			return data, nil
		}
		if mark == markSOD && !main {
			return data[2:], nil
		}
		if len(data) < 4 || mark < 0xff00 {
			return nil, errors.New("there is no marker where one must be")
		}
		n := int(binary.BigEndian.Uint16(data[2:]))
		if n < 2 || n > len(data)-2 {
			return nil, errShort
		}
		if err := s.segment(mark, data[4:2+n], p, main); err != nil {
			return nil, err
		}
		data = data[2+n:]
	}
}

func (s *codestream) segment(mark int, body []byte, p *params, main bool) (err error) {
	if mark != markSIZ && s.components == nil || mark == markSIZ && (s.components != nil || !main) {
		return errors.New("the size is not the first segment, or not the only one")
	}
	b := &fields{data: body}
	switch mark {
	case markSIZ:
		err = s.size(b)
	case markCOD:
		err = p.readDefaults(b)
	case markCOC:
		if c := p.component(b); c != nil {
			defined := b.uint8()&1 != 0
			err = c.readCoding(b, defined)
			c.ownCoding = true
		}
	case markQCD:
		var q coding
		err = q.readQuant(b)
		for i := range p.components {
			if c := &p.components[i]; !c.ownQuant {
				c.quantStyle, c.guard, c.steps = q.quantStyle, q.guard, q.steps
			}
		}
	case markQCC:
		if c := p.component(b); c != nil {
			err = c.readQuant(b)
			c.ownQuant = true
		}
	case markRGN:
		if c := p.component(b); c != nil {
			b.uint8()
			c.shift = b.uint8()
		}
	case markPOC:
		p.readChanges(b)
	case markPPM, markPPT:
		err = UnsupportedError("packed packet headers")
	case markCAP:
		err = UnsupportedError("an extension such as high throughput")
	}
	if err == nil && b.short {
		err = errShort
	}
	return err
}

// fields reads consecutive numbers. Past the end it returns 0 and sets short.
type fields struct {
	data  []byte
	short bool
}

func (f *fields) uint(n int) int {
	if len(f.data) < n {
		f.short = true
		f.data = nil
		return 0
	}
	v := 0
	for _, b := range f.data[:n] {
		v = v<<8 | int(b)
	}
	f.data = f.data[n:]
	return v
}

func (f *fields) uint8() int  { return f.uint(1) }
func (f *fields) uint16() int { return f.uint(2) }

func (s *codestream) size(b *fields) error {
	b.uint16()
	var large bool
	for _, to := range []*int{&s.x1, &s.y1, &s.x0, &s.y0, &s.tileWidth, &s.tileHeight, &s.tileX, &s.tileY} {
		*to = b.uint(4)
		large = large || uint(*to) > maxExtent
	}
	n := b.uint16()
	switch {
	case b.short:
		return errShort
	case large:
		return UnsupportedError(fmt.Sprintf("an extent of more than %d", maxExtent))
	case s.x0 >= s.x1 || s.y0 >= s.y1 || s.tileWidth == 0 || s.tileHeight == 0 || s.tileX > s.x0 || s.tileY > s.y0,
		s.tileX+s.tileWidth <= s.x0 || s.tileY+s.tileHeight <= s.y0 || n == 0:
		return errors.New("the size is broken")
	case n > maxComponents:
		return UnsupportedError(fmt.Sprintf("a number of %d components", n))
	}
	s.across, s.down = up(s.x1-s.tileX, s.tileWidth), up(s.y1-s.tileY, s.tileHeight)
	if s.across > 65535 || s.down > 65535 || s.across*s.down > 65535 {
		return errors.New("there are more than 65535 tiles")
	}
	for range n {
		depth := b.uint8()
		c := component{bits: depth&127 + 1, signed: depth > 127, dx: b.uint8(), dy: b.uint8()}
		if c.dx == 0 || c.dy == 0 {
			return errors.New("a component has no samples")
		}
		if c.bits > 16 {
			return UnsupportedError(fmt.Sprintf("a depth of %d bits", c.bits))
		}
		c.x0, c.y0 = up(s.x0, c.dx), up(s.y0, c.dy)
		c.width, c.height = up(s.x1, c.dx)-c.x0, up(s.y1, c.dy)-c.y0
		if c.width <= 0 || c.height <= 0 || c.width > maxSamples/c.height {
			return fmt.Errorf("a component has %d by %d samples", c.width, c.height)
		}
		s.components = append(s.components, c)
	}
	s.main.components = make([]coding, n)
	return nil
}

// component reads the number of a component and returns its parameters.
func (p *params) component(b *fields) *coding {
	if i := b.uint8(); i < len(p.components) {
		return &p.components[i]
	}
	return nil
}

func (p *params) readDefaults(b *fields) error {
	defined := b.uint8()&1 != 0
	p.order, p.layers, p.mixed = byte(b.uint8()), b.uint16(), b.uint8() != 0
	if p.order > orderCPRL || p.layers == 0 {
		return errors.New("packets have an unknown order, or no layers")
	}
	var c coding
	if err := c.readCoding(b, defined); err != nil {
		return err
	}
	for i := range p.components {
		if to := &p.components[i]; !to.ownCoding {
			to.levels, to.blockX, to.blockY, to.style, to.reversible, to.precincts = c.levels, c.blockX, c.blockY, c.style,
				c.reversible, c.precincts
		}
	}
	return nil
}

// readCoding reads the transform and the blocks. If defined is set, it also reads the sizes of
// precincts; otherwise they are 2^15.
func (c *coding) readCoding(b *fields, defined bool) error {
	c.levels, c.blockX, c.blockY = b.uint8(), uint(b.uint8())+2, uint(b.uint8())+2
	c.style, c.reversible = byte(b.uint8()), b.uint8() == 1
	c.precincts = nil
	switch {
	case b.short:
		return errShort
	case c.levels > 32 || c.blockX > 10 || c.blockY > 10 || c.blockX+c.blockY > 12:
		return errors.New("the coding has too many levels or too large blocks")
	case c.style >= 0x40:
		return UnsupportedError("a style of code blocks such as high throughput")
	}
	for r := 0; defined && r <= c.levels; r++ {
		size := byte(b.uint8())
		if r > 0 && (size&15 == 0 || size>>4 == 0) {
			return errors.New("a precinct is too small")
		}
		c.precincts = append(c.precincts, size)
	}
	return nil
}

func (c *coding) readQuant(b *fields) error {
	style := b.uint8()
	c.quantStyle, c.guard, c.steps = byte(style&31), style>>5, nil
	if c.quantStyle > 2 {
		return errors.New("the quantisation has an unknown style")
	}
	for len(b.data) > 0 && len(c.steps) < 1+3*32 {
		if c.quantStyle == 0 {
			c.steps = append(c.steps, step{b.uint8() >> 3, 0})
			continue
		}
		v := b.uint16()
		c.steps = append(c.steps, step{v >> 11, v & 0x7ff})
	}
	if c.steps == nil {
		return errShort
	}
	return nil
}

func (p *params) readChanges(b *fields) {
	for len(b.data) >= 7 {
		c := change{firstResolution: b.uint8(), firstComponent: b.uint8(), layers: b.uint16(), resolutions: b.uint8(),
			components: b.uint8(), order: byte(b.uint8())}
		if c.components == 0 {
			c.components = 256
		}
		p.changes = append(p.changes, c)
	}
}

// findParts lists the parts of tiles, which may be in any order.
func (s *codestream) findParts(data []byte) error {
	s.parts = make([][][]byte, s.across*s.down)
	for len(data) >= 12 && binary.BigEndian.Uint16(data) == markSOT {
		tile, n := int(binary.BigEndian.Uint16(data[4:])), int(binary.BigEndian.Uint32(data[6:]))
		if n == 0 {
			n = len(data)
			if end := data[n-2:]; binary.BigEndian.Uint16(end) == markEOC {
				n -= 2
			}
		}
		if tile >= len(s.parts) || n < 12 || n > len(data) {
			return errors.New("a part of a tile is cut off, or of no tile")
		}
		s.parts[tile] = append(s.parts[tile], data[12:n])
		data = data[n:]
	}
	for i, p := range s.parts {
		if p == nil {
			return fmt.Errorf("tile %d is missing", i)
		}
	}
	return nil
}

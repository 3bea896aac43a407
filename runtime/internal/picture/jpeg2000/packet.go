package jpeg2000

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Orders of packets: by layer L, resolution R, component C and position P.
const (
	orderLRCP = iota
	orderRLCP
	orderRPCL
	orderPCRL
	orderCPRL
)

// block is a code block: bit planes of coefficients, coded independently.
type block struct {
	area
	included bool
	planes   int // bit planes that are not all 0
	passes   int
	length   int // bits of the lengths of segments
	segments []segment
}

// segment is the passes of a block that share a code word.
type segment struct {
	passes, most int
	data         []byte
}

// packets reads the packets of a tile.
type packets struct {
	tile *tile
	data []byte
	// Of the current header:
	last  byte // the previous byte
	store byte
	count int
	// skipped counts precincts whose current layer was read before. Changes of the order can cause
	// that.
	skipped int
	err     error
}

// Bounds on the cost of changes of the order without any packet.
const (
	maxChanges = 64
	maxSkipped = 1 << 26
)

// readPackets reads all packets in order.
func (t *tile) readPackets(data []byte) error {
	r := &packets{tile: t, data: data}
	changes := t.changes
	if changes == nil {
		changes = []change{{resolutions: 33, components: maxComponents, layers: t.layers, order: t.order}}
	}
	if len(changes) > maxChanges {
		return UnsupportedError(fmt.Sprintf("a number of %d changes of the order of packets", len(changes)))
	}
	for _, c := range changes {
		if c.order > orderCPRL {
			return errors.New("packets have an unknown order")
		}
		var list []*precinct
		for _, p := range t.precincts {
			if p.resolution >= c.firstResolution && p.resolution < c.resolutions && p.component >= c.firstComponent &&
				p.component < c.components {
				list = append(list, p)
			}
		}
		r.walk(list, c.order, min(c.layers, t.layers))
	}
	return r.err
}

// walk reads the packets of precincts in the given order, up to layers layers.
func (r *packets) walk(list []*precinct, order byte, layers int) {
	slices.SortStableFunc(list, func(a, b *precinct) int {
		res, comp, place := a.resolution-b.resolution, a.component-b.component, cmp.Or(a.y-b.y, a.x-b.x)
		switch order {
		case orderRPCL:
			return cmp.Or(res, place, comp, a.number-b.number)
		case orderPCRL:
			return cmp.Or(place, comp, res, a.number-b.number)
		case orderCPRL:
			return cmp.Or(comp, place, res, a.number-b.number)
		}
		return cmp.Or(res, comp, a.number-b.number)
	})
	switch order {
	case orderLRCP:
		r.layers(list, layers)
	case orderRLCP:
		for len(list) > 0 {
			n := 0
			for n < len(list) && list[n].resolution == list[0].resolution {
				n++
			}
			r.layers(list[:n], layers)
			list = list[n:]
		}
	default:
		for i := range list {
			r.layers(list[i:i+1], layers)
		}
	}
}

// layers reads the packets layer by layer. A tile may end before all of them; finer layers are then
// missing.
func (r *packets) layers(list []*precinct, layers int) {
	for l := range layers {
		for _, p := range list {
			if p.layers != l {
				if r.skipped++; r.skipped > maxSkipped {
					r.err = UnsupportedError("an order of packets that comes back to so many")
					return
				}
				continue
			}
			if len(r.data) == 0 {
				return
			}
			if r.packet(p); r.err != nil {
				return
			}
			p.layers++
		}
	}
}

// part is a packet's addition to a segment of a block.
type part struct {
	*block
	segment, size int
}

// packet reads a precinct's data of the next layer.
func (r *packets) packet(p *precinct) {
	if len(r.data) >= 6 && r.data[0] == markSOP>>8 && r.data[1] == markSOP&255 {
		r.data = r.data[6:]
	}
	r.last, r.store, r.count = 0, 0, 0
	var parts []part
	if r.bit() == 1 {
		for _, b := range p.bands {
			for k := range b.list {
				parts = r.blockHeader(p, b, k, parts)
			}
		}
	}
	if r.store == 0xff && r.err == nil {
		// A byte of padding keeps markers out of headers.
		r.take(1)
	}
	if len(r.data) >= 2 && r.data[0] == markEPH>>8 && r.data[1] == markEPH&255 {
		r.data = r.data[2:]
	}
	for _, a := range parts {
		s := &a.segments[a.segment]
		s.data = append(s.data, r.take(a.size)...)
	}
}

// take returns the next n bytes.
func (r *packets) take(n int) []byte {
	if n > len(r.data) {
		r.err = cmp.Or(r.err, errShort)
		return nil
	}
	b := r.data[:n:n]
	r.data = r.data[n:]
	return b
}

// bit reads a bit of a header. A byte after 0xff has 7 bits.
func (r *packets) bit() int {
	if r.count == 0 {
		r.last, r.count = r.store, 8
		if r.last == 0xff {
			r.count = 7
		}
		if b := r.take(1); b != nil {
			r.store = b[0]
		} else {
			r.store = 0
		}
	}
	r.count--
	return int(r.store >> r.count & 1)
}

func (r *packets) bits(n int) int {
	v := 0
	for range n {
		v = v<<1 | r.bit()
	}
	return v
}

// blockHeader reads a packet's header of a block and appends its parts.
func (r *packets) blockHeader(p *precinct, b *blocks, k int, parts []part) []part {
	bl := &b.list[k]
	x, y := k%b.across, k/b.across
	if r.err != nil {
		return nil
	}
	if bl.included {
		if r.bit() == 0 {
			return parts
		}
	} else {
		if !b.included.below(r, x, y, p.layers+1) {
			return parts
		}
		zeros := 0
		for !b.zeros.below(r, x, y, zeros+1) {
			if zeros++; zeros > b.planes || r.err != nil {
				r.err = cmp.Or(r.err, errors.New("a block has no bits"))
				return nil
			}
		}
		bl.included, bl.planes, bl.length = true, b.planes-zeros, 3
	}
	passes := r.passes()
	for r.err == nil && r.bit() == 1 {
		bl.length++
	}
	if bl.length > 32 || bl.passes+passes > 3*bl.planes-2 {
		r.err = cmp.Or(r.err, errors.New("a block has more passes or bytes than fit"))
		return nil
	}
	style := r.tile.components[p.component].style
	for passes > 0 {
		s := bl.open(style)
		n := min(passes, bl.segments[s].most-bl.segments[s].passes)
		size := r.bits(bl.length + bits.Len(uint(n)) - 1)
		bl.segments[s].passes += n
		bl.passes += n
		passes -= n
		parts = append(parts, part{bl, s, size})
	}
	return parts
}

// passes reads a number of passes.
func (r *packets) passes() int {
	switch {
	case r.bit() == 0:
		return 1
	case r.bit() == 0:
		return 2
	}
	if n := r.bits(2); n < 3 {
		return 3 + n
	}
	if n := r.bits(5); n < 31 {
		return 6 + n
	}
	return 37 + r.bits(7)
}

// Styles of code blocks: ITU-T T.800, table A.19.
const (
	styleBypass   = 1 << iota // some passes are not coded
	styleReset                // every pass begins with fresh contexts
	styleTerminal             // every pass has its own code word
	styleCausal               // stripes do not see the next one
	stylePredict              // errors can be detected; not used here
	styleSymbols              // cleanups end with a symbol
)

// firstRaw is the first pass that may be uncoded in bypassed blocks.
const firstRaw = 10

// open returns the index of the segment of the next pass.
func (b *block) open(style byte) int {
	n := len(b.segments)
	if n > 0 && b.segments[n-1].passes < b.segments[n-1].most {
		return n - 1
	}
	s := segment{most: 1 << 30}
	switch {
	case style&styleTerminal != 0:
		s.most = 1
	case style&styleBypass == 0:
	case n == 0:
		s.most = firstRaw
	case (b.passes-firstRaw)%3 == 0:
		s.most = 2
	default:
		s.most = 1
	}
	b.segments = append(b.segments, s)
	return n
}

// tagTree codes a matrix of numbers by the smallest numbers of larger and larger parts: ITU-T
// T.800, B.10.2.
type tagTree struct {
	levels []tagLevel // the matrix first
}

type tagLevel struct {
	across int
	nodes  []tagNode
}

// tagNode is a number that is at least low or, if known is set, low.
type tagNode struct {
	low   int32
	known bool
}

func newTagTree(across, down int) *tagTree {
	t := &tagTree{}
	for {
		t.levels = append(t.levels, tagLevel{across, make([]tagNode, across*down)})
		if across*down == 1 {
			return t
		}
		across, down = (across+1)/2, (down+1)/2
	}
}

// below reads bits until it can report whether a number is below limit.
func (t *tagTree) below(r *packets, x, y, limit int) bool {
	low := int32(0)
	for i := len(t.levels) - 1; i >= 0; i-- {
		l := &t.levels[i]
		n := &l.nodes[y>>i*l.across+x>>i]
		n.low = max(n.low, low)
		for !n.known && n.low < int32(limit) {
			if r.bit() == 1 {
				n.known = true
			} else {
				n.low++
			}
		}
		low = n.low
	}
	n := &t.levels[0].nodes[y*t.levels[0].across+x]
	return n.known && n.low < int32(limit)
}

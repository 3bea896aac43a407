package jpeg2000

import (
	"errors"
	"slices"
)

// area is the points from (x0,y0) to (x1,y1), exclusive.
type area struct{ x0, y0, x1, y1 int }

func (a area) width() int  { return a.x1 - a.x0 }
func (a area) height() int { return a.y1 - a.y0 }
func (a area) empty() bool { return a.x0 >= a.x1 || a.y0 >= a.y1 }

// tile is a part of the picture that is coded independently.
type tile struct {
	area
	params
	stream     *codestream
	components []*plane
	precincts  []*precinct
	structs    int // blocks and precincts so far
}

// plane is a component within a tile.
type plane struct {
	area
	*coding
	bits        int
	resolutions []*resolution
}

// resolution is a plane at a fraction of its size, with the bands that extend the next smaller
// resolution to it.
type resolution struct {
	area
	bands []*band
}

// band is coefficients of the same frequencies.
type band struct {
	area
	orientation  byte // 0 for low frequencies, 1 for high horizontal, 2 for high vertical, 3 for both
	planes       int  // bit planes, at most
	delta        float32
	coefficients []int32 // in halves
}

// precinct is the blocks in one part of a resolution, of all its bands.
type precinct struct {
	resolution, component, number int
	x, y                          int // on the reference grid
	layers                        int // number of layers read
	bands                         []*blocks
}

// blocks is the code blocks of one band in a precinct, row by row.
type blocks struct {
	*band
	across   int
	list     []block
	included *tagTree
	zeros    *tagTree
}

// Bounds on blocks and precincts relative to samples, since a header can ask for one of each per
// sample.
const (
	samplesPerStruct = 12
	structBytes      = 320
	fewStructs       = 1 << 12
)

// openTile lays out a tile.
func (s *codestream) openTile(number int, p params) (*tile, error) {
	x, y := s.tileX+number%s.across*s.tileWidth, s.tileY+number/s.across*s.tileHeight
	t := &tile{stream: s, params: p,
		area: area{max(x, s.x0), max(y, s.y0), min(x+s.tileWidth, s.x1), min(y+s.tileHeight, s.y1)}}
	for i, c := range s.components {
		pl := &plane{coding: &p.components[i], bits: c.bits,
			area: area{up(t.x0, c.dx), up(t.y0, c.dy), up(t.x1, c.dx), up(t.y1, c.dy)}}
		t.components = append(t.components, pl)
		if len(pl.steps) == 0 {
			return nil, errors.New("a component has no quantisation")
		}
		if pl.empty() {
			continue
		}
		for r := range pl.levels + 1 {
			if err := t.addResolution(i, r); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func (t *tile) addResolution(component, r int) error {
	p := t.components[component]
	res := &resolution{area: p.shrunk(uint(p.levels - r))}
	p.resolutions = append(p.resolutions, res)
	orientations := []byte{1, 2, 3}
	if r == 0 {
		orientations = orientations[:1]
		orientations[0] = 0
	}
	for _, o := range orientations {
		b, err := p.newBand(r, o)
		if err != nil {
			return err
		}
		res.bands = append(res.bands, b)
	}
	return t.addPrecincts(component, r)
}

// shrunk returns the area at 1/2^n of its size.
func (a area) shrunk(n uint) area {
	return area{upShift(a.x0, n), upShift(a.y0, n), upShift(a.x1, n), upShift(a.y1, n)}
}

func (p *plane) newBand(r int, orientation byte) (*band, error) {
	b := &band{orientation: orientation, area: p.shrunk(uint(p.levels))}
	number := 0
	if r > 0 {
		n := uint(p.levels - r + 1)
		dx, dy := int(orientation&1)<<(n-1), int(orientation>>1)<<(n-1)
		b.area = area{p.x0 - dx, p.y0 - dy, p.x1 - dx, p.y1 - dy}.shrunk(n)
		number = 3*(r-1) + int(orientation)
	}
	st := p.steps[0]
	switch {
	case p.quantStyle == 1:
		// The first step is the lowest band's. It halves with each level.
		if r > 0 {
			st.exponent -= r - 1
		}
	case number >= len(p.steps):
		return nil, errors.New("a band has no quantisation step")
	default:
		st = p.steps[number]
	}
	b.planes = p.guard + st.exponent - 1 + p.shift
	if st.exponent < 0 || b.planes > 30 {
		return nil, UnsupportedError("a coefficient of more than 30 bits")
	}
	gain := []int{0, 1, 1, 2}[orientation]
	b.delta = exp2(p.bits+gain-st.exponent) * (1 + float32(st.mantissa)/2048)
	return b, nil
}

func exp2(n int) float32 {
	v := float32(1)
	for ; n > 0; n-- {
		v *= 2
	}
	for ; n < 0; n++ {
		v /= 2
	}
	return v
}

// addPrecincts divides a resolution and its bands into precincts.
func (t *tile) addPrecincts(component, r int) error {
	p := t.components[component]
	res := p.resolutions[r]
	if res.empty() {
		return nil
	}
	w, h := uint(15), uint(15)
	if p.precincts != nil {
		w, h = uint(p.precincts[r]&15), uint(p.precincts[r]>>4)
	}
	left, top := res.x0>>w, res.y0>>h
	across, down := upShift(res.x1, w)-left, upShift(res.y1, h)-top
	if err := t.count(across, down); err != nil {
		return err
	}
	c, level := t.stream.components[component], uint(p.levels-r)
	for k := range across * down {
		i, j := left+k%across, top+k/across
		pr := &precinct{resolution: r, component: component, number: k, x: max(t.x0, i<<(w+level)*c.dx),
			y: max(t.y0, j<<(h+level)*c.dy)}
		for _, b := range res.bands {
			// Bands other than the lowest have half the extents.
			w, h := w, h
			if b.orientation > 0 {
				w, h = w-1, h-1
			}
			part := area{max(i<<w, b.x0), max(j<<h, b.y0), min((i+1)<<w, b.x1), min((j+1)<<h, b.y1)}
			bl, err := t.newBlocks(b, part, min(w, p.blockX), min(h, p.blockY))
			if err != nil {
				return err
			}
			pr.bands = append(pr.bands, bl)
		}
		t.precincts = append(t.precincts, pr)
	}
	return nil
}

// count adds across·down to the number of structures. Too many are an UnsupportedError.
func (t *tile) count(across, down int) error {
	limit := fewStructs
	for _, p := range t.components {
		limit += p.width() * p.height() / samplesPerStruct
	}
	if across > limit || down > limit || across*down > limit-t.structs {
		return UnsupportedError("a division into blocks or precincts of a few samples")
	}
	t.structs += across * down
	return nil
}

// newBlocks divides a part of a band into blocks of up to 2^w by 2^h.
func (t *tile) newBlocks(b *band, part area, w, h uint) (*blocks, error) {
	out := &blocks{band: b}
	if part.empty() {
		return out, nil
	}
	left, top := part.x0>>w, part.y0>>h
	across, down := upShift(part.x1, w)-left, upShift(part.y1, h)-top
	if err := t.count(across, down); err != nil {
		return nil, err
	}
	out.across, out.included, out.zeros = across, newTagTree(across, down), newTagTree(across, down)
	out.list = make([]block, across*down)
	for k := range out.list {
		x, y := (left+k%across)<<w, (top+k/across)<<h
		out.list[k].area = area{max(x, part.x0), max(y, part.y0), min(x+1<<w, part.x1), min(y+1<<h, part.y1)}
	}
	return out, nil
}

// decode returns the samples of every component.
func (s *codestream) decode() ([][]int32, error) {
	out := make([][]int32, len(s.components))
	for i, c := range s.components {
		out[i] = make([]int32, c.width*c.height)
	}
	for number, parts := range s.parts {
		if err := s.decodeTile(number, parts, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *codestream) decodeTile(number int, parts [][]byte, out [][]int32) error {
	p := s.main
	p.components, p.changes = slices.Clone(p.components), slices.Clone(p.changes)
	for i := range p.components {
		p.components[i].ownCoding, p.components[i].ownQuant = false, false
	}
	var packets []byte
	for i, part := range parts {
		body, err := s.segments(part, &p, false)
		if err != nil {
			return err
		}
		if i == 0 {
			packets = body[:len(body):len(body)]
		} else {
			packets = append(packets, body...)
		}
	}
	t, err := s.openTile(number, p)
	if err != nil {
		return err
	}
	if err := t.readPackets(packets); err != nil {
		return err
	}
	return t.samples(out)
}

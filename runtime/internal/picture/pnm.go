package picture

import (
	"errors"
	"fmt"
	"math"
)

// pnm is a portable bitmap, greymap or pixmap (P1 to P6). It has a header of decimal numbers, then
// samples from 0 to most, as decimals or as bytes. A bitmap has bits, with 1 for black. See
// https://netpbm.sourceforge.net/doc/pnm.html.
type pnm struct {
	data          []byte // the data after the header
	kind          byte   // '1' to '6'
	width, height int
	most          int // the largest sample
}

func openPNM(data []byte) (*File, error) {
	p := &pnm{data: data[2:], kind: data[1], most: 1}
	fields := []*int{&p.width, &p.height, &p.most}
	if p.kind == '1' || p.kind == '4' {
		fields = fields[:2]
	}
	for i, field := range fields {
		if i == 0 && !p.atSpace() {
			return nil, errors.New("no space after the magic number")
		}
		var err error
		if *field, err = p.number(); err != nil {
			return nil, err
		}
	}
	if p.most < 1 || p.most > 65535 {
		return nil, fmt.Errorf("samples up to %d", p.most)
	}
	if p.kind >= '4' {
		if !p.atSpace() {
			return nil, errors.New("no space after the header")
		}
		p.data = p.data[1:]
	}
	n, err := memory(p.width, p.height, p.channels())
	if err != nil {
		return nil, err
	}
	if need := p.least(n); len(p.data) < need {
		return nil, fmt.Errorf("%d bytes of samples where %d by %d pixels take %d", len(p.data), p.width, p.height, need)
	}
	return &File{Width: p.width, Height: p.height, Memory: n, decode: p.decode}, nil
}

func (p *pnm) channels() int {
	if p.kind == '3' || p.kind == '6' {
		return 3
	}
	return 1
}

// least returns the least number of bytes that n samples take.
func (p *pnm) least(n int) int {
	switch {
	case p.kind == '1':
		return n
	case p.kind < '4':
		return 2*n - 1
	case p.kind == '4':
		return (p.width + 7) / 8 * p.height
	case p.most > 255:
		return 2 * n
	}
	return n
}

func (p pnm) decode() (*Picture, error) {
	c := p.channels()
	out := &Picture{Width: p.width, Height: p.height, Channels: c, Pixels: make([]byte, p.width*p.height*c)}
	switch {
	case p.kind == '4':
		for y := range p.height {
			row := p.data[(p.width+7)/8*y:]
			for x := range p.width {
				out.Pixels[y*p.width+x] = ^-(row[x/8] >> (7 - x%8) & 1)
			}
		}
		return out, nil
	case p.kind > '4' && p.most == 255:
		copy(out.Pixels, p.data)
		return out, nil
	}
	for i := range out.Pixels {
		v, err := p.sample(i)
		if err != nil {
			return nil, err
		}
		if v > p.most {
			return nil, fmt.Errorf("sample %d is %d, larger than %d", i, v, p.most)
		}
		out.Pixels[i] = byte((v*255 + p.most/2) / p.most)
	}
	return out, nil
}

// sample returns sample i. Decimal samples must be read in order.
func (p *pnm) sample(i int) (int, error) {
	switch {
	case p.kind == '1':
		p.skip()
		if len(p.data) == 0 || p.data[0] != '0' && p.data[0] != '1' {
			return 0, fmt.Errorf("sample %d is neither 0 nor 1", i)
		}
		v := int('1' - p.data[0])
		p.data = p.data[1:]
		return v, nil
	case p.kind < '4':
		return p.number()
	case p.most > 255:
		return int(p.data[2*i])<<8 | int(p.data[2*i+1]), nil
	}
	return int(p.data[i]), nil
}

// number reads a decimal after space and comments.
func (p *pnm) number() (int, error) {
	p.skip()
	v, digits := 0, 0
	for len(p.data) > 0 && p.data[0] >= '0' && p.data[0] <= '9' {
		if v > (math.MaxInt32-9)/10 {
			return 0, errors.New("a number of more than 31 bits")
		}
		v, digits = v*10+int(p.data[0]-'0'), digits+1
		p.data = p.data[1:]
	}
	if digits == 0 {
		return 0, fmt.Errorf("%.10q where a number is needed", p.data[:min(len(p.data), 10)])
	}
	return v, nil
}

// skip skips space and comments. A comment goes from # to the end of the line.
func (p *pnm) skip() {
	comment := false
	for len(p.data) > 0 {
		switch c := p.data[0]; {
		case comment:
			comment = c != '\n' && c != '\r'
		case c == '#':
			comment = true
		case !p.atSpace():
			return
		}
		p.data = p.data[1:]
	}
}

func (p *pnm) atSpace() bool {
	return len(p.data) > 0 && (p.data[0] == ' ' || p.data[0] >= '\t' && p.data[0] <= '\r')
}

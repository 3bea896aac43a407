package jpeg2000

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// boxes holds a JP2 file's description of its codestream: ITU-T T.800, annex I.
type boxes struct {
	space    int      // enumerated colour space; 0 if none is named
	palette  [][]byte // colours, one byte per column
	mapped   []column // channels made from components and the palette
	channels []int    // the channels that are colours, in colour order; nil for the first ones
}

// column is the source of a channel.
type column struct {
	component int
	palette   int // column of the palette; -1 for the component itself
}

// Enumerated colour spaces.
const (
	spaceGrey = 17
	spaceYCC  = 18
	spaceCMYK = 12
)

// read returns the codestream within a file.
func (b *boxes) read(data []byte) ([]byte, error) {
	if len(data) >= 4 && binary.BigEndian.Uint32(data) == 0xff4fff51 {
		return data, nil
	}
	for len(data) > 0 {
		kind, body, rest, err := nextBox(data)
		if err != nil {
			return nil, err
		}
		switch kind {
		case "jp2h":
			if err := b.header(body); err != nil {
				return nil, err
			}
		case "jp2c":
			return body, nil
		}
		data = rest
	}
	return nil, errors.New("there is no codestream")
}

func nextBox(data []byte) (kind string, body, rest []byte, err error) {
	if len(data) < 8 {
		return "", nil, nil, errShort
	}
	n, from := uint64(binary.BigEndian.Uint32(data)), uint64(8)
	switch {
	case n == 0:
		n = uint64(len(data))
	case n == 1 && len(data) >= 16:
		n, from = binary.BigEndian.Uint64(data[8:]), 16
	}
	if n < from || n > uint64(len(data)) {
		return "", nil, nil, errShort
	}
	return string(data[4:8]), data[from:n], data[n:], nil
}

func (b *boxes) header(data []byte) error {
	for len(data) > 0 {
		kind, body, rest, err := nextBox(data)
		if err != nil {
			return err
		}
		switch kind {
		case "colr":
			if len(body) >= 7 && body[0] == 1 && b.space == 0 {
				b.space = int(binary.BigEndian.Uint32(body[3:]))
			}
		case "pclr":
			err = b.readPalette(body)
		case "cmap":
			for ; len(body) >= 4; body = body[4:] {
				c := column{int(binary.BigEndian.Uint16(body)), -1}
				if body[2] == 1 {
					c.palette = int(body[3])
				}
				b.mapped = append(b.mapped, c)
			}
		case "cdef":
			b.readChannels(body)
		}
		if err != nil {
			return err
		}
		data = rest
	}
	return nil
}

func (b *boxes) readPalette(body []byte) error {
	if len(body) < 3 {
		return errShort
	}
	entries, columns := int(binary.BigEndian.Uint16(body)), int(body[2])
	if entries < 1 || entries > 1024 || len(body) < 3+columns+entries*columns {
		return fmt.Errorf("a palette of %d colours of %d channels is broken", entries, columns)
	}
	for _, depth := range body[3 : 3+columns] {
		if depth != 7 {
			return UnsupportedError("a palette of other than 8 bits")
		}
	}
	body = body[3+columns:]
	for i := range entries {
		b.palette = append(b.palette, body[i*columns:(i+1)*columns])
	}
	return nil
}

// readChannels records the channel of each colour.
func (b *boxes) readChannels(body []byte) {
	if len(body) < 2 {
		return
	}
	b.channels = []int{-1, -1, -1}
	for body = body[2:]; len(body) >= 6; body = body[6:] {
		number, kind, colour := binary.BigEndian.Uint16(body), binary.BigEndian.Uint16(body[2:]),
			binary.BigEndian.Uint16(body[4:])
		if kind == 0 && colour >= 1 && colour <= 3 {
			b.channels[colour-1] = int(number)
		}
	}
}

// check completes the list of channels and returns the number of colours.
func (b *boxes) check(s *codestream) (int, error) {
	if b.palette == nil || b.mapped == nil {
		b.mapped = nil
		for i := range s.components {
			b.mapped = append(b.mapped, column{i, -1})
		}
	}
	for _, c := range b.mapped {
		if c.component >= len(s.components) || c.palette >= 0 && c.palette >= len(b.palette[0]) {
			return 0, errors.New("a channel has no component or no colours")
		}
	}
	colours := 3
	if len(b.mapped) < 3 || b.space == spaceGrey {
		colours = 1
	}
	if b.space == spaceCMYK {
		return 0, UnsupportedError("the colour space CMYK")
	}
	for i := range colours {
		if b.channels == nil || b.channels[i] < 0 || b.channels[i] >= len(b.mapped) {
			b.channels = []int{0, 1, 2}
			break
		}
	}
	return colours, nil
}

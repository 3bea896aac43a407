package jpeg

import "errors"

// huffman is a table of codes of 1 to 16 bits.
type huffman struct {
	values []byte
	last   [17]int32 // the largest code of each length; -1 for none
	first  [17]int32 // added to a code of each length, gives the index of its value
	fast   [256]struct {
		length, value byte // of the code that begins with 8 bits; length 0 if it is longer
	}
}

// huffmanTables reads a segment of Huffman tables.
func (d *Decoder) huffmanTables(body []byte) error {
	for len(body) > 0 {
		if len(body) < 17 {
			return errors.New("a Huffman table is cut off")
		}
		class, k, total := body[0]>>4, body[0]&15, 0
		for _, n := range body[1:17] {
			total += int(n)
		}
		if class > 1 || k > 3 || total > 256 || len(body) < 17+total {
			return errors.New("a Huffman table is broken")
		}
		h, err := newHuffman(body[1:17], body[17:17+total])
		if err != nil {
			return err
		}
		if class == 0 {
			for _, v := range h.values {
				if v > 15 {
					return errors.New("a Huffman table of first coefficients has sizes beyond 15 bits")
				}
			}
		}
		d.huffman[class][k] = h
		body = body[17+total:]
	}
	return nil
}

// newHuffman numbers codes in order. counts holds the number of codes of each length from 1 on.
func newHuffman(counts, values []byte) (*huffman, error) {
	h := &huffman{values: values}
	code, index := int32(0), int32(0)
	for length := 1; length <= 16; length++ {
		n := int32(counts[length-1])
		h.first[length], h.last[length] = index-code, code+n-1
		if n == 0 {
			h.last[length] = -1
		}
		if code+n > 1<<length {
			return nil, errors.New("a Huffman table has more codes than fit")
		}
		for range n {
			if length <= 8 {
				for i := code << (8 - length); i < (code+1)<<(8-length); i++ {
					h.fast[i].length, h.fast[i].value = byte(length), values[index]
				}
			}
			code, index = code+1, index+1
		}
		code <<= 1
	}
	return h, nil
}

// bits reads the bits of a scan. A data byte 0xff is followed by a 0. The bits end at the first
// marker.
type bits struct {
	data  []byte
	at    int
	store uint32 // the lowest count bits are next, the highest of them first
	count int
	err   error
}

// fill makes at least 25 bits ready, or all that are left.
func (b *bits) fill() {
	for b.count <= 24 && b.at < len(b.data) {
		v := b.data[b.at]
		if v == 0xff {
			if b.at+1 >= len(b.data) || b.data[b.at+1] != 0 {
				return
			}
			b.at++
		}
		b.at++
		b.store, b.count = b.store<<8|uint32(v), b.count+8
	}
}

// get returns the next n bits, at most 16. Past the end it returns 0 and sets an error.
func (b *bits) get(n int) int32 {
	if b.count < n {
		if b.fill(); b.count < n {
			b.err = errShort
			return 0
		}
	}
	b.count -= n
	return int32(b.store >> b.count & (1<<n - 1))
}

// value reads the value of the next code.
func (b *bits) value(h *huffman) byte {
	if b.count < 16 {
		b.fill()
	}
	if b.count >= 8 {
		if f := h.fast[b.store>>(b.count-8)&255]; f.length > 0 {
			b.count -= int(f.length)
			return f.value
		}
	}
	code := int32(0)
	for length := 1; length <= 16 && b.err == nil; length++ {
		code = code<<1 | b.get(1)
		if code <= h.last[length] {
			return h.values[code+h.first[length]]
		}
	}
	if b.err == nil {
		b.err = errors.New("there is no such Huffman code")
	}
	return 0
}

// number reads a number of n bits. Its first bit is 0 if it is negative.
func (b *bits) number(n int) int32 {
	if n == 0 {
		return 0
	}
	v := b.get(n)
	if v < 1<<(n-1) {
		v -= 1<<n - 1
	}
	return v
}

// align skips the restart marker, which must be next.
func (b *bits) align(k int) error {
	mark, next, ok := nextMarker(b.data, b.at)
	if !ok || mark != markRST0+byte(k%8) {
		return errors.New("a restart marker is missing")
	}
	b.at, b.count = next, 0
	return nil
}

package packed

import "encoding/binary"

var (
	gridQ3K = grouped{low: -32, high: 31, reach: 1, weighed: 2,
		tries: []float32{-5.2, -4.8, -4.5, -4.2, -4, -3.8, -3.6, -3.4, -3.2, -3, 2.8, 3, 3.2, 3.4, 3.7, 4}}
	gridQ6K   = grouped{low: -128, high: 127, reach: 2, weighed: 5, tries: []float32{-32, -31.5}}
	gridIQ4XS = grouped{low: -32, high: 31, reach: 1, weighed: 2,
		tries: []float32{-131, -127, -122, -117, -112, -106, -98, 100, 107, 112, 117, 122, 128}}

	searchQ3K   = searched{size: 16, groups: 16, low: -4, high: 3, fit: gridQ3K.fit, put: putQ3K}
	searchQ6K   = searched{size: 16, groups: 16, low: -32, high: 31, fit: gridQ6K.fit, put: putQ6K}
	searchIQ4XS = searched{size: 32, groups: 8, table: &tabledNL, fit: gridIQ4XS.fit, put: putIQ4XS}
)

func putQ3K(dst []byte, s *searcher, at int) {
	var codes [256]uint8
	for j := range 16 {
		s.codes(codes[16*j:], at+j)
	}
	third, q, scales := dst[:32], dst[32:96], dst[96:108]
	clear(dst)
	putHalf(dst[108:], s.d[at])
	for j, v := range s.whole[at : at+16] {
		c := byte(v + 32)
		scales[j%8] |= c & 15 << (j / 8 * 4)
		scales[8+j%4] |= c >> 4 << (j / 4 * 2)
	}
	for i, c := range codes {
		q[i/128*32+i%32] |= c & 3 << (i / 32 % 4 * 2)
		third[i%32] |= c >> 2 << (i / 32)
	}
}

func putQ6K(dst []byte, s *searcher, at int) {
	var codes [256]uint8
	for j := range 16 {
		s.codes(codes[16*j:], at+j)
		dst[192+j] = byte(s.whole[at+j])
	}
	putHalf(dst[208:], s.d[at])
	for h := range 2 {
		low, high, c := dst[64*h:][:64], dst[128+32*h:][:32], codes[128*h:][:128]
		for l := range 32 {
			low[l] = c[l]&15 | c[l+64]<<4
			low[l+32] = c[l+32]&15 | c[l+96]<<4
			high[l] = c[l]>>4 | c[l+32]>>4<<2 | c[l+64]>>4<<4 | c[l+96]>>4<<6
		}
	}
}

var (
	gridQ2K = leveled{top: 15, rounds: 3, tries: []float32{2.4, 2.8, 3.2, 3.6, 4, 4.5}}
	gridQ4K = leveled{top: 63, rounds: 2,
		tries:   []float32{14.2, 14.8, 15.3, 15.8, 16.4, 17},
		weighed: []float32{11.8, 12.6, 13.4, 14, 14.5, 15, 15.5, 16, 16.5, 17, 17.7, 18.5}}
	gridQ5K = leveled{top: 63, rounds: 3,
		tries:   []float32{30.3, 30.8, 31.2, 31.7, 32.3},
		weighed: []float32{26, 27.2, 28.4, 29.3, 30, 30.6, 31.2, 31.8, 32.4, 33, 34}}

	searchQ2K = searched{size: 16, groups: 16, high: 3, fit: gridQ2K.fit, put: putQ2K}
	searchQ4K = searched{size: 32, groups: 8, high: 15, fit: gridQ4K.fit, put: putQ4K}
	searchQ5K = searched{size: 32, groups: 8, high: 31, fit: gridQ5K.fit, put: putQ5K}
)

func putQ2K(dst []byte, s *searcher, at int) {
	var codes [256]uint8
	clear(dst)
	putHalf(dst[80:], s.d[at])
	putHalf(dst[82:], s.dmin[at])
	for j := range 16 {
		s.levels(codes[16*j:], at+j)
		dst[j] = byte(s.whole[at+j] | s.floor[at+j]<<4)
	}
	q := dst[16:80]
	for i, c := range codes {
		q[i/128*32+i%32] |= c << (i / 32 % 4 * 2)
	}
}

// putScalesK stores the scales and the least values of Q4_K and Q5_K.
func (s *searcher) putScalesK(dst []byte, at int) {
	putHalf(dst, s.d[at])
	putHalf(dst[2:], s.dmin[at])
	scales, leasts := s.whole[at:at+8], s.floor[at:at+8]
	for j := range 4 {
		dst[4+j] = byte(scales[j] | scales[j+4]>>4<<6)
		dst[8+j] = byte(leasts[j] | leasts[j+4]>>4<<6)
		dst[12+j] = byte(scales[j+4]&15 | leasts[j+4]<<4)
	}
}

// packNibbles stores the low 4 bits of codes, 64 to 32 bytes.
func packNibbles(dst []byte, codes []uint8) {
	for i := range dst {
		at := i/32*64 + i%32
		dst[i] = codes[at]&15 | codes[at+32]<<4
	}
}

func putQ4K(dst []byte, s *searcher, at int) {
	var codes [256]uint8
	for j := range 8 {
		s.levels(codes[32*j:], at+j)
	}
	s.putScalesK(dst, at)
	packNibbles(dst[16:144], codes[:])
}

func putQ5K(dst []byte, s *searcher, at int) {
	var codes [256]uint8
	for j := range 8 {
		s.levels(codes[32*j:], at+j)
	}
	s.putScalesK(dst, at)
	fifth := dst[16:48]
	clear(fifth)
	for i, c := range codes {
		fifth[i%32] |= c >> 4 << (i / 32)
	}
	packNibbles(dst[48:176], codes[:])
}

func putIQ4XS(dst []byte, s *searcher, at int) {
	var codes [256]uint8
	clear(dst)
	putHalf(dst, s.d[at])
	var high uint16
	for j, n := range s.whole[at : at+8] {
		s.near(codes[32*j:], at+j)
		c := n + 32
		high |= uint16(c>>4) << (2 * j)
		dst[4+j/2] |= byte(c&15) << (j % 2 * 4)
		for i := range 16 {
			dst[8+16*j+i] = codes[32*j+i] | codes[32*j+i+16]<<4
		}
	}
	binary.LittleEndian.PutUint16(dst[2:], high)
}

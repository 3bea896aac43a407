package nacre

import (
	"bytes"
	"encoding/binary"
)

// exifOrientation returns the orientation, 1 to 8, that the EXIF data of a JPEG file gives; 1 if
// there is none or it cannot be read.
func exifOrientation(jpeg []byte) int {
	const app1 = 0xe1
	o := 1
	eachSegment(jpeg, func(marker byte, data []byte) bool {
		data, ok := bytes.CutPrefix(data, []byte("Exif\x00\x00"))
		if marker != app1 || !ok {
			return true
		}
		o = tagOfOrientation(data)
		return false
	})
	return o
}

// eachSegment calls f for the segments of a JPEG file before its first scan, until f returns
// false or a segment cannot be read.
func eachSegment(jpeg []byte, f func(marker byte, data []byte) bool) {
	const soi, sos = 0xd8, 0xda
	rest := jpeg
	if len(rest) < 2 || rest[0] != 0xff || rest[1] != soi {
		return
	}
	for rest = rest[2:]; len(rest) >= 4 && rest[0] == 0xff; {
		marker := rest[1]
		if marker == 0xff { // filling
			rest = rest[1:]
			continue
		}
		n := int(binary.BigEndian.Uint16(rest[2:]))
		if marker == sos || n < 2 || n > len(rest)-2 || !f(marker, rest[4:2+n]) {
			return
		}
		rest = rest[2+n:]
	}
}

// tagOfOrientation returns the orientation in a TIFF file without pixels.
func tagOfOrientation(tiff []byte) int {
	const tag, short, entry = 0x0112, 3, 12
	var order binary.ByteOrder = binary.LittleEndian
	if bytes.HasPrefix(tiff, []byte("MM")) {
		order = binary.BigEndian
	}
	if len(tiff) < 8 || order.Uint16(tiff[2:]) != 42 {
		return 1
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	list := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(list) < entry {
			return 1
		}
		if order.Uint16(list) == tag && order.Uint16(list[2:]) == short {
			if n := int(order.Uint16(list[8:])); n >= 1 && n <= 8 {
				return n
			}
			return 1
		}
		list = list[entry:]
	}
	return 1
}

package bindings

import ()

func byteOf(b byte, signed bool) int32 {
	if signed {
		return int32(int8(b))
	}
	return int32(b)
}

package packed

// I2SBlock is the number of codes of a block of bitnet.cpp's I2_S: 32 bytes.
const I2SBlock = 128

// i2sLane is the number of codes that follow each other in the same bits of as many bytes.
const i2sLane = 32

// AtI2S returns code i of I2_S, the storage of the codes -1, 0 and +1 in files that bitnet.cpp
// makes on x86. A block has four lanes of 32 codes. Byte k of it has code k of each lane, plus one:
//
//	bits 7 6   5 4    3 2    1 0
//	code k     k+32   k+64   k+96
//
// Three is no code, and At returns +2 for it. The factor of all codes stands behind them, as a
// float32. Processors of ARM make other files.
func AtI2S(b []byte, i int) int8 {
	at, shift := placeI2S(i)
	return int8(b[at]>>shift&3) - 1
}

// placeI2S returns the byte of code i, and its first bit there.
func placeI2S(i int) (at, shift int) {
	return i/I2SBlock*i2sLane + i%i2sLane, 6 - i%I2SBlock/i2sLane*2
}

// UnpackI2S writes the codes of whole blocks to dst. The length of dst is a multiple of I2SBlock.
func UnpackI2S(dst []int8, src []byte) {
	for ; len(dst) > 0; dst, src = dst[I2SBlock:], src[i2sLane:] {
		for k, b := range src[:i2sLane] {
			for lane := range I2SBlock / i2sLane {
				dst[lane*i2sLane+k] = int8(b>>(6-2*lane)&3) - 1
			}
		}
	}
}

// PackI2S stores the codes -1, 0 and +1 of src. The length of src is a multiple of I2SBlock, and the
// length of dst a quarter of it.
func PackI2S(dst []byte, src []int8) {
	clear(dst)
	for i, c := range src {
		at, shift := placeI2S(i)
		dst[at] |= byte(c+1) & 3 << shift
	}
}

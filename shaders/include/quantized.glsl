// 8-bit codes, read from words, and the rounding of results to codes. SCALE_OF reads a scale, of
// float16 if is_half.
#ifndef QUANTIZED_GLSL
#define QUANTIZED_GLSL

#include "bits.glsl"

#define BYTE_OF(x, i) ((x)[(i) / 4] >> ((i) % 4 * 8) & 255u)
#define CODE_OF(x, i, is_signed) code_of(BYTE_OF(x, i), is_signed)
#define SCALE_OF(list, i, is_half) ((is_half) != 0 ? unpackHalf2x16((list)[(i) / 2] >> (i) % 2 * 16).x : uintBitsToFloat((list)[i]))

int code_of(uint byte_, uint is_signed) { return is_signed != 0 ? int(byte_ << 24) >> 24 : int(byte_); }

// quantized returns the code of v, a number in units of the result's scale. It clamps v to low and
// high, counted from the zero point, and rounds ties to even. For NaN it returns the least code.
int quantized(float v, float low, float high, int zero) {
    v = v > low ? v : low;
    v = v < high ? v : high;
    return int(roundEven(v)) + zero;
}

#endif

// Codes of 8 bits, which lie in words, and what becomes of integer sums. SCALE_HALF has scales
// of float16, else they are float32.
#ifndef QUANTIZED_GLSL
#define QUANTIZED_GLSL

#include "bits.glsl"

#define BYTE_OF(x, i) ((x)[(i) / 4] >> ((i) % 4 * 8) & 255u)
#define CODE_OF(x, i, is_signed) code_of(BYTE_OF(x, i), is_signed)
#define SCALE_OF(x, i, is_half) ((is_half) != 0 ? unpackHalf2x16((x)[(i) / 2])[(i) % 2] : uintBitsToFloat((x)[i]))

int code_of(uint byte_, uint is_signed) { return is_signed != 0 ? int(byte_ << 24) >> 24 : int(byte_); }

// The code of a number in steps of the result, between low and high counted from the zero
// point: halves to even, and the least for what is no number.
int quantized(float v, float low, float high, int zero) {
    v = v > low ? v : low;
    v = v < high ? v : high;
    return int(roundEven(v)) + zero;
}

#endif

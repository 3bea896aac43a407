// Elements of 1, 2, 4, 8 or 16 bits, packed in words, first in the lowest bits. KIND_UNSIGNED and
// KIND_SIGNED are integers, signed ones in two's complement. In KIND_BINARY bits 0 and 1 are -1 and
// 1.
#ifndef PACKED_GLSL
#define PACKED_GLSL

#define KIND_UNSIGNED 0
#define KIND_SIGNED 1
#define KIND_BINARY 2

#define BITS_OF(x, i, bits) ((x)[(i) / (32 / (bits))] >> (i) % (32 / (bits)) * (bits) & (1u << (bits)) - 1u)
#define PACKED_OF(x, i, bits, kind) decoded(BITS_OF(x, i, bits), bits, kind)

int decoded(uint code, uint bits, uint kind) {
    if (kind == KIND_SIGNED) return int(code << 32 - bits) >> 32 - bits;
    return kind == KIND_BINARY ? 2 * int(code) - 1 : int(code);
}

#endif

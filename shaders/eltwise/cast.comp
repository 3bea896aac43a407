// y[y_offset + i] = x[x_offset + i], converted. Integers keep their low bits. A float outside the
// range of integers becomes the nearest integer, and NaN becomes 0. All bytes but 0 are true.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "common.glsl"
#include "bits.glsl"

#if defined(IN_F16) || defined(IN_BF16) || defined(OUT_F16) || defined(OUT_BF16)
#extension GL_EXT_shader_16bit_storage : require
#endif
#if defined(IN_I8) || defined(IN_U8) || defined(IN_BOOL) || defined(OUT_I8) || defined(OUT_U8) || defined(OUT_BOOL)
#extension GL_EXT_shader_8bit_storage : require
#endif
#if defined(IN_I64) || defined(OUT_I64)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#endif

// S is the element type of x, and V the type to which READ converts an S.
#if defined(IN_F32)
#define S float
#define V float
#define FROM_FLOAT 1
#elif defined(IN_F16)
#define S float16_t
#define V float
#define FROM_FLOAT 1
#elif defined(IN_BF16)
#define S uint16_t
#define V float
#define FROM_FLOAT 1
#elif defined(IN_I32)
#define S int
#define V int
#elif defined(IN_U32)
#define S uint
#define V uint
#elif defined(IN_I64)
#define S int64_t
#define V int64_t
#elif defined(IN_I8)
#define S int8_t
#define V int
#elif defined(IN_U8) || defined(IN_BOOL)
#define S uint8_t
#define V uint
#else
#error "no type to read"
#endif

#if defined(IN_BF16)
#define READ(v) float_of_bf16(uint(v))
#elif defined(IN_BOOL)
#define READ(v) (uint(v) != 0u ? 1u : 0u)
#else
#define READ(v) V(v)
#endif

// D is the element type of y. For integers, WIDE is the type before the conversion to D, LEAST and
// MOST are the range of D, and PAST is the first float above it.
#if defined(OUT_F32)
#define D float
#elif defined(OUT_F16)
#define D float16_t
#elif defined(OUT_BF16)
#define D uint16_t
#elif defined(OUT_I32)
#define D int
#define WIDE int
#define LEAST (-2147483647 - 1)
#define MOST 2147483647
#define PAST 2147483648.0
#elif defined(OUT_U32)
#define D uint
#define WIDE uint
#define LEAST 0u
#define MOST 0xffffffffu
#define PAST 4294967296.0
#elif defined(OUT_I64)
#define D int64_t
#define WIDE int64_t
#define LEAST (-9223372036854775807l - 1l)
#define MOST 9223372036854775807l
#define PAST 9223372036854775808.0
#elif defined(OUT_I8)
#define D int8_t
#define WIDE int
#define LEAST (-128)
#define MOST 127
#define PAST 128.0
#elif defined(OUT_U8)
#define D uint8_t
#define WIDE uint
#define LEAST 0u
#define MOST 255u
#define PAST 256.0
#elif defined(OUT_BOOL)
#define D uint8_t
#else
#error "no type to write"
#endif

// R is the type before the conversion to D.
#if defined(WIDE)
#define R WIDE
#elif defined(OUT_BOOL) || defined(OUT_BF16)
#define R uint
#else
#define R float
#endif

R converted(V v) {
#if defined(OUT_BOOL) && defined(FROM_FLOAT)
    return is_zero(v) ? 0u : 1u;
#elif defined(OUT_BOOL)
    return v == V(0) ? 0u : 1u;
#elif defined(OUT_BF16)
    return bf16_bits(float(v));
#elif defined(OUT_F16)
    return rounded_f16(float(v));
#elif defined(WIDE) && defined(FROM_FLOAT)
    if (is_nan(v)) return WIDE(0);
    return v >= PAST ? MOST : v <= float(LEAST) ? LEAST : WIDE(v);
#else
    return R(v);
#endif
}

layout(set = 0, binding = 0) readonly buffer X { S x[]; };
layout(set = 0, binding = 1) writeonly buffer Y { D y[]; };
layout(push_constant) uniform Push { uint n, x_offset, y_offset; };

void main() {
    const uint i = flat_index();
    if (i < n) y[y_offset + i] = D(converted(READ(x[x_offset + i])));
}

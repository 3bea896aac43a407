// A define TYPE_<name> selects the element type:
//     T         element type of a buffer
//     C         type of computations
//     LOAD(x)   converts a T to C
//     STORE(x)  converts a C to the nearest T; integers keep their low bits
//     T4, C4, LOAD4(x), STORE4(x)  the same for vectors of four, of types of 32 and 64 bits and floats
// and defines IS_FLOAT or IS_INT, IS_SIGNED, and BITS, the bits of an element.
#ifndef TYPES_GLSL
#define TYPES_GLSL

#include "bits.glsl"

#if defined(TYPE_F32)
#define T float
#define T4 vec4
#define BITS 32
#define IS_FLOAT 1
#elif defined(TYPE_F16)
#extension GL_EXT_shader_16bit_storage : require
#define T float16_t
#define T4 f16vec4
#define BITS 16
#define IS_FLOAT 1
#elif defined(TYPE_BF16)
#extension GL_EXT_shader_16bit_storage : require
#define T uint16_t
#define T4 u16vec4
#define BITS 16
#define IS_FLOAT 1
#elif defined(TYPE_I32)
#define T int
#define T4 ivec4
#define BITS 32
#define IS_SIGNED 1
#elif defined(TYPE_U32)
#define T uint
#define T4 uvec4
#define BITS 32
#elif defined(TYPE_I64)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define T int64_t
#define T4 i64vec4
#define BITS 64
#define IS_SIGNED 1
#elif defined(TYPE_U64)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define T uint64_t
#define T4 u64vec4
#define BITS 64
#elif defined(TYPE_I16)
#extension GL_EXT_shader_16bit_storage : require
#define T int16_t
#define BITS 16
#define IS_SIGNED 1
#elif defined(TYPE_U16)
#extension GL_EXT_shader_16bit_storage : require
#define T uint16_t
#define BITS 16
#elif defined(TYPE_I8)
#extension GL_EXT_shader_8bit_storage : require
#define T int8_t
#define BITS 8
#define IS_SIGNED 1
#elif defined(TYPE_U8)
#extension GL_EXT_shader_8bit_storage : require
#define T uint8_t
#define BITS 8
#else
#error "no element type"
#endif

// For integers, U is the unsigned type as wide as C. Its sums wrap around.
#if defined(IS_FLOAT)
#define C float
#define C4 vec4
#else
#define IS_INT 1
#if BITS == 64
#define U uint64_t
#else
#define U uint
#endif
#if BITS == 64 || defined(TYPE_U32)
#define C T
#define C4 T4
#elif defined(IS_SIGNED)
#define C int
#define C4 ivec4
#else
#define C uint
#define C4 uvec4
#endif
#endif

#if defined(TYPE_BF16)
#define LOAD(x) float_of_bf16(uint(x))
#define STORE(x) uint16_t(bf16_bits(x))
#define LOAD4(x) uintBitsToFloat(uvec4(x) << 16)
#define STORE4(v) u16vec4(uvec4(bf16_bits((v).x), bf16_bits((v).y), bf16_bits((v).z), bf16_bits((v).w)))
#elif defined(TYPE_F16)
#define LOAD(x) float(x)
#define STORE(x) float16_t(rounded_f16(x))
#define LOAD4(x) vec4(x)
#define STORE4(v) f16vec4(vec4(rounded_f16((v).x), rounded_f16((v).y), rounded_f16((v).z), rounded_f16((v).w)))
#else
#define LOAD(x) C(x)
#define STORE(x) T(x)
#define LOAD4(x) C4(x)
#define STORE4(x) T4(x)
#endif

#endif

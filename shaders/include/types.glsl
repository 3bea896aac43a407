// A define TYPE_<name> selects the element type:
//     T         element type of a buffer
//     C         type of computations
//     LOAD(x)   converts a T to C
//     STORE(x)  converts a C to the nearest T; integers keep their low bits
// and defines IS_FLOAT or IS_INT, IS_SIGNED, and BITS, the bits of an element.
#ifndef TYPES_GLSL
#define TYPES_GLSL

#include "bits.glsl"

#if defined(TYPE_F32)
#define T float
#define BITS 32
#define IS_FLOAT 1
#elif defined(TYPE_F16)
#extension GL_EXT_shader_16bit_storage : require
#define T float16_t
#define BITS 16
#define IS_FLOAT 1
#elif defined(TYPE_BF16)
#extension GL_EXT_shader_16bit_storage : require
#define T uint16_t
#define BITS 16
#define IS_FLOAT 1
#elif defined(TYPE_I32)
#define T int
#define BITS 32
#define IS_SIGNED 1
#elif defined(TYPE_U32)
#define T uint
#define BITS 32
#elif defined(TYPE_I64)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define T int64_t
#define BITS 64
#define IS_SIGNED 1
#elif defined(TYPE_U64)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define T uint64_t
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
#else
#define IS_INT 1
#if BITS == 64
#define U uint64_t
#else
#define U uint
#endif
#if BITS == 64 || defined(TYPE_U32)
#define C T
#elif defined(IS_SIGNED)
#define C int
#else
#define C uint
#endif
#endif

#if defined(TYPE_BF16)
#define LOAD(x) float_of_bf16(uint(x))
#define STORE(x) uint16_t(bf16_bits(x))
#elif defined(TYPE_F16)
#define LOAD(x) float(x)
#define STORE(x) float16_t(rounded_f16(x))
#else
#define LOAD(x) C(x)
#define STORE(x) T(x)
#endif

#endif

// Elements of the right operand of products: those of types.glsl, or of 16 bits with RIGHT_F16 or
// RIGHT_BF16. TB, TB4, LOAD_B and LOAD_B4 are as T, T4, LOAD and LOAD4, and B_BYTES is the bytes of one.
#ifndef RIGHT_GLSL
#define RIGHT_GLSL

#if defined(RIGHT_F16)
#extension GL_EXT_shader_16bit_storage : require
#define TB float16_t
#define TB4 f16vec4
#define LOAD_B(x) float(x)
#define LOAD_B4(x) vec4(x)
#define B_BYTES 2
#elif defined(RIGHT_BF16)
#extension GL_EXT_shader_16bit_storage : require
#define TB uint16_t
#define TB4 u16vec4
#define LOAD_B(x) float_of_bf16(uint(x))
#define LOAD_B4(x) uintBitsToFloat(uvec4(x) << 16)
#define B_BYTES 2
#else
#define TB T
#define TB4 T4
#define LOAD_B(x) LOAD(x)
#define LOAD_B4(x) LOAD4(x)
#define B_BYTES (BITS / 8)
#endif

#endif

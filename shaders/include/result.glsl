// R is the element type of results, and RESULT(x) the nearest R to a C. RESULT_F32, RESULT_F16 or
// RESULT_BF16 selects a float type; otherwise R is T. Include types.glsl first.
#ifndef RESULT_GLSL
#define RESULT_GLSL

#if defined(RESULT_F32)
#define R float
#define RESULT(x) (x)
#elif defined(RESULT_F16)
#extension GL_EXT_shader_16bit_storage : require
#define R float16_t
#define RESULT(x) float16_t(rounded_f16(x))
#elif defined(RESULT_BF16)
#extension GL_EXT_shader_16bit_storage : require
#define R uint16_t
#define RESULT(x) uint16_t(bf16_bits(x))
#else
#define R T
#define RESULT(x) STORE(x)
#endif

#endif

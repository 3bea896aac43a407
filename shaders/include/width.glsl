// E holds the bits of an element of WIDTH bytes.
#ifndef WIDTH_GLSL
#define WIDTH_GLSL

#if WIDTH == 1
#extension GL_EXT_shader_8bit_storage : require
#define E uint8_t
#elif WIDTH == 2
#extension GL_EXT_shader_16bit_storage : require
#define E uint16_t
#elif WIDTH == 4
#define E uint
#elif WIDTH == 8
#define E uvec2
#else
#error "no width"
#endif

#endif

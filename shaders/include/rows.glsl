// Rows of products, operand 0: float32 with FLOAT_ROWS, otherwise elements of types.glsl. LOAD_A and
// LOAD_A4 convert elements, and words of four, to floats.
#ifndef ROWS_GLSL
#define ROWS_GLSL

#if defined(FLOAT_ROWS)
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 0) readonly buffer AWords { vec4 a_words[]; };
#define LOAD_A(x) (x)
#define LOAD_A4(x) (x)
#else
layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 0) readonly buffer AWords { T4 a_words[]; };
#define LOAD_A(x) LOAD(x)
#define LOAD_A4(x) LOAD4(x)
#endif

#endif

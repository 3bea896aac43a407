// Rows of products, operand 0. Include it after types.glsl.
#ifndef ROWS_GLSL
#define ROWS_GLSL

layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 0) readonly buffer AWords { T4 a_words[]; };

#endif

// Weights [n,k] of 16 bits, as RIGHT_F16 or RIGHT_BF16 says. k is a multiple of 8.
#ifndef WIDE_GLSL
#define WIDE_GLSL

#define RUN 8
#include "run.glsl"

layout(std430, binding = 1) readonly buffer Wide { uvec4 wide[]; };

Run run_at(uint col, uint d, uint k) { return Run(wide[(col * k + d) / 8], vec2(0.0)); }

#define CODES_OF(r, w) uvec2((r).codes[2 * (w)], (r).codes[2 * (w) + 1])
#ifdef RIGHT_F16
vec4 decoded(uvec2 codes, vec2 by) { return vec4(unpackHalf2x16(codes.x), unpackHalf2x16(codes.y)); }
#else
#define RIGHT_EXACT
vec4 decoded(uvec2 codes, vec2 by) { return uintBitsToFloat(uvec4(codes.x << 16, codes.x, codes.y << 16, codes.y) & 0xffff0000u); }
#endif

#endif

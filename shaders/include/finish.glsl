// What ends a product. FUNCTION is a constant of the shader, a function of unary.glsl or 0. Modules
// with ANY_FUNCTION have all of them in EPILOGUE. Others have none, relu and clip, in `finished`:
// a few instructions, so that loops over sums unroll.
#ifndef FINISH_GLSL
#define FINISH_GLSL

#ifdef ANY_FUNCTION
#include "epilogue.glsl"
#elif defined(IS_FLOAT)
#include "unary.glsl"
#define SCALED(v, by) ((v) * (by))

vec4 finished(vec4 v, float p, float q) {
    if (FUNCTION == 0) return v;
    float low = FUNCTION == F_relu ? 0.0 : p;
    bvec4 nan = greaterThan(floatBitsToUint(v) & 0x7fffffffu, uvec4(0x7f800000u));
    vec4 r = mix(v, vec4(low), lessThan(v, vec4(low)));
    if (FUNCTION == F_clip) r = mix(r, vec4(q), greaterThan(r, vec4(q)));
    return mix(r, v, nan);
}
#else
#define SCALED(v, by) (v)
#define finished(v, p, q) (v)
#endif

#endif

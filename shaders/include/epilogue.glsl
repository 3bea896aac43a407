// EPILOGUE applies function f of unary.glsl to a result, or none if f is 0. SCALED multiplies by a
// factor. Integers have neither.
#ifndef EPILOGUE_GLSL
#define EPILOGUE_GLSL

#ifdef IS_FLOAT
#include "unary_float.glsl"
#define SCALED(v, by) ((v) * (by))
#define EPILOGUE(v, f, p, q) ((f) == 0 ? (v) : unary(f, v, p, q))
#else
#define SCALED(v, by) (v)
#define EPILOGUE(v, f, p, q) (v)
#endif

#endif

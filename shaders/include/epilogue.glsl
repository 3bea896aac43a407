// What follows sums: a factor, and a function by its number of unary.glsl, 0 for none.
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

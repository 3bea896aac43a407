// Compiles NACRE_BODY for NACRE_LEVEL. core/vec.h lists the names that a body may use.
#ifndef NACRE_CORE_LEVEL_H
#define NACRE_CORE_LEVEL_H

#define NACRE_LEVEL_JOIN(a, b) NACRE_LEVEL_JOIN_(a, b)
#define NACRE_LEVEL_JOIN_(a, b) a##b
#define NACRE_LEVEL_STATIC(body, name, level) NACRE_LEVEL_STATIC_(body, name, level)
#define NACRE_LEVEL_STATIC_(body, name, level) body##_##name##__##level
#define NACRE_LEVEL_SYMBOL(name, level) NACRE_LEVEL_SYMBOL_(name, level)
#define NACRE_LEVEL_SYMBOL_(name, level) nacre_##name##__##level
#define NACRE_LEVEL_VECTOR(name, level) NACRE_LEVEL_VECTOR_(name, level)
#define NACRE_LEVEL_VECTOR_(name, level) nacre_##level##_##name
#define NACRE_LEVEL_TEXT(x) NACRE_LEVEL_TEXT_(x)
#define NACRE_LEVEL_TEXT_(x) #x
#define NACRE_LEVEL_HEADER NACRE_LEVEL_TEXT(core/NACRE_LEVEL_JOIN(vec_, NACRE_LEVEL).h)

#endif

#include NACRE_LEVEL_HEADER

#define F NACRE_LEVEL_VECTOR(f, NACRE_LEVEL)
#define LANES_N NACRE_LEVEL_JOIN(NACRE_LANES_, NACRE_LEVEL)
#define LANES ((size_t)LANES_N)
#define V(name) NACRE_LEVEL_VECTOR(name, NACRE_LEVEL)
#define K(name) NACRE_LEVEL_STATIC(NACRE_NAME, name, NACRE_LEVEL)
#define KERNEL(name) NACRE_LEVEL_SYMBOL(name, NACRE_LEVEL)

NACRE_LEVEL_JOIN(NACRE_BEGIN_, NACRE_LEVEL)
#include NACRE_BODY
NACRE_LEVEL_JOIN(NACRE_END_, NACRE_LEVEL)

#undef F
#undef LANES_N
#undef LANES
#undef V
#undef K
#undef KERNEL

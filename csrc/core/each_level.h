// Compiles a body for each level of core/levels.h. Before it includes this header, a file defines
//     NACRE_BODY  the body's file, in quotes
//     NACRE_NAME  a prefix for the body's static names
// The header undefines both, so a file may include it for many bodies. Include outside any target
// region.
#include "core/levels.h"
#include "core/simd.h"

#ifndef NACRE_CORE_EACH_LEVEL_H
#define NACRE_CORE_EACH_LEVEL_H

#define NACRE_LEVEL_ONE(level, ...) +1
#define NACRE_LEVEL_COMMA(level, ...) level,
#define NACRE_LEVEL_COUNT (0 NACRE_LEVELS(NACRE_LEVEL_ONE, ))
#define NACRE_LEVEL_FIRST(...) NACRE_LEVEL_FIRST_(__VA_ARGS__)
#define NACRE_LEVEL_FIRST_(a, ...) a
#define NACRE_LEVEL_SECOND(...) NACRE_LEVEL_SECOND_(__VA_ARGS__)
#define NACRE_LEVEL_SECOND_(a, b, ...) b
#define NACRE_LEVEL_THIRD(...) NACRE_LEVEL_THIRD_(__VA_ARGS__)
#define NACRE_LEVEL_THIRD_(a, b, c, ...) c
#define NACRE_LEVEL_FOURTH(...) NACRE_LEVEL_FOURTH_(__VA_ARGS__)
#define NACRE_LEVEL_FOURTH_(a, b, c, d, ...) d

#if NACRE_LEVEL_COUNT > 4
#error "a processor with more than four levels needs more lines below"
#endif

#endif

#if NACRE_LEVEL_COUNT > 0
#define NACRE_LEVEL NACRE_LEVEL_FIRST(NACRE_LEVELS(NACRE_LEVEL_COMMA, ))
#include "core/level.h"
#undef NACRE_LEVEL
#endif
#if NACRE_LEVEL_COUNT > 1
#define NACRE_LEVEL NACRE_LEVEL_SECOND(NACRE_LEVELS(NACRE_LEVEL_COMMA, ))
#include "core/level.h"
#undef NACRE_LEVEL
#endif
#if NACRE_LEVEL_COUNT > 2
#define NACRE_LEVEL NACRE_LEVEL_THIRD(NACRE_LEVELS(NACRE_LEVEL_COMMA, ))
#include "core/level.h"
#undef NACRE_LEVEL
#endif
#if NACRE_LEVEL_COUNT > 3
#define NACRE_LEVEL NACRE_LEVEL_FOURTH(NACRE_LEVELS(NACRE_LEVEL_COMMA, ))
#include "core/level.h"
#undef NACRE_LEVEL
#endif

#undef NACRE_BODY
#undef NACRE_NAME

// Integers of 32 or 64 bits, read as words: INT_WORDS each. Those of 64 bits that do not fit
// in 32 become the nearest that do.
#ifndef INTS_GLSL
#define INTS_GLSL

#define INT_OF(x, i, words) ((words) == 2 ? narrowed(x[2 * (i)], x[2 * (i) + 1]) : x[i])

int narrowed(int low, int high) {
    if (high == low >> 31) return low;
    return high < 0 ? int(0x80000000u) : 0x7fffffff;
}

#endif

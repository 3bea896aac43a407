// INT_OF reads integer i of x, of one word or two. Integers of 64 bits saturate at the range of 32.
#ifndef INTS_GLSL
#define INTS_GLSL

#define INT_OF(x, i, words) ((words) == 2 ? narrowed(x[2 * (i)], x[2 * (i) + 1]) : x[i])

int narrowed(int low, int high) {
    if (high == low >> 31) return low;
    return high < 0 ? int(0x80000000u) : 0x7fffffff;
}

#endif

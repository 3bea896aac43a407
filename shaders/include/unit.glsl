// unit returns a number of 53 random bits divided by 2^53.
#ifndef UNIT_GLSL
#define UNIT_GLSL

double unit(uvec2 bits) { return (double(bits.x) * 4294967296.0lf + double(bits.y)) / 9007199254740992.0lf; }

#endif

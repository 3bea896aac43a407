// pass is a pass of a Fourier transform of lanes of n points (T. G. Stockham, 1966), over factor
// RADIX of n. done is the product of the factors of earlier passes. There are done groups of RADIX
// runs of m points. A group is transformed across its runs. Point i of output q is multiplied by
// root(i q done) and becomes point i of group q done + group. An invocation computes a point of
// each run. table has the cosines and sines of multiples of a turn over n.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(constant_id = 1) const uint RADIX = 2;

layout(std430, binding = 0) readonly buffer X { vec2 x[]; };
layout(std430, binding = 1) readonly buffer Table { vec2 table[]; };
layout(std430, binding = 2) writeonly buffer Y { vec2 y[]; };

layout(push_constant) uniform Words { uint total, n, done; };

vec2 root(uint k) { return vec2(table[k].x, -table[k].y); }

vec2 product(vec2 a, vec2 b) {
    precise vec2 p = vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
    return p;
}

// mix_of returns a + s b + t c.
vec2 mix_of(vec2 a, vec2 b, vec2 c, float s, float t) {
    precise vec2 v = (a + s * b) + t * c;
    return v;
}

// turn_of returns i (s b + t c).
vec2 turn_of(vec2 b, vec2 c, float s, float t) {
    precise vec2 v = s * b + t * c;
    return vec2(-v.y, v.x);
}

void main() {
    uint t = flat_index();
    if (t >= total) return;
    uint each = n / RADIX, m = each / done, lane = t / each, group = t % each / m, i = t % m;
    uint from = lane * n + RADIX * group * m + i, to = lane * n + group * m + i, step = done * m, w = i * done;
    precise vec2 a = x[from], b = x[from + m];
    if (RADIX == 2) {
        y[to] = a + b;
        y[to + step] = product(a - b, root(w));
        return;
    }
    precise vec2 c = x[from + 2 * m];
    if (RADIX == 3) {
        for (uint q = 0; q < 3; q++) {
            precise vec2 sum = a + product(b, root(q * each));
            sum = sum + product(c, root(2 * q % 3 * each));
            y[to + q * step] = product(sum, root(q * w));
        }
        return;
    }
    precise vec2 d = x[from + 3 * m];
    if (RADIX == 4) {
        precise vec2 sum = a + c, less = a - c, other = b + d, turned = (b - d).yx;
        turned.y = -turned.y;
        y[to] = sum + other;
        y[to + step] = product(less + turned, root(w));
        y[to + 2 * step] = product(sum - other, root(2 * w));
        y[to + 3 * step] = product(less - turned, root(3 * w));
        return;
    }
    precise vec2 e = x[from + 4 * m], be = b + e, cd = c + d, eb = b - e, dc = c - d;
    vec2 u = root(each), v = root(2 * each);
    precise vec2 all = (a + be) + cd, even = mix_of(a, be, cd, u.x, v.x), odd = turn_of(eb, dc, u.y, v.y);
    y[to] = all;
    y[to + step] = product(even + odd, root(w));
    y[to + 4 * step] = product(even - odd, root(4 * w));
    even = mix_of(a, be, cd, v.x, u.x);
    odd = turn_of(eb, dc, v.y, -u.y);
    y[to + 2 * step] = product(even + odd, root(2 * w));
    y[to + 3 * step] = product(even - odd, root(3 * w));
}

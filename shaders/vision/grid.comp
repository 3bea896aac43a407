// grid reads images [batch,channels,...] at the positions of a grid [batch,...,axes], an element of
// the result per invocation. Positions are from -1 to 1, innermost axis first. With GRID_F32 they
// are float32. MODE 0 is the nearest pixel, 1 linear and 2 cubic interpolation. PADDING 0 is zeros,
// 1 the border, 2 reflection. If CORNERS is set, -1 and 1 are the centres of the outermost pixels.
// Cubic taps surround a position beyond the border too.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "power.glsl"

layout(constant_id = 1) const uint AXES = 2;
layout(constant_id = 2) const uint MODE = 1;
layout(constant_id = 3) const uint PADDING = 0;
layout(constant_id = 4) const uint CORNERS = 0;

layout(std430, binding = 0) readonly buffer X { T x[]; };
#ifdef GRID_F32
layout(std430, binding = 1) readonly buffer Grid { float grid[]; };
#define PLACE(x) (x)
#else
layout(std430, binding = 1) readonly buffer Grid { T grid[]; };
#define PLACE(x) LOAD(x)
#endif
layout(std430, binding = 2) writeonly buffer Y { T y[]; };

layout(push_constant) uniform Words {
    uint total, channels, places, space;
    int extent[3];
};

const uint MOST = 3;  // axes
const uint TAPS = 4;  // taps of an axis

int at[MOST][TAPS];
float part[MOST][TAPS];

float mirrored(float v, float lo, float hi) {
    float span = hi - lo;
    if (span <= 0.0) return lo;
    v = m_fmod(abs(v - lo), 2.0 * span);
    if (v > span) v = 2.0 * span - v;
    return lo + v;
}

void tap(uint a, uint k, int i, int n, float lo, float hi, float w) {
    if (i < 0 || i >= n) {
        if (PADDING == 0) {
            w = 0.0;
            i = 0;
        } else if (PADDING == 1) {
            i = clamp(i, 0, n - 1);
        } else {
            i = clamp(int(mirrored(float(i), lo, hi)), 0, n - 1);
        }
    }
    at[a][k] = i;
    part[a][k] = w;
}

float cubic_far(float t) { return ((-0.75 * t + 3.75) * t - 6.0) * t + 3.0; }
float cubic_near(float t) { return (1.25 * t - 2.25) * t * t + 1.0; }

// taps computes the taps of a position along axis a.
void taps(uint a, float place, int n) {
    float lo = CORNERS != 0 ? 0.0 : -0.5, hi = CORNERS != 0 ? float(n - 1) : float(n) - 0.5;
    precise float v = CORNERS != 0 ? (place + 1.0) / 2.0 * float(n - 1) : ((place + 1.0) * float(n) - 1.0) / 2.0;
    if (MODE == 0) v = m_round(v);
    if (v < lo || v > hi) {
        float far = MODE == 2 ? 2.0 : 0.0;
        if (PADDING == 1) v = min(max(v, -far), float(n - 1) + far);
        if (PADDING == 2) v = is_inf(v) ? NAN : mirrored(v, lo, hi);
    }
    if (is_nan(v) || v < -8.0 || v > float(n) + 8.0) v = -8.0;
    float whole = floor(v), t = v - whole;
    int first = int(whole);
    if (MODE == 0) {
        tap(a, 0, first, n, lo, hi, 1.0);
    } else if (MODE == 1) {
        tap(a, 0, first, n, lo, hi, 1.0 - t);
        tap(a, 1, first + 1, n, lo, hi, t);
    } else {
        tap(a, 0, first - 1, n, lo, hi, cubic_far(t + 1.0));
        tap(a, 1, first, n, lo, hi, cubic_near(t));
        tap(a, 2, first + 1, n, lo, hi, cubic_near(1.0 - t));
        tap(a, 3, first + 2, n, lo, hi, cubic_far(2.0 - t));
    }
}

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint p = i % places, plane = i / places, b = plane / channels;
    const uint count = MODE == 0 ? 1 : MODE == 1 ? 2 : 4;
    uint all_ = 1;
    for (uint a = 0; a < AXES; a++) {
        taps(a, PLACE(grid[(b * places + p) * AXES + AXES - 1 - a]), extent[MOST - AXES + a]);
        all_ *= count;
    }
    float sum = 0.0;
    for (uint k = 0; k < all_; k++) {
        uint rest = k, pixel = 0, step = 1;
        float w = 1.0;
        for (int a = int(AXES) - 1; a >= 0; a--) {
            uint t = rest % count;
            rest /= count;
            pixel += uint(at[a][t]) * step;
            step *= uint(extent[MOST - AXES + uint(a)]);
            w *= part[a][t];
        }
        if (PADDING != 0 || w != 0.0) sum += w * LOAD(x[plane * space + pixel]);
    }
    y[i] = STORE(sum);
}

// regions samples regions [count,4] of images [batch,channels,height,width] between pixels and
// pools the samples in bins, an element [count,channels,bins high,bins wide] per invocation. The
// result is the mean of samples, or, if LARGEST is set, the largest term of a sample. If an image
// does not exist or a bin has too many samples, fault is set to the complement of the region.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "ints.glsl"

layout(constant_id = 1) const uint LARGEST = 0;
layout(constant_id = 2) const uint INDEX_WORDS = 2;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Regions { T regions[]; };
layout(std430, binding = 2) readonly buffer Image { int image[]; };
layout(std430, binding = 3) writeonly buffer Y { T y[]; };
layout(std430, binding = 4) buffer Fault { uint fault; };

layout(push_constant) uniform Words {
    uint total, batch, channels, height, width;
    uint high, wide; // bins
    uint ratio;
    float scale, offset;
};

const float MOST = 4096.0; // samples of a bin along an axis

// Axis is the first sample of a bin along an axis, the step between samples, and their number.
struct Axis {
    float first, step;
    uint count;
};

Axis axis_of(float from, float to, uint bins, uint bin, out bool fits) {
    precise float start = from * scale - offset, end = to * scale - offset;
    precise float extent = end - start;
    if (offset == 0.0) extent = max(extent, 1.0);
    precise float size = extent / float(bins);
    float count = ratio == 0 ? ceil(size) : float(ratio);
    fits = count <= MOST;
    Axis a;
    a.count = fits ? uint(max(count, 0.0)) : 0;
    a.step = size / float(a.count);
    a.first = start + size * float(bin) + a.step * 0.5;
    return a;
}

// between finds the pixels on both sides of v, and the weight of the second. Outside the image it
// reports false.
bool between(float v, uint n, out uint lo, out uint hi, out float part) {
    lo = hi = 0;
    part = 0.0;
    if (!(v >= -1.0 && v <= float(n))) return false;
    v = max(v, 0.0);
    lo = uint(v);
    if (lo >= n - 1) {
        lo = hi = n - 1;
        return true;
    }
    part = v - float(lo);
    hi = lo + 1;
    return true;
}

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint bx = i % wide, by = i / wide % high, c = i / wide / high % channels, r = i / wide / high / channels;
    int b = INT_OF(image, int(r), INDEX_WORDS);
    bool fits_y, fits_x;
    Axis ay = axis_of(LOAD(regions[4 * r + 1]), LOAD(regions[4 * r + 3]), high, by, fits_y);
    Axis ax = axis_of(LOAD(regions[4 * r]), LOAD(regions[4 * r + 2]), wide, bx, fits_x);
    if (b < 0 || b >= int(batch) || !fits_y || !fits_x) {
        atomicMax(fault, ~r);
        return;
    }
    uint plane = (uint(b) * channels + c) * height * width;
    float sum = 0.0, top = -INFINITY;
    for (uint k = 0; k < ay.count; k++) {
        uint y0, y1;
        float v;
        float hy = between(ay.first + float(k) * ay.step, height, y0, y1, v) ? 1.0 : 0.0;
        for (uint j = 0; j < ax.count; j++) {
            uint x0, x1;
            float u;
            float all_ = hy * (between(ax.first + float(j) * ax.step, width, x0, x1, u) ? 1.0 : 0.0);
            float p = all_ * (1.0 - v) * (1.0 - u) * LOAD(x[plane + y0 * width + x0]);
            float q = all_ * (1.0 - v) * u * LOAD(x[plane + y0 * width + x1]);
            float s = all_ * v * (1.0 - u) * LOAD(x[plane + y1 * width + x0]);
            float t = all_ * v * u * LOAD(x[plane + y1 * width + x1]);
            sum += p + q + s + t;
            top = max_nan(top, max_nan(max_nan(p, q), max_nan(s, t)));
        }
    }
    uint count = ay.count * ax.count;
    y[i] = STORE(count == 0 ? 0.0 : LARGEST != 0 ? top : sum / float(count));
}

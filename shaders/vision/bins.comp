// bins finds the largest pixel of each bin of regions [count,5] of images
// [batch,channels,height,width], an element [count,channels,bins high,bins wide] per invocation.
// Bins are in whole pixels. An empty bin gives 0. If an image does not exist or a region is far
// outside, fault is set to the complement of the region.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Regions { T regions[]; };
layout(std430, binding = 2) writeonly buffer Y { T y[]; };
layout(std430, binding = 3) buffer Fault { uint fault; };

layout(push_constant) uniform Words {
    uint total, batch, channels, height, width;
    uint high, wide; // bins
    float scale;
};

const float FAR = 16777216.0;

// rounded rounds halves away from 0.
float rounded(float v) { return v < 0.0 ? -floor(-v + 0.5) : floor(v + 0.5); }

bool bounds(float from, float to, uint bins, uint bin, uint n, out uint lo, out uint hi) {
    float start = rounded(from * scale), end = rounded(to * scale);
    precise float size = max(end - start + 1.0, 1.0) / float(bins);
    lo = uint(clamp(floor(float(bin) * size) + start, 0.0, float(n)));
    hi = uint(clamp(ceil(float(bin + 1) * size) + start, 0.0, float(n)));
    return abs(start) < FAR && abs(end) < FAR;
}

void main() {
    uint i = flat_index();
    if (i >= total) return;
    uint bx = i % wide, by = i / wide % high, c = i / wide / high % channels, r = i / wide / high / channels;
    float b = LOAD(regions[5 * r]);
    uint y0, y1, x0, x1;
    bool fits = bounds(LOAD(regions[5 * r + 2]), LOAD(regions[5 * r + 4]), high, by, height, y0, y1);
    fits = bounds(LOAD(regions[5 * r + 1]), LOAD(regions[5 * r + 3]), wide, bx, width, x0, x1) && fits;
    if (!fits || !(b >= 0.0 && b < float(batch))) {
        atomicMax(fault, ~r);
        return;
    }
    uint plane = (uint(b) * channels + c) * height * width;
    float top = y0 < y1 && x0 < x1 ? -INFINITY : 0.0;
    for (uint v = y0; v < y1; v++) {
        for (uint u = x0; u < x1; u++) top = max_nan(top, LOAD(x[plane + v * width + u]));
    }
    y[i] = STORE(top);
}

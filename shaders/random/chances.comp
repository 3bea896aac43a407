// chances writes running sums of exp(x - greatest x) along rows in float64, a row per workgroup. An
// invocation sums a piece of the row, and then continues from the sums of earlier pieces. If the
// greatest element is NaN or infinite, fault is set to the complement of the row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) writeonly buffer Sums { double sums[]; };
layout(std430, binding = 2) buffer Fault { uint fault; };

layout(push_constant) uniform Words { uint rows, n; };

shared float most[gl_WorkGroupSize.x];
shared double part[gl_WorkGroupSize.x];

// exponential returns exp(x) for x <= 0. It is a series for exp(r), with x = k ln 2 + r.
double exponential(double x) {
    if (x < -708.0lf) return 0.0lf;
    precise double k = floor(x * 1.4426950408889634074lf + 0.5lf);
    precise double r = (x - k * 0.693147180369123816490lf) - k * 1.90821492927058770002e-10lf, sum = 0.0lf;
    for (int i = 14; i > 0; i--) sum = (sum + 1.0lf) * r / double(i);
    return (sum + 1.0lf) * packDouble2x32(uvec2(0, uint(int(k) + 1023) << 20));
}

void main() {
    uint row = flat_group(), id = gl_LocalInvocationID.x, size = gl_WorkGroupSize.x, at = row * n;
    if (row >= rows) return;
    uint piece = (n + size - 1) / size, first = min(id * piece, n), end = min(first + piece, n);
    float top = -INFINITY;
    for (uint i = first; i < end; i++) top = max_nan(top, LOAD(x[at + i]));
    most[id] = top;
    barrier();
    for (uint step = size / 2; step > 0; step /= 2) {
        if (id < step) most[id] = max_nan(most[id], most[id + step]);
        barrier();
    }
    top = most[0];
    if (is_nan(top) || is_inf(top)) {
        if (id == 0) atomicMax(fault, ~row);
        return;
    }
    precise double sum = 0.0lf;
    for (uint i = first; i < end; i++) {
        float v = LOAD(x[at + i]);
        if (!is_inf(v)) sum += exponential(double(v) - double(top));
    }
    part[id] = sum;
    barrier();
    for (uint step = 1; step < size; step *= 2) {
        double before = id < step ? 0.0lf : part[id - step];
        barrier();
        part[id] += before;
        barrier();
    }
    sum = id > 0 ? part[id - 1] : 0.0lf;
    for (uint i = first; i < end; i++) {
        float v = LOAD(x[at + i]);
        if (!is_inf(v)) sum += exponential(double(v) - double(top));
        sums[at + i] = sum;
    }
}

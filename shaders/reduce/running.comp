#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"

// running computes running sums or products along an axis of a value with rank axes. The axis is a
// push constant, or an integer of AXIS_WORDS words; a negative axis counts from the end. If the
// axis does not exist, fault is set to its complement. A workgroup has a lane, and an invocation a
// piece of the lane. It combines its piece, and then continues from the earlier pieces.

layout(constant_id = 1) const uint PRODUCT = 0;
layout(constant_id = 2) const uint EXCLUSIVE = 0;
layout(constant_id = 3) const uint REVERSE = 0;
layout(constant_id = 4) const uint AXIS_WORDS = 0;

layout(std430, binding = 0) readonly buffer X { T x[]; };
layout(std430, binding = 1) readonly buffer Axis { int given[]; };
layout(std430, binding = 2) writeonly buffer Y { T y[]; };
layout(std430, binding = 3) buffer Fault { uint fault; };

layout(push_constant) uniform Words { uint total; int axis, rank; uint extent[8]; };

const C neutral = PRODUCT != 0 ? C(1) : C(0);

shared C part[gl_WorkGroupSize.x];

C joined(C a, C b) { return PRODUCT != 0 ? a * b : a + b; }

// place_of_axis returns the axis counted from the front. If there is none, it sets fault and
// returns -1.
int place_of_axis() {
    if (AXIS_WORDS == 0) return axis;
    int a = given[0];
    bool wide = AXIS_WORDS == 2 && given[1] != a >> 31;
    if (!wide && a >= -rank && a < rank) return a < 0 ? a + rank : a;
    atomicMax(fault, wide ? 0x80000000u : ~uint(a));
    return -1;
}

void main() {
    int along = place_of_axis();
    if (along < 0) return;
    uint n = extent[along], inner = 1;
    for (int i = along + 1; i < rank; i++) inner *= extent[i];
    uint lane = flat_group();
    if (lane >= total / n) return;
    uint id = gl_LocalInvocationID.x, size = gl_WorkGroupSize.x;
    uint piece = (n + size - 1) / size, first = min(id * piece, n), end = min(first + piece, n);
    uint at = lane / inner * n * inner + lane % inner;
    C sum = neutral;
    for (uint i = first; i < end; i++) sum = joined(sum, LOAD(x[at + (REVERSE != 0 ? n - 1 - i : i) * inner]));
    part[id] = sum;
    barrier();
    for (uint step = 1; step < size; step *= 2) {
        C before = id < step ? neutral : part[id - step];
        barrier();
        part[id] = joined(before, part[id]);
        barrier();
    }
    sum = id > 0 ? part[id - 1] : neutral;
    for (uint i = first; i < end; i++) {
        uint to = at + (REVERSE != 0 ? n - 1 - i : i) * inner;
        C all = joined(sum, LOAD(x[to]));
        y[to] = STORE(EXCLUSIVE != 0 ? sum : all);
        sum = all;
    }
}

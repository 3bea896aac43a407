// Sums and maxima over a workgroup of at least FEW invocations, in a fixed order and with two
// barriers. All invocations call a function together, and get its result.
#ifndef TOTAL_GLSL
#define TOTAL_GLSL

const uint FEW = 16;
shared float part[gl_WorkGroupSize.x];
shared float few[FEW];

float total(float v) {
    uint id = gl_LocalInvocationID.x;
    part[id] = v;
    barrier();
    if (id < FEW) {
        for (uint i = id + FEW; i < gl_WorkGroupSize.x; i += FEW) v += part[i];
        few[id] = v;
    }
    barrier();
    v = 0.0;
    for (uint i = 0; i < FEW; i++) v += few[i];
    return v;
}

// greatest returns NaN if an invocation has one.
float greatest(float v) {
    uint id = gl_LocalInvocationID.x;
    part[id] = v;
    barrier();
    if (id < FEW) {
        for (uint i = id + FEW; i < gl_WorkGroupSize.x; i += FEW) v = max_nan(v, part[i]);
        few[id] = v;
    }
    barrier();
    v = few[0];
    for (uint i = 1; i < FEW; i++) v = max_nan(v, few[i]);
    return v;
}

#endif

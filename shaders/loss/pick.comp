// pick writes the weighted, negated logarithm of each sample's class in [outer,classes,inner], and
// the weight, a sample per invocation. Samples of the ignored class write 0. If any other class is
// out of range, fault is set to the complement of the sample.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "types.glsl"
#include "ints.glsl"

layout(constant_id = 1) const uint WEIGHTED = 0;
layout(constant_id = 2) const uint IGNORES = 0;
layout(constant_id = 3) const uint INDEX_WORDS = 2;

layout(std430, binding = 0) readonly buffer Logs { T logs[]; };
layout(std430, binding = 1) readonly buffer Classes { int classes[]; };
layout(std430, binding = 2) readonly buffer Weights { T weights[]; };
layout(std430, binding = 3) writeonly buffer Terms { float terms[]; };
layout(std430, binding = 4) writeonly buffer Parts { float parts[]; };
layout(std430, binding = 5) buffer Fault { uint fault; };

layout(push_constant) uniform Words {
    uint total;
    int n;
    uint inner;
    int ignored;
};

void main() {
    uint i = flat_index();
    if (i >= total) return;
    int class_ = INT_OF(classes, int(i), INDEX_WORDS);
    terms[i] = parts[i] = 0.0;
    if (IGNORES != 0 && class_ == ignored) return;
    if (class_ < 0 || class_ >= n) {
        atomicMax(fault, ~i);
        return;
    }
    float weight = WEIGHTED != 0 ? LOAD(weights[class_]) : 1.0;
    terms[i] = -weight * LOAD(logs[(i / inner * uint(n) + uint(class_)) * inner + i % inner]);
    parts[i] = weight;
}

// matrix computes eight chains of products of matrices in each subgroup, LOOPS steps long, to
// measure the rate of cooperative matrices. A subgroup writes the sum of its chains to a matrix of
// y.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "matrix_types.glsl"

layout(constant_id = 5) const uint LOOPS = 1;

layout(std430, binding = 0) writeonly buffer Y { SUM y[]; };

layout(push_constant) uniform Words { uint left, right; };

const uint CHAINS = 8;

void main() {
    LEFT_MATRIX a = LEFT_MATRIX(ELEMENT(SUM(left)));
    RIGHT_MATRIX b = RIGHT_MATRIX(ELEMENT(SUM(right)));
    SUM_MATRIX sums[CHAINS];
    [[unroll]] for (uint i = 0; i < CHAINS; i++) sums[i] = SUM_MATRIX(SUM(i));
    for (uint k = 0; k < LOOPS; k++) {
        [[unroll]] for (uint i = 0; i < CHAINS; i++) sums[i] = coopMatMulAdd(a, b, sums[i]);
    }
    [[unroll]] for (uint i = 1; i < CHAINS; i++) sums[0] += sums[i];
    uint at = gl_WorkGroupID.x * (gl_WorkGroupSize.x / SUBGROUP) + gl_SubgroupID;
    coopMatStore(sums[0], y, at * MATRIX_M * MATRIX_N, MATRIX_N, gl_CooperativeMatrixLayoutRowMajor);
}

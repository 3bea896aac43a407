// Operands of products of matrices [m,k] and [k,n]: y = F(alpha * a b + beta * c). z of the grid
// numbers the matrices of the batch. Strides are in elements. If PARTS is above 1, PARTS workgroups
// share the k axis of a tile. They write their sums one part after another, and matmul/join adds
// them. Include types.glsl first.
#ifndef GEMM_GLSL
#define GEMM_GLSL

#include "epilogue.glsl"

layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 1) readonly buffer B { T b[]; };
layout(std430, binding = 2) readonly buffer Add { T c[]; };
layout(std430, binding = 3) writeonly buffer Y { T y[]; };
layout(std430, binding = 4) writeonly buffer Sums { C sums_of_part[]; };

layout(push_constant) uniform Words {
    uint m, n, k;
    uint a_row, a_col, b_row, b_col;
    uint n1, n2;             // extents of the two inner axes of the batch
    uint a0, a1, a2;         // strides of the batch, outermost first
    uint b0, b1, b2;
    uint c_row, c_col, c_batch;
    uint has_c;
    float alpha, beta;
    uint then;
    float p, q;
    uint a_first; // first element of a's rows
};

// matrix returns the workgroup's matrix of the batch, and part its part of the k axis.
uint matrix() { return gl_WorkGroupID.z / PARTS; }
uint part() { return gl_WorkGroupID.z % PARTS; }

// a_begin and b_begin return the first element of matrix z.
uint a_begin(uint z) { return a_first + z / n2 / n1 * a0 + z / n2 % n1 * a1 + z % n2 * a2; }
uint b_begin(uint z) { return z / n2 / n1 * b0 + z / n2 % n1 * b1 + z % n2 * b2; }

// part_terms returns the terms of a part, rounded up to whole steps along k.
uint part_terms(uint step) { return (k + PARTS * step - 1) / (PARTS * step) * step; }

// take_sum stores the result of a row and a column, or the sum of a part. A row or column past the
// end is skipped.
void take_sum(uint row, uint col, C sum) {
    if (row >= m || col >= n) return;
    uint z = matrix();
    if (PARTS > 1) {
        sums_of_part[((part() * (gl_NumWorkGroups.z / PARTS) + z) * m + row) * n + col] = sum;
        return;
    }
    C v = SCALED(sum, alpha);
    if (has_c != 0) v += SCALED(LOAD(c[z * c_batch + row * c_row + col * c_col]), beta);
    y[(z * m + row) * n + col] = STORE(EPILOGUE(v, then, p, q));
}

#endif

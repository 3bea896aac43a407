// Operands of products of matrices [m,k] and [k,n]: y = F(alpha * a b + beta * c). z of the grid
// numbers the matrices of the batch. Strides are in elements. PARTS workgroups share the k axis of a
// tile. Include types.glsl and epilogue.glsl or finish.glsl first.
#ifndef GEMM_GLSL
#define GEMM_GLSL

#include "right.glsl"

layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 1) readonly buffer B { TB b[]; };
layout(std430, binding = 2) readonly buffer Add { T c[]; };
layout(std430, binding = 3) writeonly buffer Y { T y[]; };

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

// with_addend returns alpha * sum + beta * c for a row and a column.
C with_addend(C sum, uint row, uint col) {
    C v = SCALED(sum, alpha);
    return has_c != 0 ? v + SCALED(LOAD(c[matrix() * c_batch + row * c_row + col * c_col]), beta) : v;
}

#endif

// Operands of products of rows [m,k] and weights [n,k] in blocks: y = alpha * a w^T + beta * c.
#ifndef BLOCK_GEMM_GLSL
#define BLOCK_GEMM_GLSL

layout(std430, binding = 2) readonly buffer Add { float c[]; };
layout(std430, binding = 3) writeonly buffer Y { float y[]; };

layout(push_constant) uniform Words {
    uint m, n, k;
    uint c_row, c_col;
    uint has_c;
    float alpha, beta;
};

void take_sum(uint row, uint col, float sum) {
    float v = sum * alpha;
    if (has_c != 0) v += c[row * c_row + col * c_col] * beta;
    y[row * n + col] = v;
}

#endif

// Products of few rows [m,k] by matrices [k,n]: y = F(alpha * a b + beta * c). z of the grid numbers the
// matrices of the batch. Invocations share the k axis and read words of four elements, FLIGHT of them
// before the first is used; their sums are added in a fixed order. If NEIGHBOURS is set, a word is four
// columns, and a workgroup computes 32. Otherwise a word is along k, and 32 invocations share a column.
// LEFT_WORDS and RIGHT_WORDS say whether rows and the matrix are read by whole words. With JOINED,
// there are the products of joined.glsl, without F.
#ifndef GEMV_GLSL
#define GEMV_GLSL

#extension GL_EXT_control_flow_attributes : require
#include "common.glsl"
#include "types.glsl"
#ifndef JOINED
#include "epilogue.glsl"
#endif

layout(constant_id = 1) const uint ROWS = 1;
layout(constant_id = 2) const uint NEIGHBOURS = 1;
layout(constant_id = 3) const uint LEFT_WORDS = 0;
layout(constant_id = 4) const uint RIGHT_WORDS = 0;

const uint FLIGHT = 8, SHARE = 32;
#ifdef JOINED
#include "right.glsl"

layout(std430, binding = 0) readonly buffer A { T a[]; };
layout(std430, binding = 1) readonly buffer B { TB b[]; };
layout(std430, binding = 1) readonly buffer Add { T add[]; };

struct Product {
    uint n, b_row, c_row, c_col;
    float beta;
    uint b, c;
};

layout(push_constant) uniform Words {
    uint m, k, a_row, a_col, b_col;
    float alpha;
    uint a_first;
    Product first, second, third;
    float p;
};
#else
const uint PARTS = 1;
#include "gemm.glsl"
#endif

layout(std430, binding = 0) readonly buffer AWords { T4 a_words[]; };
layout(std430, binding = 1) readonly buffer BWords { TB4 b_words[]; };

// Invocations of a column are APART from each other, LANES of them.
const uint APART = NEIGHBOURS != 0 ? SHARE / 4 : 1, LANES = NEIGHBOURS != 0 ? gl_WorkGroupSize.x / APART : SHARE;
const uint COLUMNS = NEIGHBOURS != 0 ? SHARE : gl_WorkGroupSize.x / SHARE;

shared C4 shares[gl_WorkGroupSize.x];
uint a_at, b_at; // the first elements of the operands

// joined returns the sum of local column c of the row that shares has.
C joined(uint r, uint c) {
    C4 words = shares[NEIGHBOURS != 0 ? c / 4 : c * LANES];
    return NEIGHBOURS != 0 ? shares[c / 4][c % 4] : (words.x + words.y) + (words.z + words.w);
}

#ifdef JOINED
#define FUNCTION_ID 5
#include "joined.glsl"

// columns and row_step return the columns of the matrix, and the stride of its rows.
uint columns() { return own.n; }
uint row_step() { return own.b_row; }

uint begin_word(uint c) {
    uint col = begin(c);
    a_at = a_first, b_at = own.b / B_BYTES;
    return col;
}

float result(Product x, uint row, uint col, float sum) {
    float v = sum * alpha;
    return x.c == NONE ? v : v + LOAD(add[x.c / ELEMENT + row * x.c_row + col * x.c_col]) * x.beta;
}
#else
uint col0; // the first column of the workgroup

uint columns() { return n; }
uint row_step() { return b_row; }

uint begin_word(uint c) {
    a_at = a_begin(matrix()), b_at = b_begin(matrix());
    col0 = gl_WorkGroupID.x * COLUMNS;
    return col0 + c;
}

void take(uint row, uint r, uint c) {
    uint col = col0 + c;
    if (col < n) y[(matrix() * m + r) * n + col] = STORE(EPILOGUE(with_addend(joined(r, c), r, col), then, p, q));
}
#endif

// b_word returns a word of the matrix from step d and a column on. Elements past the end are 0.
C4 b_word(uint d, uint col) {
    uint at = b_at + d * row_step() + col * b_col;
    if (RIGHT_WORDS != 0) return d < k && col < columns() ? LOAD_B4(b_words[at / 4]) : C4(0);
    C4 v;
    [[unroll]] for (uint e = 0; e < 4; e++) {
        bool inside = NEIGHBOURS != 0 ? d < k && col + e < columns() : d + e < k && col < columns();
        v[e] = inside ? LOAD_B(b[at + e * (NEIGHBOURS != 0 ? b_col : row_step())]) : C(0);
    }
    return v;
}

// a_word returns the factors of a word of the matrix.
C4 a_word(uint row, uint d) {
    uint at = a_at + row * a_row + d * a_col;
    if (NEIGHBOURS != 0) return C4(d < k ? LOAD(a[at]) : C(0));
    if (LEFT_WORDS != 0) return d < k ? LOAD4(a_words[at / 4]) : C4(0);
    C4 v;
    [[unroll]] for (uint e = 0; e < 4; e++) v[e] = d + e < k ? LOAD(a[at + e * a_col]) : C(0);
    return v;
}

void main() {
    uint id = gl_LocalInvocationID.x, lane = NEIGHBOURS != 0 ? id / APART : id % LANES;
    uint own_col = begin_word(NEIGHBOURS != 0 ? id % APART * 4 : id / LANES);
    const uint STEP = NEIGHBOURS != 0 ? 1 : 4;

    C4 sums[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) sums[r] = C4(0);
    [[dont_unroll]] for (uint d0 = lane * STEP; d0 < k; d0 += FLIGHT * LANES * STEP) {
        C4 v[FLIGHT];
        [[unroll]] for (uint f = 0; f < FLIGHT; f++) v[f] = b_word(d0 + f * LANES * STEP, own_col);
        [[unroll]] for (uint r = 0; r < ROWS; r++) {
            [[unroll]] for (uint f = 0; f < FLIGHT; f++) sums[r] += a_word(r, d0 + f * LANES * STEP) * v[f];
        }
    }
    [[dont_unroll]] for (uint r = 0; r < ROWS; r++) {
        barrier();
        [[unroll]] for (uint i = 0; i < ROWS; i++) {
            if (i == r) shares[id] = sums[i];
        }
        barrier();
        for (uint rest = LANES / 2; rest > 0; rest /= 2) {
            if (lane < rest) shares[id] += shares[id + rest * APART];
            barrier();
        }
        if (id < COLUMNS) take(r, r, id);
    }
}

#endif

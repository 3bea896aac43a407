// Up to three products of the same rows. Operand 1 is memory with the weights of all, and operands 2 to
// 4 are the results. A Product has n columns and says in bytes where its operands are in operand 1, NONE
// for none. Its columns begin a workgroup. If FUNCTION is set, there are two products, half of the
// columns of each workgroup are those of one, and the only result is F(first) * second: FUNCTION is the
// number of F, plus ROUNDS if F's results are rounded to T.
// FUNCTION_ID is the id of constant FUNCTION. Include it after types.glsl, the constant COLUMNS of a
// workgroup, push constants first, second, third and p, and joined(r, c).
#ifndef JOINED_GLSL
#define JOINED_GLSL

#include "gate.glsl"
#include "rounded.glsl"

layout(constant_id = FUNCTION_ID) const uint FUNCTION = 0;

layout(std430, binding = 2) writeonly buffer Y { T y[]; };
layout(std430, binding = 3) writeonly buffer Y1 { T y1[]; };
layout(std430, binding = 4) writeonly buffer Y2 { T y2[]; };

const uint ROUNDS = 256, NONE = 0xffffffffu, ELEMENT = BITS / 8, GROUP_COLUMNS = FUNCTION != 0 ? COLUMNS / 2 : COLUMNS;

Product own;  // of the invocation's column
uint product; // its number
uint col0;    // the first column of the workgroup

uint groups_of(uint n) { return (n + COLUMNS - 1) / COLUMNS; }

// begin finds the product of local column c, and returns its column, the last one for those behind.
uint begin(uint c) {
    uint group = gl_WorkGroupID.z * gl_NumWorkGroups.x + gl_WorkGroupID.x;
    product = 0;
    if (FUNCTION != 0) product = c / GROUP_COLUMNS;
    else if (second.n != 0 && group >= groups_of(first.n)) {
        product = 1, group -= groups_of(first.n);
        if (third.n != 0 && group >= groups_of(second.n)) product = 2, group -= groups_of(second.n);
    }
    if (product == 0) own = first;
    else if (product == 1) own = second;
    else own = third;
    col0 = group * GROUP_COLUMNS;
    return min(col0 + c % GROUP_COLUMNS, own.n - 1);
}

// result returns the element for a sum of product x.
float result(Product x, uint row, uint col, float sum);

// take stores the result of a row and of local column c. joined(r, c) is its sum.
void take(uint row, uint r, uint c) {
    uint col = col0 + c, n = FUNCTION != 0 ? first.n : own.n, at = row * n + col;
    if (c >= GROUP_COLUMNS || col >= n) return;
    if (FUNCTION != 0) {
        float v = gate(FUNCTION % ROUNDS, ROUNDED(result(first, row, col, joined(r, c))), p);
        if (FUNCTION >= ROUNDS) v = ROUNDED(v);
        y[at] = STORE(v * ROUNDED(result(second, row, col, joined(r, c + GROUP_COLUMNS))));
        return;
    }
    float v = result(own, row, col, joined(r, c));
    if (product == 0) y[at] = STORE(v);
    else if (product == 1) y1[at] = STORE(v);
    else y2[at] = STORE(v);
}

#endif

// Cooperative matrices in plain GLSL. SUBGROUP neighbouring invocations are a subgroup, on a device
// with subgroups of any size. Matrices of operands are places in shared memory, which products read.
// An invocation has every SUBGROUP-th element of a sum. Subgroups wait for the whole workgroup, so
// all of them take the same turns.
#ifndef MATRIX_EMULATED_GLSL
#define MATRIX_EMULATED_GLSL

#define gl_SubgroupID (gl_LocalInvocationIndex / SUBGROUP)
#define gl_SubgroupInvocationID (gl_LocalInvocationIndex % SUBGROUP)
#define subgroupBarrier() barrier()
#define gl_CooperativeMatrixLayoutRowMajor 0
#define gl_CooperativeMatrixLayoutColumnMajor 1

struct Place {
    uint at, stride; // pieces
    bool turned;     // columns are neighbours
};
#define LEFT_MATRIX Place
#define RIGHT_MATRIX Place
#define coopMatLoad(m, words, at, stride, order) m = Place(at, stride, (order) == gl_CooperativeMatrixLayoutColumnMajor)

// OWN is the elements of an invocation, at most 8: structures have arrays of literal lengths.
const uint OWN = MATRIX_M * MATRIX_N / SUBGROUP;
struct Share {
    SUM own[8];
};
#define SUM_MATRIX Share

SUM_MATRIX zero_sums() {
    SUM_MATRIX z;
    [[unroll]] for (uint i = 0; i < OWN; i++) z.own[i] = SUM(0);
    return z;
}

// number_of returns element i of a piece.
SUM number_of(PIECE w, uint i) {
#if defined(TYPE_I8)
    return bitfieldExtract(int(w[i / 4]), int(i % 4 * 8), 8);
#elif defined(TYPE_BF16) || defined(TYPE_F32)
    return uintBitsToFloat(w[i / 2] >> i % 2 * 16 << 16);
#else
    return unpackHalf2x16(w[i / 2] >> i % 2 * 16).x;
#endif
}

// NUMBER returns the element of a row and a column of a matrix in an array.
#define NUMBER(words, m, row, col) \
    number_of(words[m.at + (m.turned ? col : row) * m.stride + (m.turned ? row : col) / 8], (m.turned ? row : col) % 8)

SUM_MATRIX coopMatMulAdd(Place l, Place r, SUM_MATRIX sums) {
    [[dont_unroll]] for (uint d = 0; d < MATRIX_K; d++) {
        [[unroll]] for (uint i = 0; i < OWN; i++) {
            uint e = gl_SubgroupInvocationID + i * SUBGROUP, row = e / MATRIX_N, col = e % MATRIX_N;
            sums.own[i] += NUMBER(left, l, row, d) * NUMBER(right, r, d, col);
        }
    }
    return sums;
}

#define STORE_AS(type, m, to, begin, stride) \
    [[unroll]] for (uint own = 0; own < OWN; own++) { \
        uint e = gl_SubgroupInvocationID + own * SUBGROUP; \
        to[(begin) + e / MATRIX_N * (stride) + e % MATRIX_N] = type(m.own[own]); \
    }

Share TIMES(Share m, SUM by) {
    [[unroll]] for (uint i = 0; i < OWN; i++) m.own[i] *= by;
    return m;
}

#endif

// Packed matrices of blocks, in the order in which kernels read them.
//
// A panel has the blocks of `lanes` rows of W, which are columns of the result. It is cut along k
// into slabs, each of one block of every lane, in as many bits as the file, or a few more. Slabs
// follow each other, and so do panels, each at a multiple of 64 bytes. Lanes beyond W are 0.
//
// W may also be codes with scales and zero points in lists of their own. Then a slab has 256 codes
// of a lane, or 512 or 1024 if a block has as many or more. The last slab has the codes that are
// left, rounded up to whole units and to whole blocks that are smaller than a slab. Codes beyond W
// are 0.
//
// A slab has `units` of 32 codes of each lane. A unit has the lower bits of its codes, then the
// higher ones, if a form has some. Codes are in words of 32 bits: byte b of a word has the bits of
// codes b, b + 4, b + 8 and so on, the first in the lowest bits, so each step along k of four codes
// is one group of bits of all bytes. The words of the lanes follow each other, then the next words.
// Behind the units are the scales, number by number, each of all lanes:
//     HALF        d                 element = d*code
//     LEAST       d m               d*code + m
//     BFLOAT      d, a bfloat16     d*code
//     SIGNED      d s[groups]       d*s*code, s signed
//     EIGHTHS     d s[groups]       d*s/8*code
//     PAIRS       d m s[groups] l[groups]  d*s*code - m*l
//     NIBBLES     d m b[groups]     d*s*code - m*l, s in the low half of b, l in the high one
//     E4M3        b[groups]         half of the number of 8 bits b, times code
//     FLOATS      d[groups]         d*code
//     CODES       d[groups] z[groups]  d*(code - z), z a stored code less `middle`
//     POINTS      d[groups] z[groups]  d*(code - z), z a float less `middle`
// d and m are float16, others are bytes; d of the last three, and z of POINTS, have the form's type
// of floats. A code here is a number: with a table the entry, and without the stored code, less
// `middle`. Vectors of code books are stored as their numbers.
#ifndef NACRE_BLOCKS_PANELS_H
#define NACRE_BLOCKS_PANELS_H

#include "blocks/blocks.h"

typedef enum {
    NACRE_SCALES_HALF,
    NACRE_SCALES_LEAST,
    NACRE_SCALES_BFLOAT,
    NACRE_SCALES_SIGNED,
    NACRE_SCALES_EIGHTHS,
    NACRE_SCALES_PAIRS,
    NACRE_SCALES_NIBBLES,
    NACRE_SCALES_E4M3,
    NACRE_SCALES_FLOATS,
    NACRE_SCALES_CODES,
    NACRE_SCALES_POINTS
} nacre_block_scales;

// How blocks are packed.
typedef struct {
    uint8_t low, high;  // bits of a code in a unit's two parts
    uint8_t units;      // of a slab
    uint16_t group;     // codes that share a scale: 16, or a multiple of 32; at most 32 for types
    uint8_t middle;
    nacre_block_scales scales;
    const uint8_t *table;  // the 16 entries plus middle, or NULL
    nacre_dtype floats;    // the type of scales of codes
} nacre_block_form;

// Codes as types: they follow the types of blocks.
enum { NACRE_PANELS_codes2 = NACRE_BLOCK_TYPES, NACRE_PANELS_codes4, NACRE_PANELS_codes8 };

enum {
    NACRE_BLOCKS_UNIT = 32,    // codes
    NACRE_BLOCKS_LANES = 16,   // the most of a level
    NACRE_BLOCKS_GROUPS = 16,  // the most of some slabs
    NACRE_BLOCKS_DEPTH = 1024, // the most codes of a lane in some slabs: sums stay below 2^31
    NACRE_BLOCKS_WIDE = 64     // the least middle of codes that take all bits of a byte
};

// Some slabs of a panel, as products read them: codes as bytes, [k/4][lanes][4], and for each group
// the scales and what is added to its elements, [groups][lanes]. For products of floats zero points
// are what is subtracted from codes.
typedef struct {
    uint8_t codes[NACRE_BLOCKS_DEPTH * NACRE_BLOCKS_LANES];
    float scales[NACRE_BLOCKS_GROUPS * NACRE_BLOCKS_LANES];
    float adds[NACRE_BLOCKS_GROUPS * NACRE_BLOCKS_LANES];  // set if the form has them
    const uint8_t *packed;  // the slabs, if a product of floats reads their codes itself
} nacre_block_slabs;

static inline int nacre_block_wide(const nacre_block_form *f) { return f->middle >= NACRE_BLOCKS_WIDE; }

// Reports whether the lowest 5 bits of numbers tell them apart: i stands for (i+middle)%32 - middle.
static inline int nacre_block_small(const nacre_block_form *f) { return f->middle <= 16 && f->low + f->high <= 5; }

// Reports whether groups have zero points.
static inline int nacre_block_zeros(const nacre_block_form *f) {
    return f->scales == NACRE_SCALES_CODES || f->scales == NACRE_SCALES_POINTS;
}

// Reports whether numbers are added to the elements of a group.
static inline int nacre_block_adds(const nacre_block_form *f) {
    return f->scales == NACRE_SCALES_LEAST || f->scales == NACRE_SCALES_PAIRS || f->scales == NACRE_SCALES_NIBBLES;
}

// Returns the numbers of a rounded row that share a scale.
static inline size_t nacre_block_rounded(const nacre_block_form *f) { return f->scales < NACRE_SCALES_FLOATS ? NACRE_BLOCKS_UNIT : f->group; }

static inline size_t nacre_block_depth(const nacre_block_form *f) { return (size_t)f->units * NACRE_BLOCKS_UNIT; }
static inline size_t nacre_block_groups(const nacre_block_form *f) { return nacre_block_depth(f) / f->group; }

// Returns the bytes of a unit.
static inline size_t nacre_block_unit(const nacre_block_form *f, size_t lanes) {
    return lanes * NACRE_BLOCKS_UNIT / 8 * (f->low + f->high);
}

// nacre_block_floats, nacre_block_halves and nacre_block_bytes return how many numbers of the form's
// type of floats, of 16 and of 8 bits a lane has in a slab.
static inline size_t nacre_block_floats(const nacre_block_form *f) {
    return f->scales < NACRE_SCALES_FLOATS ? 0 : f->scales == NACRE_SCALES_POINTS ? 2 * nacre_block_groups(f) : nacre_block_groups(f);
}
static inline size_t nacre_block_halves(const nacre_block_form *f) {
    return f->scales >= NACRE_SCALES_E4M3 ? 0 : nacre_block_adds(f) ? 2 : 1;
}
static inline size_t nacre_block_bytes(const nacre_block_form *f) {
    switch (f->scales) {
    case NACRE_SCALES_PAIRS: return 2 * nacre_block_groups(f);
    case NACRE_SCALES_SIGNED:
    case NACRE_SCALES_EIGHTHS:
    case NACRE_SCALES_NIBBLES:
    case NACRE_SCALES_CODES:
    case NACRE_SCALES_E4M3: return nacre_block_groups(f);
    default: return 0;
    }
}

// Returns the bytes of a slab's scales.
static inline size_t nacre_block_tail(const nacre_block_form *f, size_t lanes) {
    return lanes * (nacre_float_size(f->floats) * nacre_block_floats(f) + 2 * nacre_block_halves(f) + nacre_block_bytes(f));
}

// Returns the bytes of a slab.
static inline size_t nacre_block_slab(const nacre_block_form *f, size_t lanes) {
    return f->units * nacre_block_unit(f, lanes) + nacre_block_tail(f, lanes);
}

// Returns the form of the last slab of rows of k codes, with no units if all slabs are whole.
static inline nacre_block_form nacre_block_last(const nacre_block_form *f, size_t k) {
    const size_t rest = k % nacre_block_depth(f), deep = nacre_round_up(rest, NACRE_BLOCKS_UNIT);
    nacre_block_form last = *f;
    if (nacre_block_groups(f) == 1) last.group = (uint16_t)deep;
    last.units = (uint8_t)(nacre_round_up(deep, nacre_max(last.group, 1)) / NACRE_BLOCKS_UNIT);
    return last;
}

// Returns the bytes of a panel of rows of k codes.
static inline size_t nacre_block_panel(const nacre_block_form *f, size_t lanes, size_t k) {
    const nacre_block_form last = nacre_block_last(f, k);
    return nacre_align_bytes(k / nacre_block_depth(f) * nacre_block_slab(f, lanes) + (last.units == 0 ? 0 : nacre_block_slab(&last, lanes)));
}

// Writes n rows of k elements in blocks to panels. book is the type's code book, if it has one.
void nacre_block_pack(size_t type, size_t lanes, size_t n, size_t k, const uint8_t *src, const int8_t *book, uint8_t *dst);

// Codes in rows that begin at bytes, the first in the lowest bits. A block of them, a power of two,
// shares an element of the lists of scales and zero points.
typedef struct {
    size_t n, k;
    size_t block, row_bytes;
    size_t row_scales;  // elements in a row
} nacre_block_codes;

// Writes the codes, the scales or the zero points of rows to panels.
void nacre_block_pack_codes(const nacre_block_form *f, const nacre_block_codes *c, size_t lanes, const uint8_t *src, uint8_t *dst);
void nacre_block_pack_scales(const nacre_block_form *f, const nacre_block_codes *c, size_t lanes, const uint8_t *src, uint8_t *dst);
void nacre_block_pack_zeros(const nacre_block_form *f, const nacre_block_codes *c, size_t lanes, const uint8_t *src, uint8_t *dst);

// Rows of a are multiplied in groups of as many as a kernel takes at most, of 8, of 4 or of 1.
static inline size_t nacre_block_rows(size_t left, size_t most) {
    if (left >= most) return most;
    return left >= 8 && most >= 8 ? 8 : left >= 4 ? 4 : 1;
}

// The functions of products with panels for one level. A kernel row of op f32_block_panels or
// i8_block_panels has the signature nacre_block_panels_fn and returns them.
//
// Rows of a are arranged for each group of codes: the numbers of the first step along k of all
// rows, then those of the next step, then the tails. Steps of floats are one number and a tail is
// the sum of a row's numbers. Steps of rounded rows are four bytes, and there are three tails: an
// int32 with which sums of integers begin, a float that they are multiplied by, and the product
// of that float and the sum of the row's bytes.
typedef struct {
    size_t lanes;
    size_t most;      // rows of a group of rows at most
    size_t row_bytes;  // of a row in a group of `group` codes: row_bytes * group + row_tail
    size_t row_tail;
    // Arranges k numbers of each of a group of rows, which are `apart` from each other, and zeros up
    // to a whole group of codes. Rounded rows have whole numbers q from -127 to 127. Each 32 of them,
    // or as many as share a scale of codes, have a scale, their largest magnitude/127: q*scale stands
    // for a. Blocks below 2^-110 become 0; blocks with an infinity or a NaN become NaN.
    void (*arrange)(const nacre_block_form *f, size_t rows, size_t k, size_t apart, const float *a, uint8_t *x);
    // Unpacks count slabs.
    void (*expand)(const nacre_block_form *f, const uint8_t *slab, size_t count, nacre_block_slabs *s);
    // Adds to y[i*lanes + l] the products of arranged row i of a group and lane l, over that many
    // groups of codes. Sums of rounded rows over a group are exact, and groups are added in order:
    // all variants give the same result.
    void (*dot)(const nacre_block_form *f, const nacre_block_slabs *s, size_t groups, size_t rows, const uint8_t *x, float *y);
    // Adds to y[l] the product of one arranged row and lane l of count slabs, which is what expand and
    // dot give, and returns 1. If these are as fast, it returns 0, or is NULL.
    int (*row)(size_t type, const nacre_block_form *f, size_t count, const uint8_t *slab, const uint8_t *x, float *y);
    // Sets dst[p*width + l] to element first + p of lane l for p < k. NULL for rounded rows.
    void (*decode)(const nacre_block_form *f, const nacre_block_slabs *s, size_t first, size_t k, size_t width, float *dst);
} nacre_block_panels_impl;
typedef const nacre_block_panels_impl *nacre_block_panels_fn(void);

// The zero points of codes.
typedef enum {
    NACRE_ZEROS_MIDDLE,  // 2^(bits-1)
    NACRE_ZEROS_CODES,   // stored as codes are; each row of them begins at a byte
    NACRE_ZEROS_FLOATS   // stored as scales are
} nacre_zeros;

// Kernel rows f32_block_panels and i8_block_panels: c(i,j) = sum_p a(i,p) W(j,p) + bias[j] for a
// [m][k] and c [m][n]. i8_block_panels rounds a. Operands are a, W, scales, zeros, bias and c; bias
// may be absent. pack writes W, from rows of blocks or of codes, and scales and zero points of codes
// to where they belong in W, so these operands are absent, too. For packing, gemm may be 0, and book
// is the address of the type's code book, if it has one.
typedef struct {
    int64_t m, n, k;
    int64_t type;  // of blocks
    int64_t gemm;  // part: a kernel row of f32_gemm
    int64_t book;
    // Of codes; bits is 0 for blocks:
    int64_t bits, block, row_bytes, row_scales;  // 2, 4 or 8 bits; block a power of two, at least 16
    int64_t floats, zeros;                       // type of scales, nacre_zeros
} nacre_block_panels_words;

#endif
